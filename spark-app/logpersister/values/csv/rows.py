"""Rows of CSV: records become typed columns, for whole batches at once (docs/schemas.md#csv)."""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.values.csv.syntax import CsvSpec
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.native_rows import NativeRows
from logpersister.values.row_schema import RowSchema

RULES: Final = 2
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


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
