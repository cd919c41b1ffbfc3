"""Decodes the records of a fetch response into an Arrow record batch.

The only module that knows the native decoder (``spark-app/native``). It adds what is too rare to be fast: record
batches of the formats before Kafka 0.11 (magic 0 and 1), which kafka-python decodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

import logpersister_native as native
from logpersister.pipeline.reader import legacy

DEFAULT_MAX_BYTES = 256 << 20
"""Decoding stops between two record batches once they came, decompressed, to so many bytes."""

DEFAULT_MAX_BATCH_BYTES = 512 << 20
"""A single record batch that decompresses to more is refused. The broker limits the *compressed* size
(``max.message.bytes``, 1 MiB unless configured), so that 512 MiB is beyond what is sent in earnest."""


HEAD_BYTES = 21
"""Bytes of a record batch up to and with the checksum of the others."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """One aborted transaction of a fetch response."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """The records of one partition of a fetch response."""

    batch: pa.RecordBatch
    """Schema `records.schema.RECORDS` or `RECORDS_WITH_HEADERS`; rows with ``start <= offset < end``, in order."""

    next_offset: int
    """First offset not yet seen (>= start): everything below it is in `batch` or holds no record to keep. It passes
    control batches, aborted and compacted records, and offsets that the response shows not to exist."""

    record_batches: int
    """Whole record batches looked at (a legacy message counts as one)."""

    bytes_used: int
    """Bytes of `data` that were looked at, all in whole record batches."""

    cut_off_bytes: int | None
    """The data ended inside a record batch, whose whole size this is: a request that is to return it must allow
    so many bytes. 0: it was cut so short that its size is not known. None: nothing was cut off, or decoding
    ended before it."""


@dataclass(frozen=True, slots=True)
class Selected:
    """Record batches of a fetch response that are stored as they are."""

    pieces: tuple[memoryview, ...]
    """The batches, neighbours together; views of the response."""
    heads: bytes
    """The first `HEAD_BYTES` of each, which hold the checksum of the others."""
    records: int
    """Records in them with ``start <= offset < end``."""
    first: int
    """Offset of the first of these; of no meaning without any."""
    last: int
    next_offset: int
    """As `Decoded.next_offset`."""


class CorruptBatchError(Exception):
    """A record batch that cannot be what a broker stored. Fetch again; the same answer twice is real corruption."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"corrupt record batch at offset {offset}: {reason}")
        self.offset = offset
        """Base offset of the record batch, as far as it is known; -1 otherwise."""
        self.reason = reason

    def __reduce__(self) -> tuple[type["CorruptBatchError"], tuple[int, str]]:
        return type(self), (self.offset, self.reason)


def decode(
    data: bytes | memoryview,
    start: int,
    end: int,
    *,
    aborted: Sequence[Aborted] = (),
    read_committed: bool,
    headers: bool,
    keys: bool = True,
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_batch_bytes: int = DEFAULT_MAX_BATCH_BYTES,
) -> Decoded:
    """Decode the ``records`` of one partition of a FetchResponse into the rows of ``[start, end)``.

    ``data`` is a run of record batches: the first may begin before ``start``, the last may be cut off. Nothing is
    kept between calls. Decoding again from a later ``start`` of the same response needs the same ``data`` and
    ``aborted``, from the beginning: an abort marker that was passed still counts.

    ``aborted`` are the response's aborted transactions, in any order; used only when ``read_committed``. Control
    batches are dropped always. Without ``keys`` the key column is all null, at no cost.
    The data is decoded where it is, and must not change meanwhile; the GIL is released.

    When the first record batch is cut off, ``next_offset == start`` and the batch is empty: fetch with a larger
    limit (see `Decoded.cut_off_bytes`).

    Raises `CorruptBatchError`; nothing of the response is returned then.
    """
    transactions = [(one.producer_id, one.first_offset) for one in aborted] if read_committed else []
    try:
        run = native.decode(
            _one_value(data),
            start,
            end,
            aborted=transactions,
            headers=headers,
            keys=keys,
            max_bytes=max_bytes,
            max_batch_bytes=max_batch_bytes,
        )
    except native.CorruptBatchError as error:
        raise CorruptBatchError(*error.args) from None
    batch = run.batch
    if run.legacy:
        batch = _with_legacy(run, data, start, end, keys=keys, max_batch_bytes=max_batch_bytes)
    return Decoded(batch, run.next_offset, run.record_batches, run.bytes_used, run.cut_off_bytes)


def select(
    data: memoryview, start: int, end: int, *, aborted: Sequence[Aborted] = (), read_committed: bool
) -> Selected:
    """Select the record batches that have a record in ``[start, end)``, whole and as the broker sent them.

    Arguments are those of `decode`. Each batch is checked and few are decoded: those that reach over `start` or `end`,
    and those from which compaction has taken records. Raises `CorruptBatchError`.
    """
    transactions = [(one.producer_id, one.first_offset) for one in aborted] if read_committed else []
    try:
        found = native.select(
            _one_value(data), start, end, aborted=transactions, max_batch_bytes=DEFAULT_MAX_BATCH_BYTES
        )
    except native.CorruptBatchError as error:
        raise CorruptBatchError(*error.args) from None
    records, offsets = found.records, list[int](found.offsets or ())
    for begin, stop in found.legacy:
        batch = decode(data[begin:stop], start, end, read_committed=False, headers=False, keys=False).batch
        records += batch.num_rows
        offsets += batch.column("offset").to_numpy().tolist()
    pieces = tuple(data[begin:stop] for begin, stop in found.kept)
    return Selected(pieces, found.heads, records, min(offsets, default=-1), max(offsets, default=-1), found.next_offset)


def crc32c(data: bytes) -> int:
    """Return the checksum of what a record batch covers with it."""
    return native.crc32c(data)


def heads_of(data: bytes | memoryview) -> Iterator[bytes | memoryview]:
    """Yield the first `HEAD_BYTES` of each of whole record batches."""
    position = 0
    while position < len(data):
        yield data[position : position + HEAD_BYTES]
        position += legacy.LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + 12], "big")


def _one_value(data: bytes | memoryview) -> pa.BinaryArray:
    """Return an array of the data, without copying."""
    ends = np.array([0, len(data)], np.int32)
    buffers = [None, pa.py_buffer(cast("Any", ends)), pa.py_buffer(data)]
    return cast("pa.BinaryArray", pa.Array.from_buffers(pa.binary(), 1, buffers))


def _with_legacy(
    run: native.Run, data: bytes | memoryview, start: int, end: int, *, keys: bool, max_batch_bytes: int
) -> pa.RecordBatch:
    """Put the records of legacy batches between the rows where their bytes stood."""

    def decompress(codec: int, compressed: bytes) -> bytes:
        try:
            return native.decompress(codec, compressed, limit=max_batch_bytes)
        except native.CorruptBatchError as error:
            raise ValueError(error.args[1]) from None

    def pieces() -> Iterator[pa.RecordBatch]:
        row = 0
        for before_row, begin, stop in run.legacy:
            yield run.batch.slice(row, before_row - row)
            row = before_row
            view = memoryview(data)[begin:stop]
            try:
                yield legacy.decode(view, start, end, schema=run.batch.schema, keys=keys, decompress=decompress)
            except legacy.CorruptLegacyBatchError as error:
                raise CorruptBatchError(*error.args) from None
        yield run.batch.slice(row)

    whole: pa.RecordBatch = pa.concat_batches(pieces())  # type: ignore[attr-defined]  # newer than the stubs
    return whole
