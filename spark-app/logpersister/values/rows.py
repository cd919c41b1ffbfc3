"""Parsers that make rows of values, or of keys that are read like them: one for each kind (docs/schemas.md)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import logpersister_native as native
from logpersister.values.avro.rows import AvroRows
from logpersister.values.csv.block import CsvSpec
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.rows import ProtobufRows
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.native_rows import Native, NativeRows
from logpersister.values.reading.parsers import Parser
from logpersister.values.reading.record_headers import OF_VALUES, IdsInHeaders
from logpersister.values.reading.writers import Writers, for_framing
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.source import thrift_of

RULES: Final[Mapping[str, int]] = {
    "json": 2,
    "avro": 2,
    "protobuf": 2,
    "thrift": 1,
    "messagepack": 2,
    "csv": 2,
    "regex": 2,
}
"""Versions by kind. Raise one when a value is accepted or refused otherwise than before, or becomes another row."""


def rows_of(parser: Parsing, schema: RowSchema, writers: Writers | None = None, header: bytes = OF_VALUES) -> Parser:
    """Return what makes rows of a schema without keys.

    Args:
        parser: how values are read.
        schema: what they become; the subject of its registry is that of a topic.
        writers: by which schemas they were written; needed where their headers have ids of a registry.
        header: of records, which may have what else stands before values.
    """
    made = _MAKERS.get(parser.type)
    rows = _resolved_rows(parser, schema, writers) if made is None else NativeRows(partial(made, parser, schema))
    if parser.framing != "confluent":
        return rows
    return IdsInHeaders(rows, writers if parser.names_schemas else None, header)


def _resolved_rows(parser: Parsing, schema: RowSchema, writers: Writers | None) -> Parser:
    rows = AvroRows if parser.type == "avro" else ProtobufRows
    if parser.framing == "plain":
        return rows(schema, parser.framing, None, parser.faults)
    subject = None if schema.registry is None else schema.registry.subject
    found = for_framing(writers, parser.framing, subject)
    if found is None and not schema.written_by(parser.framing):
        raise ValueError(f"parser {parser.type} needs the schemas of writers")
    return rows(schema, parser.framing, found, parser.faults)


def _json(parser: Parsing, schema: RowSchema) -> Native:
    columns, unknown, faults = row_columns(schema), parser.unknown_fields, parser.faults.words
    return native.RowParser(columns, unknown_fields=unknown, faults=faults, framing=parser.framing)


def _messagepack(parser: Parsing, schema: RowSchema) -> Native:
    columns, unknown = row_columns(schema), parser.unknown_fields
    return native.MessagePackParser(columns, unknown_fields=unknown, faults=parser.faults.words)


def _thrift(parser: Parsing, schema: RowSchema) -> Native:
    columns, plan = row_columns(schema), thrift_of(schema).plan(schema.as_written.of_values)
    return native.ThriftParser(columns, plan=plan, protocol=parser.protocol, faults=parser.faults.words)


def _csv(parser: Parsing, schema: RowSchema) -> Native:
    syntax = parser.syntax if isinstance(parser.syntax, CsvSpec) else CsvSpec()
    return native.CsvParser(
        row_columns(schema),
        names=syntax.columns or [one.name for one in schema.declared],
        delimiter=syntax.delimiter,
        quote=syntax.quote,
        escape=syntax.escape,
        null=syntax.null_text,
        unknown_fields="keep" if parser.unknown_fields == "keep" else "drop",
        faults=parser.faults.words,
    )


def _regex(parser: Parsing, schema: RowSchema) -> Native:
    columns, regex = row_columns(schema), parser.syntax
    assert isinstance(regex, RegexSpec)
    return native.RegexParser(columns, pattern=regex.pattern, null=regex.null_text, faults=parser.faults.words)


_MAKERS: Final[Mapping[str, Callable[[Parsing, RowSchema], Native]]] = {
    "json": _json,
    "messagepack": _messagepack,
    "thrift": _thrift,
    "csv": _csv,
    "regex": _regex,
}
"""Native parsers that are known by their settings alone."""
