"""Record batches made for tests: by kafka-python where it can, by hand where a batch must be odd or wrong."""

import gzip
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from kafka.record.memory_records import MemoryRecordsBuilder
from kafka.record.util import calc_crc32c, encode_varint

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base and max timestamp, producer id,
producer epoch, base sequence, records."""
CHECKED_BEGIN = 21
HEADER_BYTES = HEADER.size

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
RAW_SNAPPY = -SNAPPY
"""As librdkafka writes it: one block without xerial's framing."""
CODECS = (NONE, GZIP, SNAPPY, RAW_SNAPPY, LZ4, ZSTD)

LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40

Headers = tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True)
class Record:
    key: bytes | None = None
    value: bytes | None = b"value"
    headers: Headers = ()
    timestamp_delta: int = 0
    offset_delta: int | None = None
    """None: its place in the batch."""


@dataclass(frozen=True)
class Batch:
    records: Sequence[Record] = (Record(),)
    base_offset: int = 0
    codec: int = NONE
    attributes: int = 0
    """Flags without the codec."""
    last_offset_delta: int | None = None
    base_timestamp: int = 1_700_000_000_000
    max_timestamp: int = 1_700_000_999_999
    producer_id: int = -1
    count: int | None = None
    """What the header says; None: the truth."""
    payload: bytes | None = field(default=None, repr=False)
    """The bytes of the records, uncompressed; None: those of `records`."""

    @property
    def last_offset(self) -> int:
        return self.base_offset + self._last_offset_delta

    @property
    def _last_offset_delta(self) -> int:
        if self.last_offset_delta is not None:
            return self.last_offset_delta
        return max((delta(record, place) for place, record in enumerate(self.records)), default=0)

    def encode(self) -> bytes:
        payload = self.payload
        if payload is None:
            payload = b"".join(encode_record(record, place) for place, record in enumerate(self.records))
        return assemble(
            compress(self.codec, payload),
            base_offset=self.base_offset,
            attributes=self.attributes | abs(self.codec),
            last_offset_delta=self._last_offset_delta,
            base_timestamp=self.base_timestamp,
            max_timestamp=self.max_timestamp,
            producer_id=self.producer_id,
            count=len(self.records) if self.count is None else self.count,
        )


def delta(record: Record, place: int) -> int:
    return place if record.offset_delta is None else record.offset_delta


def encode_record(record: Record, place: int = 0) -> bytes:
    body = bytearray(1)
    body += varint(record.timestamp_delta) + varint(delta(record, place))
    body += nullable(record.key) + nullable(record.value) + varint(len(record.headers))
    for key, value in record.headers:
        body += nullable(key) + nullable(value)
    return varint(len(body)) + bytes(body)


def varint(number: int) -> bytes:
    written = bytearray()
    encode_varint(number, written.append)
    return bytes(written)


def nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def assemble(
    compressed: bytes,
    *,
    base_offset: int = 0,
    attributes: int = 0,
    last_offset_delta: int = 0,
    base_timestamp: int = 0,
    max_timestamp: int = 0,
    producer_id: int = -1,
    count: int = 1,
) -> bytes:
    """Put a header with the right length and checksum before the records."""
    fields = (attributes, last_offset_delta, base_timestamp, max_timestamp, producer_id, 0, 0, count)
    length = HEADER_BYTES - 12 + len(compressed)
    return with_right_checksum(HEADER.pack(base_offset, length, 7, 2, 0, *fields) + compressed)


def with_right_checksum(batch: bytes) -> bytes:
    checksum = calc_crc32c(memoryview(batch)[CHECKED_BEGIN:])
    return batch[:17] + struct.pack(">I", checksum) + batch[CHECKED_BEGIN:]


def recompress(batch: bytes, codec: int) -> bytes:
    """Compress an uncompressed batch (kafka-python needs packages for snappy and lz4 that are not here)."""
    fields = list(HEADER.unpack_from(batch))
    records = compress(codec, batch[HEADER_BYTES:])
    fields[1] = HEADER_BYTES - 12 + len(records)
    fields[5] |= abs(codec)
    return with_right_checksum(HEADER.pack(*fields) + records)


def compress(codec: int, data: bytes) -> bytes:
    match codec:
        case 0:
            return data
        case 1:
            return gzip.compress(data, compresslevel=1, mtime=0)
        case 2:
            return xerial(data)
        case -2:
            return pa.Codec("snappy").compress(data, asbytes=True)
        case 3:
            return pa.Codec("lz4").compress(data, asbytes=True)
        case 4:
            return pa.Codec("zstd").compress(data, asbytes=True)
    raise AssertionError(codec)


def xerial(data: bytes, block_bytes: int = 1024) -> bytes:
    """Snappy in the framing of Java's clients; they use 32 KiB, less gives tests more blocks."""
    stream = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for begin in range(0, len(data), block_bytes):
        block = pa.Codec("snappy").compress(data[begin : begin + block_bytes], asbytes=True)
        stream += struct.pack(">i", len(block)) + block
    return stream


def marker(base_offset: int, producer_id: int, *, abort: bool) -> bytes:
    """The control batch that ends a transaction (`EndTransactionMarker.java`)."""
    key, value = struct.pack(">hh", 0, 0 if abort else 1), struct.pack(">hi", 0, 0)
    flags = CONTROL | TRANSACTIONAL
    return Batch([Record(key, value)], base_offset=base_offset, attributes=flags, producer_id=producer_id).encode()


def legacy(
    magic: int, codec: int, base_offset: int, messages: Sequence[tuple[int, bytes | None, bytes | None]]
) -> bytes:
    """Messages (timestamp, key, value) of magic 0 or 1; compressed ones in one wrapper."""
    builder = MemoryRecordsBuilder(magic=magic, compression_type=codec, batch_size=1 << 20, offset=base_offset)
    for timestamp, key, value in messages:
        builder.append(timestamp, key, value)
    builder.close()
    data = bytes(builder.buffer())
    # The broker gives a wrapper the offset of its last message.
    return struct.pack(">q", base_offset + len(messages) - 1) + data[8:] if codec else data
