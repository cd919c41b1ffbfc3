"""Record batches of an object as Arrow batches of Spark's columns."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import logpersister_native as native
from pyspark_logpersister.wanted import Limits

HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]), nullable=True)
)
_COLUMNS: "list[pa.Field[Any]]" = [
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", "UTC")),
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("headers", HEADERS),
]
SCHEMA: Final = pa.schema(_COLUMNS)
_LOG_OVERHEAD: Final = 12
"""Bytes of a batch that its length does not count."""
_MAGIC: Final = 16
_MAX_TIMESTAMP: Final = slice(35, 43)
_HEADER_BYTES: Final = 61
_DECODED_AT_ONCE: Final = 4 << 20
_MOST_BATCH_BYTES: Final = 512 << 20


class DamagedObjectError(Exception):
    """An object that does not hold whole record batches."""


def decoded(pieces: Iterable[bytes], start: int, end: int, timestamps: Limits) -> Iterator[pa.RecordBatch]:
    """Yield the records with offsets in ``[start, end)``, but none of batches that are older than the timestamps."""
    run = bytearray()
    for frame in _frames(pieces):
        if len(frame) >= _HEADER_BYTES and frame[_MAGIC] < 2:
            raise DamagedObjectError("it has record batches of Kafka before 0.11, which logpersister head reads")
        base = int.from_bytes(frame[:8], "big")
        if base >= end or int.from_bytes(frame[_MAX_TIMESTAMP], "big", signed=True) < timestamps.first:
            continue
        run += frame
        if len(run) >= _DECODED_AT_ONCE:
            yield from _decoded(bytes(run), start, end)
            run.clear()
    yield from _decoded(bytes(run), start, end)


def _frames(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for piece in pieces:
        rest += piece
        position = 0
        while len(rest) - position >= _LOG_OVERHEAD:
            size = _LOG_OVERHEAD + int.from_bytes(rest[position + 8 : position + _LOG_OVERHEAD], "big")
            if len(rest) - position < size:
                break
            yield bytes(rest[position : position + size])
            position += size
        del rest[:position]
    if rest:
        raise DamagedObjectError(f"its last {len(rest)} bytes are no whole record batch")


def _decoded(data: bytes, start: int, end: int) -> Iterator[pa.RecordBatch]:
    view = memoryview(data)
    while view:
        ends = pa.py_buffer(cast("Any", np.array([0, len(view)], np.int32)))
        one = pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(view)])
        found = native.decode(
            cast("pa.BinaryArray", one),
            start,
            end,
            aborted=[],
            headers=True,
            keys=True,
            max_bytes=_DECODED_AT_ONCE,
            max_batch_bytes=_MOST_BATCH_BYTES,
        )
        if found.batch.num_rows:
            yield found.batch
        view = view[found.bytes_used :]


def of_spark(batch: pa.RecordBatch, topic: str, partition: int) -> pa.RecordBatch:
    """Return records in the columns that Spark expects."""
    rows = batch.num_rows
    columns: list[Any] = [
        pa.repeat(topic, rows),
        pa.repeat(pa.scalar(partition, pa.int32()), rows),
        batch.column("offset"),
        batch.column("timestamp").cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")),
        batch.column("key"),
        batch.column("value"),
        _headers(batch.column("headers")),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _headers(headers: Any) -> "pa.Array[Any]":
    items = headers.flatten()
    keys, values = pc.struct_field(items, 0), pc.struct_field(items, 1)
    try:
        names = keys.cast(pa.string())
    except pa.ArrowInvalid:  # producers may write any bytes
        names = pa.array([key.decode(errors="replace") for key in keys.to_pylist()], pa.string())
    fields = list(HEADERS.value_type)
    offsets = pc.subtract(headers.offsets, headers.offsets[0])
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([names, values], fields=fields), type=HEADERS)
