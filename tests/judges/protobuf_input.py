"""Protobuf's wire format (protobuf.dev/programming-guides/encoding); no code of the native parser is in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.judges.refusal import RefusalError

_MOST_GROUPS = 100

VARINT, FIXED64, SIZED, GROUP, END, FIXED32 = range(6)


@dataclass(frozen=True, slots=True)
class Part:
    """A field as it stands in a message."""

    number: int
    wire: int
    number_value: int = 0
    """Of a varint."""
    data: bytes = b""
    """What is in it; of fixed numbers their bytes."""


class Cursor:
    """What is left of a message."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise RefusalError("not_protobuf")
        self.position += size
        return self.data[self.position - size : self.position]

    def varint(self, longest: int = 10) -> int:
        found = 0
        for place in range(longest):
            (byte,) = self.take(1)
            found |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return found & (2**64 - 1)
        raise RefusalError("not_protobuf")

    def _short(self, most: int) -> int:
        found = self.varint(5)
        if found > most:
            raise RefusalError("not_protobuf")
        return found

    def sized(self) -> bytes:
        return self.take(self._short(2**31 - 1))

    def tag(self) -> tuple[int, int]:
        found = self._short(2**32 - 1)
        if found >> 3 == 0 or found & 7 > FIXED32:
            raise RefusalError("not_protobuf")
        return found >> 3, found & 7

    def part(self, number: int, wire: int) -> Part:
        """Read the value behind a tag."""
        match wire:
            case 0:
                return Part(number, wire, number_value=self.varint())
            case 1 | 5:
                return Part(number, wire, data=self.take(8 if wire == FIXED64 else 4))
            case 2:
                return Part(number, wire, data=self.sized())
            case 3:
                return Part(number, wire, data=self._group(number))
            case _:
                raise RefusalError("not_protobuf")

    def _group(self, number: int) -> bytes:
        begin = self.position
        open_ = [number]
        while True:
            end = self.position
            inner, wire = self.tag()
            if wire == GROUP:
                if len(open_) == _MOST_GROUPS:
                    raise RefusalError("too_deep")
                open_.append(inner)
            elif wire == END:
                if open_.pop() != inner:
                    raise RefusalError("not_protobuf")
                if not open_:
                    return self.data[begin:end]
            else:
                self.part(inner, wire)


def parts_of(data: bytes) -> Iterator[Part]:
    """Yield the fields of a message. Raises `RefusalError`."""
    cursor = Cursor(data)
    while cursor.left:
        yield cursor.part(*cursor.tag())


def text_of(data: bytes) -> str:
    """Return a text. Raises `RefusalError`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None
