"""Rows: values that are structs of Thrift become typed columns, straight and for whole batches at once.

The parser is native (spark-app/native). docs/schemas.md says what becomes what.
"""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.parser import Protocol
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.native_rows import NativeRows

THRIFT_RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class ThriftRows(NativeRows["native.ThriftParser"]):
    """Each value is one struct of the schema, in a protocol. Null values become no row."""

    schema: SchemaSpec
    protocol: Protocol
    faults: FaultsSpec = REFUSED

    def make(self) -> "native.ThriftParser":
        columns, plan = row_columns(self.schema), self.schema.thrift_plan()
        return native.ThriftParser(columns, plan=plan, protocol=self.protocol, faults=self.faults.words)
