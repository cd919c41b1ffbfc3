"""Record batches of the formats before Kafka 0.11 (magic 0 and 1), decoded by kafka-python.

Brokers still hand out what old producers left in old segments. Slow and seldom; right is enough.
Used by `decode` only.
"""

import struct
from collections.abc import Callable, Iterator

import pyarrow as pa
from kafka.errors import KafkaError
from kafka.record.legacy_records import LegacyRecord, LegacyRecordBatch

Decompress = Callable[[int, bytes], bytes]
"""Codec id and compressed bytes to decompressed bytes."""

MAGIC_AT = 16
LOG_OVERHEAD = LegacyRecordBatch.LOG_OVERHEAD


class CorruptLegacyBatchError(Exception):
    """``args`` are the offset of the batch and the reason."""


class _Batch(LegacyRecordBatch):  # type: ignore[misc]  # kafka-python has no types
    """Batch with our codecs, as kafka-python's need optional packages, and with sizes checked before use."""

    def __init__(self, buffer: memoryview, magic: int, decompress: Decompress) -> None:
        super().__init__(buffer, magic)
        self._decompress_bytes = decompress

    def _decompress(self, key_offset: int) -> bytes:
        _, value = self._read_key_value(key_offset)
        if value is None:
            raise ValueError("the value of a compressed message is null")
        return self._decompress_bytes(self.compression_type, value)

    def _read_all_headers(self) -> list[tuple[tuple[int, int, int, int, int, int | None], int]]:
        least = self.RECORD_OVERHEAD_V1 if self._magic else self.RECORD_OVERHEAD_V0
        position, messages = 0, []
        while position < len(self._buffer):
            header = self._read_header(position)
            if header[1] < least or header[3] != self._magic:
                raise ValueError(f"a message inside has length {header[1]} and magic {header[3]}")
            messages.append((header, position))
            position += LOG_OVERHEAD + header[1]
        if not messages or position != len(self._buffer):
            raise ValueError("the messages inside are cut off")
        return messages

    def _read_key_value(self, position: int) -> tuple[bytes | None, bytes | None]:
        key, position = self._read_bytes(position)
        value, _ = self._read_bytes(position)
        return key, value

    def _read_bytes(self, position: int) -> tuple[bytes | None, int]:
        (size,) = struct.unpack_from(">i", self._buffer, position)
        position += 4
        if size == -1:
            return None, position
        if not 0 <= size <= len(self._buffer) - position:
            raise ValueError(f"a key or value of {size} bytes reaches beyond its message")
        return self._buffer[position : position + size].tobytes(), position + size


def decode(
    data: memoryview, start: int, end: int, *, schema: pa.Schema, keys: bool, decompress: Decompress
) -> pa.RecordBatch:
    """Decode whole batches of magic 0 and 1, one after the other, into the rows of ``[start, end)``.

    A message without a timestamp (magic 0) gets -1, as in Kafka's own conversion. Raises `CorruptLegacyBatchError`.
    """
    columns: dict[str, list[object]] = {name: [] for name in schema.names}
    for record in _records(data, decompress):
        if start <= record.offset < end:
            columns["offset"].append(record.offset)
            columns["timestamp"].append(-1 if record.timestamp is None else record.timestamp)
            columns["key"].append(record.key if keys else None)
            columns["value"].append(record.value)
            if "headers" in columns:
                columns["headers"].append([])
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def _records(data: memoryview, decompress: Decompress) -> Iterator[LegacyRecord]:
    position = 0
    while position < len(data):
        offset, length = struct.unpack_from(">qi", data, position)
        message = data[position : position + LOG_OVERHEAD + length]
        position += LOG_OVERHEAD + length
        try:
            yield from _batch_records(message, offset, decompress)
        # What kafka-python, which trusts a batch whose checksum is right, raises for one that is not.
        except (ValueError, AssertionError, LookupError, struct.error, KafkaError) as error:
            raise CorruptLegacyBatchError(offset, f"(magic {message[MAGIC_AT]}) {error}") from error


def _batch_records(message: memoryview, last_offset: int, decompress: Decompress) -> list[LegacyRecord]:
    batch = _Batch(message, message[MAGIC_AT], decompress)
    if not batch.validate_crc():
        raise ValueError("its CRC-32 is wrong")
    records = list(batch)
    offsets = [record.offset for record in records]
    if offsets != sorted(set(offsets)) or offsets[0] < 0 or offsets[-1] != last_offset:
        raise ValueError(f"it holds the offsets {offsets[0]} to {offsets[-1]} and says that {last_offset} is its last")
    if not all(record.validate_crc() for record in records):
        raise ValueError("the CRC-32 of a message inside is wrong")
    return records
