"""A download as a record of Kafka, and as bytes of the spool. Pure."""

import struct
from dataclasses import dataclass
from typing import Final

_HEAD: Final = struct.Struct("<qHH")
"""Timestamp, length of the key, number of headers."""
_HEADER: Final = struct.Struct("<HI")
"""Lengths of name and value."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a topic gets for new content of a feed."""

    key: str
    """Id of the feed."""
    value: bytes
    timestamp: int
    """When it was received, in milliseconds since the epoch."""
    headers: tuple[tuple[str, bytes], ...] = ()


def encode(record: Record) -> bytes:
    """Return a record as bytes that `decode` reads."""
    key = record.key.encode()
    parts = [_HEAD.pack(record.timestamp, len(key), len(record.headers)), key]
    for name, value in record.headers:
        parts += [_HEADER.pack(len(name), len(value)), name.encode("ascii"), value]
    parts.append(record.value)
    return b"".join(parts)


def decode(data: bytes) -> Record:
    """Return the record that was encoded."""
    timestamp, length, count = _HEAD.unpack_from(data)
    at = _HEAD.size + length
    key = data[_HEAD.size : at].decode()
    headers = []
    for _ in range(count):
        name_length, value_length = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        end = at + name_length + value_length
        headers.append((data[at : at + name_length].decode("ascii"), data[at + name_length : end]))
        at = end
    return Record(key, data[at:], timestamp, tuple(headers))


def timestamp_of(data: bytes) -> int:
    """Return the timestamp of an encoded record."""
    timestamp: int = _HEAD.unpack_from(data)[0]
    return timestamp
