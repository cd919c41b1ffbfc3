"""Reads FetchResponse messages, versions 4 to 13, without copying the records.

kafka-python's generic decoder copies the ``records`` of every partition several times; here they are views of the
received frame. Format: https://kafka.apache.org/protocol#The_Messages_Fetch, version 12 and later with compact
lengths and tagged fields (KIP-482).
"""

import struct
from collections.abc import Mapping

from logpersister.pipeline.reader.decode import Aborted
from logpersister.pipeline.reader.messages import FetchAnswer, PartitionData
from logpersister.ranges import TopicPartition

LOWEST_VERSION = 4
"""The first one with record batches of magic 2 and transactions (Kafka 0.11)."""
HIGHEST_VERSION_BY_NAME = 12
HIGHEST_VERSION = 13
"""The first one that names topics by id, so that a topic made anew under the same name is never read by mistake.
Later ones have nothing for consumers but leader hints."""

_FLEXIBLE = 12
_DIVERGING_EPOCH_TAG = 0

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
# partition, error code, high watermark, last stable offset
_PARTITION = struct.Struct(">ihqq")
_INT64 = struct.Struct(">q")
_ABORTED = struct.Struct(">qq")
_DIVERGING = struct.Struct(">iq")
_TOPIC_ID_BYTES = 16


class MalformedResponseError(Exception):
    """The bytes are not a FetchResponse of that version."""


def parse(frame: memoryview, version: int, topics: Mapping[bytes, str]) -> FetchAnswer:
    """Parse the body of a FetchResponse (what follows the response header).

    ``topics`` gives the names of topic ids, for version 13. Partitions of other topics are left out.
    """
    try:
        return _parse(_Cursor(frame, flexible=version >= _FLEXIBLE), version, topics)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedResponseError(f"fetch response v{version} of {len(frame)} bytes: {error}") from error


class _Cursor:
    """Walks over one message. ``flexible`` chooses between the two ways to write lengths."""

    __slots__ = ("at", "data", "flexible")

    def __init__(self, data: memoryview, *, flexible: bool) -> None:
        self.data, self.flexible, self.at = data, flexible, 0

    def fixed(self, fields: struct.Struct) -> tuple[int, ...]:
        found: tuple[int, ...] = fields.unpack_from(self.data, self.at)
        self.at += fields.size
        return found

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise IndexError("unsigned varint of more than 5 bytes")

    def length(self) -> int:
        """Read the length of an array or of bytes; -1 for null."""
        return self.varint() - 1 if self.flexible else self.fixed(_INT32)[0]

    def view(self, size: int) -> memoryview:
        if size < 0:
            return self.data[:0]
        end = self.at + size
        if end > len(self.data):
            raise IndexError(f"{size} bytes at {self.at} end behind the message")
        found = self.data[self.at : end]
        self.at = end
        return found

    def name(self) -> str:
        return str(self.view(self.varint() - 1 if self.flexible else self.fixed(_INT16)[0]), "utf-8")

    def tags(self) -> dict[int, memoryview]:
        if not self.flexible:
            return {}
        return {self.varint(): self.view(self.varint()) for _ in range(self.varint())}


def _parse(cursor: _Cursor, version: int, topics: Mapping[bytes, str]) -> FetchAnswer:
    (throttle_ms,) = cursor.fixed(_INT32)
    error = 0
    if version >= 7:
        (error,) = cursor.fixed(_INT16)
        cursor.fixed(_INT32)  # session id: 0, we have none
    parts: dict[TopicPartition, PartitionData] = {}
    for _ in range(cursor.length()):
        topic = topics.get(bytes(cursor.view(_TOPIC_ID_BYTES))) if version >= HIGHEST_VERSION else cursor.name()
        for _ in range(cursor.length()):
            part = _partition(cursor, version, topic or "")
            if topic is not None:
                parts[part.partition] = part
        cursor.tags()
    cursor.tags()
    return FetchAnswer(throttle_ms / 1000, error, parts, len(cursor.data))


def _partition(cursor: _Cursor, version: int, topic: str) -> PartitionData:
    partition, error, high_watermark, last_stable_offset = cursor.fixed(_PARTITION)
    log_start = cursor.fixed(_INT64)[0] if version >= 5 else -1
    aborted: list[Aborted] = []
    for _ in range(cursor.length()):
        producer_id, first_offset = cursor.fixed(_ABORTED)
        aborted.append(Aborted(producer_id, first_offset))
        cursor.tags()
    preferred_replica = cursor.fixed(_INT32)[0] if version >= 11 else -1
    records = cursor.view(cursor.length())
    tags = cursor.tags()
    diverging = _DIVERGING.unpack_from(tags[_DIVERGING_EPOCH_TAG]) if _DIVERGING_EPOCH_TAG in tags else (-1, -1)
    return PartitionData(
        TopicPartition(topic, partition),
        error,
        high_watermark,
        last_stable_offset,
        log_start,
        records,
        tuple(aborted),
        preferred_replica,
        diverging[1],
    )
