"""Kinds of schemas that registries have, and their differences: Avro, protobuf and JSON Schema. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.registry import bundles
from logpersister.registry.answers import Schema
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.avro import rows as avro_rows
from logpersister.values.json.reading import unreadable
from logpersister.values.parser import Parser
from logpersister.values.protobuf import rows as protobuf_rows
from logpersister.values.row_schema import RowSchema


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of schemas."""

    name: str
    type: str
    """Type as `Schema.type` has it."""
    bundled: Callable[[Schema], str]
    """Returns the text of a schema of this type with all that it refers to. Raises `SchemaTextError`."""
    misfit: Callable[[RowSchema, str], str | None]
    """Returns why what a schema has written cannot become columns; None: it can. Raises `SchemaTextError`."""

    def self_contained(self, schema: Schema) -> str:
        """Return the text of a schema with all that it refers to. Raises `SchemaTextError`."""
        if schema.type != self.type:
            raise SchemaTextError(f"it is registered as {schema.type}, not as {self.name}")
        return self.bundled(schema)


KINDS: Final[Mapping[Parser, Kind]] = {
    "avro": Kind("Avro", "AVRO", bundles.avro, avro_rows.misfit),
    "protobuf": Kind("protobuf", "PROTOBUF", bundles.protobuf, protobuf_rows.misfit),
    "json": Kind("JSON Schema", "JSON", bundles.json_schema, lambda schema, text: unreadable(schema.of_values, text)),
}

OF_TYPES: Final[Mapping[str, Parser]] = {kind.type: parser for parser, kind in KINDS.items()}
