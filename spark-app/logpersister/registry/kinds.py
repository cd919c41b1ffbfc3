"""Kinds of schemas that registries have, and their differences: Avro, protobuf and JSON Schema. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.registry import avro, json_schema, protobuf
from logpersister.registry.answers import Schema
from logpersister.values.avro import rows as avro_rows
from logpersister.values.avro.columns import AvroTextError
from logpersister.values.json.errors import JsonSchemaError
from logpersister.values.json.reading import unreadable
from logpersister.values.parser import Parser
from logpersister.values.protobuf import rows as protobuf_rows
from logpersister.values.protobuf.errors import ProtobufError
from logpersister.values.row_schema import RowSchema

SchemaTextError = (AvroTextError, ProtobufError, JsonSchemaError)
"""Raised for what is no schema of its kind."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of schemas."""

    name: str
    type: str
    """Type as `Schema.type` has it."""
    self_contained: Callable[[Schema], str]
    """Returns the text of a schema with all that it refers to. Raises `SchemaTextError`."""
    misfit: Callable[[RowSchema, str], str | None]
    """Returns why what a schema has written cannot become columns; None: it can. Raises `SchemaTextError`."""


KINDS: Final[Mapping[Parser, Kind]] = {
    "avro": Kind("Avro", "AVRO", avro.self_contained, avro_rows.misfit),
    "protobuf": Kind("protobuf", "PROTOBUF", protobuf.self_contained, protobuf_rows.misfit),
    "json": Kind(
        "JSON Schema", "JSON", json_schema.self_contained, lambda schema, text: unreadable(schema.of_values, text)
    ),
}

OF_TYPES: Final[Mapping[str, Parser]] = {kind.type: parser for parser, kind in KINDS.items()}
