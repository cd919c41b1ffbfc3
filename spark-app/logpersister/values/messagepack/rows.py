"""Rows of MessagePack: maps become typed columns, for whole batches at once (docs/schemas.md#messagepack)."""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import UnknownFields
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.native_rows import NativeRows
from logpersister.values.row_schema import RowSchema

RULES: Final = 2
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class MessagePackRows(NativeRows["native.MessagePackParser"]):
    """Each value is one MessagePack map with the fields of a schema."""

    schema: RowSchema
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.MessagePackParser":
        columns = row_columns(self.schema)
        return native.MessagePackParser(columns, unknown_fields=self.unknown_fields, faults=self.faults.words)
