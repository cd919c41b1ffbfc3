"""Rows of texts that a pattern matches, for whole batches at once (docs/schemas.md#regular-expressions)."""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.native_rows import NativeRows
from logpersister.values.regex.syntax import RegexSpec
from logpersister.values.row_schema import RowSchema

RULES: Final = 2
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class RegexRows(NativeRows["native.RegexParser"]):
    """Each value is a text that a pattern matches; its groups are the fields of a schema."""

    schema: RowSchema
    regex: RegexSpec
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.RegexParser":
        columns, regex = row_columns(self.schema), self.regex
        return native.RegexParser(columns, pattern=regex.pattern, null=regex.null_text, faults=self.faults.words)
