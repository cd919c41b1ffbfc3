"""What an ORC file says of itself (specification of ORC 1, "File Tail"), read without code of the writer."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from logpersister.verify import inflating
from logpersister.verify.inflating import Inflate
from logpersister.verify.protobuf_input import SIZED, Cursor, parts_of
from logpersister.verify.streams import ByteStream, ContentError

Section = Callable[[int, int], bytes]
"""Gives the bytes of a file between two places."""
MAGIC: Final = b"ORC"
_AT_ONCE: Final = 256 << 10
_POSTSCRIPT: Final = 256
_VERSION: Final = [0, 12]
"""In which integers are in the second version of their encoding."""
_LARGEST_BLOCK: Final = 1 << 23
"""Of a compressed stream: what the length of a block can say."""
_CODECS: Final[Mapping[int, Inflate | None]] = {
    0: None,
    1: inflating.deflate,
    2: inflating.snappy,
    5: inflating.zstd,
}
GREGORIAN: Final = 2
"""How a file says that it counts dates as all of this project does."""


class Kind(IntEnum):
    """Of a column."""

    BOOLEAN, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, STRING, BINARY, TIMESTAMP, LIST, MAP, STRUCT, UNION = range(14)
    DECIMAL, DATE = 14, 15
    INSTANT = 18


@dataclass(frozen=True, slots=True)
class OrcType:
    """Of a column, and what is in it."""

    column: int
    kind: Kind
    of: "tuple[OrcType, ...]"
    names: tuple[str, ...]
    """Of the fields of a struct."""
    scale: int
    """Of a decimal."""


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message of protobuf, by number."""

    numbers: Mapping[int, list[int]]
    contents: Mapping[int, list[bytes]]

    def number(self, field: int) -> int:
        """Return the number of a field; 0 where it is absent."""
        return self.numbers.get(field, [0])[-1]

    def packed(self, field: int) -> list[int]:
        """Return all numbers of a field, which may be packed."""
        found = [*self.numbers.get(field, [])]
        for content in self.contents.get(field, []):
            cursor = Cursor(content)
            while cursor.left:
                found.append(cursor.varint())
        return found

    def messages(self, field: int) -> "Iterator[Message]":
        """Yield the messages in a field."""
        return map(message_of, self.contents.get(field, []))


def message_of(content: bytes) -> Message:
    """Return a message. Raises `RefusalError`."""
    numbers: dict[int, list[int]] = {}
    contents: dict[int, list[bytes]] = {}
    for part in parts_of(content):
        if part.wire == SIZED:
            contents.setdefault(part.number, []).append(part.data)
        else:
            numbers.setdefault(part.number, []).append(part.number_value)
    return Message(numbers, contents)


@dataclass(frozen=True, slots=True)
class StripePlace:
    """Where a stripe is, and how many rows it has."""

    offset: int
    length: int
    footer: int
    rows: int


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands at the end of a file."""

    codec: Inflate | None
    block: int
    """Most bytes of a block before it is compressed."""
    row: OrcType
    stripes: Sequence[StripePlace]
    calendar: int

    def inflated(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield what the pieces of a stream become."""
        if self.codec is None:
            yield from pieces
            return
        stream = ByteStream(pieces)
        while not stream.ended:
            header = int.from_bytes(stream.take(3), "little")
            content = stream.take(header >> 1)
            yield content if header & 1 else self.codec(content, self.block)


def section_pieces(section: Section, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file between two places, some at once."""
    for at in range(begin, end, _AT_ONCE):
        yield section(at, min(end, at + _AT_ONCE))


def read_tail(size: int, section: Section) -> Tail:
    """Read the end of a file. Raises `ContentError`, and `RefusalError` where it is no protobuf."""
    end = section(max(0, size - _POSTSCRIPT), size)
    if not end or not end[:-1].endswith(MAGIC) or end[-1] >= len(end):
        raise ContentError("it does not end as an ORC file")
    postscript = message_of(end[-1 - end[-1] : -1])
    if postscript.packed(4) != _VERSION:
        raise ContentError(f"its version of ORC is {'.'.join(map(str, postscript.packed(4)))}, not 0.12")
    codec, block = postscript.number(2), postscript.number(3)
    if codec not in _CODECS or block > _LARGEST_BLOCK:
        raise ContentError(f"its compression is number {codec}, in blocks of {block} bytes")
    at = size - 1 - end[-1]
    begin = at - postscript.number(1)
    if begin < len(MAGIC):
        raise ContentError("its footer is longer than the file")
    bare = Tail(_CODECS[codec], block, OrcType(0, Kind.STRUCT, (), (), 0), (), 0)
    footer = message_of(b"".join(bare.inflated(section_pieces(section, begin, at))))
    stripes = [
        StripePlace(one.number(1), one.number(2) + one.number(3), one.number(4), one.number(5))
        for one in footer.messages(3)
    ]
    if any(one.offset + one.length + one.footer > begin for one in stripes):
        raise ContentError("a stripe in it is longer than the file")
    types = list(footer.messages(4))
    row = _type(types, 0)
    if row.kind != Kind.STRUCT:
        raise ContentError("its rows are no structs")
    return Tail(bare.codec, block, row, stripes, footer.number(11))


def _type(types: Sequence[Message], column: int) -> OrcType:
    if column >= len(types):
        raise ContentError(f"it has no column {column}")
    one = types[column]
    below = one.packed(2)
    if any(other <= column for other in below):
        raise ContentError("a column in it is inside of itself")
    if one.number(1) not in {*Kind} - {Kind.UNION}:
        raise ContentError(f"its column {column} is of kind {one.number(1)}")
    kind = Kind(one.number(1))
    names = tuple(name.decode() for name in one.contents.get(3, []))
    expected = {Kind.LIST: 1, Kind.MAP: 2, Kind.STRUCT: len(names)}.get(kind, 0)
    if len(below) != expected:
        raise ContentError(f"its column {column} is made of {len(below)} others, not {expected}")
    return OrcType(column, kind, tuple(_type(types, other) for other in below), names, one.number(6))
