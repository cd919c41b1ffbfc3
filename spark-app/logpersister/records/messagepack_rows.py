"""Rows: values that are MessagePack maps become typed columns, straight and for whole batches at once.

The parser is native (spark-app/native). docs/schemas.md says what becomes what; `verify.messagepack` says the same once
more.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.parser import UnknownFields
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.parsers import Parsed
from logpersister.records.rows import MOST_PARSERS, parsed_of

MESSAGEPACK_RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


@dataclass(frozen=True, slots=True)
class MessagePackRows:
    """Each value is one MessagePack map with the fields of a schema. Null values become no row."""

    schema: SchemaSpec
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        return parsed_of(*_native(self).parse(cast("pa.BinaryArray", batch.column("value"))))


@lru_cache(maxsize=MOST_PARSERS)
def _native(of: MessagePackRows) -> "native.MessagePackParser":
    return native.MessagePackParser(row_columns(of.schema), unknown_fields=of.unknown_fields, faults=of.faults.words)
