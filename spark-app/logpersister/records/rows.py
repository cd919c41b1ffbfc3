"""Rows: values become typed columns, straight and for whole batches at once, by parsers that need no other schema.

The parsers are native (spark-app/native). docs/schemas.md says what becomes what. Null values become no row.
"""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.manifest.values.faults import REFUSED, FaultsSpec
from logpersister.manifest.values.line_parsers import CsvSpec, RegexSpec
from logpersister.manifest.values.parser import Framing, Parsing, Protocol, UnknownFields
from logpersister.manifest.values.row_schema import RowSchema
from logpersister.records.columns import row_columns
from logpersister.records.native_rows import NativeRows

RULES: Final = 2
"""Raise it when a JSON object is accepted or refused otherwise than before, or becomes another row."""
FAULT_RULES: Final = 1
"""Version as `RULES` where ``faults`` adjusts values, a field has a default, or unknown fields are kept."""
MESSAGEPACK_RULES: Final = 2
"""Version of the rows of MessagePack; raise it as `RULES`."""
THRIFT_RULES: Final = 1
"""Version of the rows of Thrift; raise it as `RULES`."""
CSV_RULES: Final = 2
"""Version of the rows of CSV; raise it as `RULES`."""
REGEX_RULES: Final = 2
"""Version of the rows of a text that a pattern matches; raise it as `RULES`."""


@dataclass(frozen=True, slots=True)
class JsonRows(NativeRows["native.RowParser"]):
    """Each value is a header, if any, and one JSON object with the fields of a schema."""

    schema: RowSchema
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED
    framing: Framing = "plain"

    def make(self) -> "native.RowParser":
        return native.RowParser(
            row_columns(self.schema), unknown_fields=self.unknown_fields, faults=self.faults.words, framing=self.framing
        )


@dataclass(frozen=True, slots=True)
class MessagePackRows(NativeRows["native.MessagePackParser"]):
    """Each value is one MessagePack map with the fields of a schema."""

    schema: RowSchema
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.MessagePackParser":
        columns = row_columns(self.schema)
        return native.MessagePackParser(columns, unknown_fields=self.unknown_fields, faults=self.faults.words)


@dataclass(frozen=True, slots=True)
class ThriftRows(NativeRows["native.ThriftParser"]):
    """Each value is one struct of the schema, in a protocol."""

    schema: RowSchema
    protocol: Protocol
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.ThriftParser":
        columns, plan = row_columns(self.schema), self.schema.thrift_plan()
        return native.ThriftParser(columns, plan=plan, protocol=self.protocol, faults=self.faults.words)


@dataclass(frozen=True, slots=True)
class CsvRows(NativeRows["native.CsvParser"]):
    """Each value is one CSV record with the fields of a schema."""

    schema: RowSchema
    syntax: CsvSpec
    keeps_unknown: bool = False
    """Whether the last column has what the schema does not name."""
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.CsvParser":
        syntax = self.syntax
        return native.CsvParser(
            row_columns(self.schema),
            names=syntax.columns or [one.name for one in self.schema.declared],
            delimiter=syntax.delimiter,
            quote=syntax.quote,
            escape=syntax.escape,
            null=syntax.null_text,
            unknown_fields="keep" if self.keeps_unknown else "drop",
            faults=self.faults.words,
        )


@dataclass(frozen=True, slots=True)
class RegexRows(NativeRows["native.RegexParser"]):
    """Each value is a text that a pattern matches; its groups are the fields of a schema."""

    schema: RowSchema
    regex: RegexSpec
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.RegexParser":
        columns, regex = row_columns(self.schema), self.regex
        return native.RegexParser(columns, pattern=regex.pattern, null=regex.null_text, faults=self.faults.words)


def make_rows(parser: Parsing, schema: RowSchema) -> JsonRows:
    return JsonRows(schema, parser.unknown_fields, parser.faults, parser.framing)
