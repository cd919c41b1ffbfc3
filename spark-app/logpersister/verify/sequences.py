"""A reader of the SequenceFiles of docs/formats.md, block by block; it shares no code with what writes them.

Source of the format: the class comment and ``Reader`` of ``org.apache.hadoop.io.SequenceFile``, version 6, and
https://github.com/msgpack/msgpack/blob/master/spec.md for keys.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from logpersister.ranges import Offset
from logpersister.verify.streams import ByteStream, ContentError

SequenceItem = tuple[Offset, int | None, bytes | None, bytes]
"""Offset, timestamp, key, value; timestamp and key are None where the layout has only offsets (or the key is null)."""

_PACKAGE: Final = "org.apache.hadoop.io."
_CODEC: Final = _PACKAGE + "compress.DefaultCodec"
_ITEMS: Final = 4096
"""Items that are handed on at once."""
LARGEST_BUFFER: Final = (1 << 31) - 1
"""Bytes; Hadoop reads each part into one array of Java."""
_OFFSET, _KEY, _TIMESTAMP = 1, 2, 3


@dataclass(frozen=True, slots=True)
class _Header:
    compressed: bool
    in_blocks: bool
    marker: bytes
    offsets_only: bool


def read_items(
    pieces: Iterable[bytes],
    *,
    offsets_only: bool | None,
    at_once: int = _ITEMS,
    most_inflated: int = LARGEST_BUFFER,
) -> Iterator[list[SequenceItem]]:
    """Yield the items of a file. Raises `ContentError` wherever Hadoop would fail, and for keys of another layout.

    Args:
        pieces: the content of the file.
        offsets_only: whether a key is the offset alone; None: as the file says.
        at_once: items that are handed on at once.
        most_inflated: bytes that one compressed part may have.
    """
    stream = ByteStream(pieces)
    header = _header(stream, offsets_only=offsets_only)
    for pairs in (
        _blocks(stream, header, at_once, most_inflated)
        if header.in_blocks
        else _records(stream, header, at_once, most_inflated)
    ):
        yield [_item(key, value, offsets_only=header.offsets_only) for key, value in pairs]


def _header(stream: ByteStream, *, offsets_only: bool | None) -> _Header:
    if stream.take(4) != b"SEQ\x06":
        raise ContentError("it does not begin as a SequenceFile of version 6")
    classes = _text(stream), _text(stream)
    keys = {_PACKAGE + "LongWritable": True, _PACKAGE + "BytesWritable": False}.get(classes[0])
    if keys is None or offsets_only not in (None, keys) or classes[1] != _PACKAGE + "BytesWritable":
        raise ContentError(f"its classes are {' and '.join(classes)}")
    compressed, in_blocks = (stream.take(1) == b"\x01" for _ in range(2))
    if compressed and (codec := _text(stream)) != _CODEC:
        raise ContentError(f"its codec is {codec}")
    if stream.take(4) != bytes(4):
        raise ContentError("it has metadata entries")
    return _Header(compressed, in_blocks, stream.take(16), keys)


def _blocks(
    stream: ByteStream, header: _Header, at_once: int, most_inflated: int
) -> Iterator[list[tuple[bytes, bytes]]]:
    while not stream.ended:
        if stream.take(4) != b"\xff" * 4 or stream.take(16) != header.marker:
            raise ContentError("a block in it has no sync marker")
        rows = stream.variable_integer()
        key_lengths, keys, value_lengths, values = (
            ByteStream([_inflated(stream.take(stream.variable_integer()), most_inflated)]) for _ in range(4)
        )
        for begin in range(0, rows, at_once):
            yield [
                (keys.take(key_lengths.variable_integer()), values.take(value_lengths.variable_integer()))
                for _ in range(min(at_once, rows - begin))
            ]
        if not all(part.ended for part in (key_lengths, keys, value_lengths, values)):
            raise ContentError("a block in it has bytes left over")


def _records(
    stream: ByteStream, header: _Header, at_once: int, most_inflated: int
) -> Iterator[list[tuple[bytes, bytes]]]:
    pairs: list[tuple[bytes, bytes]] = []
    while not stream.ended:
        length = stream.take(4)
        if length == b"\xff" * 4:
            if stream.take(16) != header.marker:
                raise ContentError("a sync marker in it is wrong")
            continue
        key_length = int.from_bytes(stream.take(4), "big", signed=True)
        key = stream.take(key_length)
        value = stream.take(int.from_bytes(length, "big", signed=True) - key_length)
        pairs.append((key, _inflated(value, most_inflated) if header.compressed else value))
        if len(pairs) >= at_once:
            yield pairs
            pairs = []
    yield pairs


def _item(key: bytes, value: bytes, *, offsets_only: bool) -> SequenceItem:
    if offsets_only:
        if len(key) != 8:
            raise ContentError(f"a LongWritable in it has {len(key)} bytes")
        return int.from_bytes(key, "big", signed=True), None, None, _bytes(value)
    return (*_message(_bytes(key)), _bytes(value))


def _bytes(writable: bytes) -> bytes:
    if int.from_bytes(writable[:4], "big") != len(writable) - 4:
        raise ContentError("the length of a BytesWritable in it is wrong")
    return writable[4:]


def _message(packed: bytes) -> tuple[Offset, int | None, bytes | None]:
    """Read the map of offset, timestamp and (unless null) key."""
    stream = ByteStream([packed])
    (entries,) = stream.take(1)
    fields: dict[object, int | bytes] = {}
    for _ in range(entries & 0x0F):
        name = _value(stream)
        fields[name] = _value(stream)
    offset, timestamp, key = fields.get(_OFFSET), fields.get(_TIMESTAMP), fields.get(_KEY)
    whole = entries & 0xF0 == 0x80 and stream.ended and fields.keys() <= {_OFFSET, _TIMESTAMP, _KEY}
    if not (whole and isinstance(offset, int) and isinstance(timestamp, int)) or isinstance(key, int):
        raise ContentError(f"a key in it is no map of offset, timestamp and key: {packed[:40].hex()}")
    return offset, timestamp, key


def _value(stream: ByteStream) -> int | bytes:
    (tag,) = stream.take(1)
    if tag < 0x80:
        return tag
    if tag >= 0xE0:
        return tag - 0x100
    if 0xCC <= tag <= 0xD3:
        return int.from_bytes(stream.take(1 << (tag & 3)), "big", signed=tag >= 0xD0)
    if 0xC4 <= tag <= 0xC6:
        return stream.take(int.from_bytes(stream.take(1 << (tag - 0xC4)), "big"))
    raise ContentError(f"a key in it has the MessagePack type {tag:#04x}")


def _inflated(content: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        inflated = stream.decompress(content, most)
    except zlib.error as error:
        raise ContentError(f"a compressed part of it is damaged ({error})") from None
    if stream.unconsumed_tail:
        raise ContentError(f"a compressed part of it has more than {most:,} bytes")
    if not stream.eof or stream.unused_data:
        raise ContentError("a compressed part of it is not one whole zlib stream")
    return inflated


def _text(stream: ByteStream) -> str:
    return stream.take(stream.variable_integer()).decode(errors="replace")
