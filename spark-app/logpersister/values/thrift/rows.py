"""Rows of Thrift: structs become typed columns, for whole batches at once (docs/schemas.md#thrift)."""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import Protocol
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.native_rows import NativeRows
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.source import thrift_of

RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class ThriftRows(NativeRows["native.ThriftParser"]):
    """Each value is one struct of the schema, in a protocol."""

    schema: RowSchema
    protocol: Protocol
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.ThriftParser":
        columns, plan = row_columns(self.schema), thrift_of(self.schema).plan(self.schema.as_written.of_values)
        return native.ThriftParser(columns, plan=plan, protocol=self.protocol, faults=self.faults.words)
