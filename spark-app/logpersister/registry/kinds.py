"""What differs between the kinds of schemas that writers have: Avro's and protobuf's. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.manifest.avro_columns import AvroTextError
from logpersister.manifest.parser import Parser
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records import avro_rows, protobuf_rows
from logpersister.registry import avro, protobuf
from logpersister.registry.client import Schema

SchemaTextError = (AvroTextError, ProtobufError)
"""Raised for what is no schema of its kind."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Of schemas."""

    name: str
    self_contained: Callable[[Schema], str]
    """Returns the text of a schema with all that it refers to. Raises `SchemaTextError`."""
    misfit: Callable[[SchemaSpec, str], str | None]
    """Returns why what a schema has written cannot become columns; None: it can. Raises `SchemaTextError`."""


KINDS: Final[Mapping[Parser, Kind]] = {
    "avro": Kind("Avro", avro.self_contained, avro_rows.misfit),
    "protobuf": Kind("protobuf", protobuf.self_contained, protobuf_rows.misfit),
}
"""By parser."""


def kind_of(schema: SchemaSpec, parser: Parser) -> Parser:
    """Return of which kind the schemas are that values, or else keys, name."""
    return "avro" if schema.has_avro_keys else parser
