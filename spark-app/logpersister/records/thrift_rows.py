"""Rows: values that are structs of Thrift become typed columns, straight and for whole batches at once.

The parser is native (spark-app/native). docs/schemas.md says what becomes what; `verify.thrift` says the same once
more.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.parser import Protocol
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.parsers import Parsed
from logpersister.records.rows import MOST_PARSERS, parsed_of

THRIFT_RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class ThriftRows:
    """Each value is one struct of the schema, in a protocol. Null values become no row."""

    schema: SchemaSpec
    protocol: Protocol

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        return parsed_of(*_native(self).parse(cast("pa.BinaryArray", batch.column("value"))))


@lru_cache(maxsize=MOST_PARSERS)
def _native(of: ThriftRows) -> "native.ThriftParser":
    return native.ThriftParser(row_columns(of.schema), plan=of.schema.thrift_plan(), protocol=of.protocol)
