"""The Arrow schema of records, the one shape that readers produce and encoders and layouts consume."""

from typing import Any

import pyarrow as pa

HEADERS = pa.list_(
    pa.field(
        "item",
        pa.struct([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())]),
        nullable=False,
    )
)

_COLUMNS: "list[pa.Field[Any]]" = [
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("timestamp", pa.int64(), nullable=False),  # ms since the epoch; -1: the record has none
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
]

RECORDS = pa.schema(_COLUMNS)
"""Columns of every batch. A null key or value is a null, never an empty binary (a null value is a tombstone)."""

RECORDS_WITH_HEADERS = RECORDS.append(pa.field("headers", HEADERS, nullable=False))
"""Records with headers, read only when the format keeps them. Header keys are UTF-8 by Kafka's protocol but
unchecked here: bytes are kept as they are."""

ROW = "row"
"""Column of batches on their way to an encoder: the value as a row of ``spec.value``, null for a tombstone."""
REASON, FIELD = "reason", "field"
"""Columns of batches on their way to quarantine: why the parser refused the value, and in which field."""
