"""The columns of a file of quarantine by which a record is known, and what they are for the reader of Kafka."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa

from logpersister.records.schema import HEADERS, REASON, RECORDS, RECORDS_WITH_HEADERS

OFFSET, TIMESTAMP, KEY, VALUE = COLUMNS = ("kafka_offset", "kafka_timestamp", "kafka_key", "value")
"""Columns that each file has whose format keeps all of a record."""
KEPT_HEADERS: Final = "kafka_headers"
"""Column that a file has if headers are kept."""


def chosen(names: Collection[str]) -> list[str]:
    """Return which columns of a file are read. Raises LookupError where one is not there that quarantine has.

    Files of other records have no reason: a copy of one in quarantine would be stored once more.
    """
    missing = [name for name in (*COLUMNS, REASON) if name not in names]
    if missing:
        raise LookupError(missing[0])
    return [*COLUMNS, *([KEPT_HEADERS] if KEPT_HEADERS in names else [])]


def records_of(columns: "Mapping[str, pa.Array[Any]]") -> pa.RecordBatch:
    """Return the rows of a file as records, with headers if it has them; times are milliseconds, or numbers of them."""
    milliseconds: Any = columns[TIMESTAMP].cast(pa.int64())
    found: list[pa.Array[Any]] = [columns[OFFSET], milliseconds.fill_null(-1), columns[KEY], columns[VALUE]]
    if KEPT_HEADERS not in columns:
        return pa.RecordBatch.from_arrays(found, schema=RECORDS)
    return pa.RecordBatch.from_arrays([*found, columns[KEPT_HEADERS].cast(HEADERS)], schema=RECORDS_WITH_HEADERS)
