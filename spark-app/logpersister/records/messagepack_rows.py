"""Rows: values that are MessagePack maps become typed columns, straight and for whole batches at once.

The parser is native (spark-app/native). docs/schemas.md says what becomes what.
"""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.parser import UnknownFields
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.native_rows import NativeRows

MESSAGEPACK_RULES: Final = 2
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class MessagePackRows(NativeRows["native.MessagePackParser"]):
    """Each value is one MessagePack map with the fields of a schema. Null values become no row."""

    schema: SchemaSpec
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.MessagePackParser":
        columns = row_columns(self.schema)
        return native.MessagePackParser(columns, unknown_fields=self.unknown_fields, faults=self.faults.words)
