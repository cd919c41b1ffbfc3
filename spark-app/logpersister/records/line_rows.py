"""Rows: values that are lines of text become typed columns, straight and for whole batches at once.

The parsers are native (spark-app/native). docs/schemas.md says what becomes what.
"""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.line_parsers import CsvSpec, RegexSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.native_rows import NativeRows

CSV_RULES: Final = 2
"""Raise it when a CSV record is accepted or refused otherwise than before, or becomes another row."""
REGEX_RULES: Final = 2
"""Version of the rows of a text that a pattern matches; raise it as `RULES`."""


@dataclass(frozen=True, slots=True)
class CsvRows(NativeRows["native.CsvParser"]):
    """Each value is one CSV record with the fields of a schema. Null values become no row."""

    schema: SchemaSpec
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
    """Each value is a text that a pattern matches; its groups are the fields of a schema. Null values become no row."""

    schema: SchemaSpec
    regex: RegexSpec
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.RegexParser":
        columns, regex = row_columns(self.schema), self.regex
        return native.RegexParser(columns, pattern=regex.pattern, null=regex.null_text, faults=self.faults.words)
