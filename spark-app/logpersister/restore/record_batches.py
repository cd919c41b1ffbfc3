"""Record batches of a backup on their way into a topic. Pure.

A batch goes as it is, still compressed by its first producer, where all of it is wanted and each of its offsets has a
record. Only its header changes: who produces it, and in which place. Brokers refuse batches with gaps, so what
compaction or the end of a range has cut is encoded anew.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from kafka.record.default_records import DefaultRecordBatchBuilder

from logpersister.formats.damage import ContentError
from logpersister.pipeline.reader.decode import CorruptBatchError, crc32c, decode
from logpersister.pipeline.reader.segment import LAST
from logpersister.ranges import Offset

LOG_OVERHEAD: Final = 12
"""Bytes of base offset and length, which the length does not count."""
MOST_BYTES: Final = 512 << 20
"""Bytes of a batch, as it is stored and decompressed; the broker's limit is 1 MiB unless it is configured."""
ENCODED_BYTES: Final = 512 << 10
"""Bytes of a batch that is encoded anew, unless it has a single larger record: half of what brokers take."""

# Base offset, length, leader's epoch, magic, checksum, attributes, last offset's delta, first and largest timestamp,
# producer's id and epoch, first sequence number, number of records.
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CHECKED: Final = 21
"""Where the bytes begin that the checksum covers."""
_CODEC: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_SEQUENCES: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that are produced together."""

    data: bytes
    """A record batch of magic 2, whose place and producer are not set yet."""
    records: int


@dataclass(frozen=True, slots=True)
class Producer:
    """Who produces, as brokers tell producers apart."""

    id: int
    epoch: int


def frames(pieces: Iterable[bytes], most: int = MOST_BYTES) -> Iterator[bytes]:
    """Yield the record batches of an object. Raises `ContentError` where it ends within one."""
    rest = bytearray()
    for piece in pieces:
        rest += piece
        position = 0
        while len(rest) - position >= LOG_OVERHEAD:
            size = LOG_OVERHEAD + int.from_bytes(rest[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
            if not LOG_OVERHEAD < size <= most:
                raise ContentError(f"a record batch in it says it has {size} bytes, so its length is wrong")
            if len(rest) - position < size:
                break
            yield bytes(memoryview(rest)[position : position + size])
            position += size
        del rest[:position]
    if rest:
        raise ContentError(f"the last {len(rest)} bytes of it are no whole record batch")


def batches(found: Iterable[bytes], start: Offset, end: Offset) -> Iterator[Batch]:
    """Yield the records with offsets in ``[start, end)`` as batches that a broker takes."""
    for frame in found:
        whole = _as_it_is(frame, start, end)
        if whole is not None:
            yield whole
        else:
            yield from encoded(decoded(frame, start, end))


def behind(batch: Batch, records: int) -> Iterator[Batch]:
    """Yield a batch without its first records, as many as are given."""
    if records == 0:
        yield batch
    else:
        yield from encoded(rows_of(batch).slice(records))


def rows_of(batch: Batch) -> pa.RecordBatch:
    """Return the records of a batch, columns of `records.schema`; their offsets have no meaning."""
    return decoded(batch.data, 0, LAST)


def _as_it_is(frame: bytes, start: Offset, end: Offset) -> Batch | None:
    """Return a batch that need not be encoded anew, once its checksum is found right."""
    if len(frame) < _HEADER.size:
        return None
    base, _, _, magic, checksum, attributes, delta, _, _, _, _, _, records = _HEADER.unpack_from(frame)
    # The time of the log is the broker's: it takes none from a producer.
    if magic != 2 or attributes & _LOG_APPEND_TIME or records != delta + 1 or base < start or base + delta >= end:
        return None
    if crc32c(frame[_CHECKED:]) != checksum:
        raise ContentError(f"corrupt record batch at offset {base}: its checksum is wrong")
    return Batch(frame, records)


def decoded(frame: bytes, start: Offset, end: Offset) -> pa.RecordBatch:
    """Return the records of a batch with offsets in ``[start, end)``, columns of `records.schema`."""
    try:
        return decode(frame, start, end, read_committed=False, headers=True, max_batch_bytes=MOST_BYTES).batch
    except CorruptBatchError as error:
        raise ContentError(str(error)) from None


def encoded(rows: pa.RecordBatch) -> Iterator[Batch]:
    """Yield records as batches of a size that brokers take, without compression."""
    builder, records = _builder(), 0
    for row in rows.to_pylist():
        headers = [(_Utf8(one["key"]), one["value"]) for one in row["headers"]]
        record = row["timestamp"], row["key"], row["value"], headers
        if builder.append(records, *record) is None:
            yield _built(builder, records)
            builder, records = _builder(), 0
            builder.append(0, *record)
        records += 1
    if records:
        yield _built(builder, records)


class _Utf8(bytes):
    """The key of a header as it was received, for a builder that wants to encode it."""

    __slots__ = ()

    def encode(self, _: str) -> bytes:
        return self


def _builder() -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(
        magic=2,
        compression_type=DefaultRecordBatchBuilder.CODEC_NONE,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=ENCODED_BYTES,
    )


def _built(builder: DefaultRecordBatchBuilder, records: int) -> Batch:
    """Return the batch of a builder, which would compute the checksum in Python."""
    data: bytearray = builder._buffer  # noqa: SLF001
    first, largest = builder._first_timestamp, builder._max_timestamp  # noqa: SLF001
    return Batch(_sealed(data, 0, records - 1, first, largest, -1, -1, -1, records), records)


def placed(batch: Batch, producer: Producer, offset: Offset) -> bytes:
    """Return a batch as it is sent, for the offset that it is to get in its partition.

    Its sequence number is that offset. So brokers append it there or nowhere, whoever sends it and however often.
    """
    data = bytearray(batch.data)
    _, _, _, _, _, attributes, delta, first, largest, _, _, _, records = _HEADER.unpack_from(data)
    sequence = offset % _SEQUENCES
    return _sealed(data, attributes & _CODEC, delta, first, largest, producer.id, producer.epoch, sequence, records)


def _sealed(data: bytearray, *checked: int) -> bytes:
    """Write the header of a batch, whose last fields are given: those that the checksum covers."""
    unchecked = 0, len(data) - LOG_OVERHEAD, -1, 2
    _HEADER.pack_into(data, 0, *unchecked, 0, *checked)
    _HEADER.pack_into(data, 0, *unchecked, crc32c(bytes(memoryview(data)[_CHECKED:])), *checked)
    return bytes(data)
