"""How ORC writes many numbers (specification of ORC 1, "Run Length Encoding"), read without code of the writer.

Each function yields numbers without end; what reads more than there are meets `ContentError`.
"""

from collections.abc import Iterator
from itertools import repeat
from typing import Final

from logpersister.verify.streams import ByteStream, ContentError

_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
"""Bits of a number, by the code of five bits that stands for them."""
_LONGEST: Final = 24
"""Bytes of a number: a decimal of 38 digits has 19."""


def octets(stream: ByteStream) -> Iterator[int]:
    """Yield bytes, from 0 to 255."""
    while True:
        control = stream.take(1)[0]
        if control < 0x80:
            yield from repeat(stream.take(1)[0], control + 3)
        else:
            yield from stream.take(0x100 - control)


def bits(stream: ByteStream) -> Iterator[bool]:
    """Yield bits, the highest of each byte first."""
    for octet in octets(stream):
        for place in range(7, -1, -1):
            yield bool(octet >> place & 1)


def integers(stream: ByteStream, *, signed: bool) -> Iterator[int]:
    """Yield integers of the second version of the encoding."""
    while True:
        first = stream.take(1)[0]
        match first >> 6:
            case 0:
                number = int.from_bytes(stream.take((first >> 3 & 7) + 1), "big")
                yield from repeat(_zigzag(number) if signed else number, (first & 7) + 3)
            case 1:
                numbers = _direct(stream, first)
                yield from map(_zigzag, numbers) if signed else numbers
            case 2:
                yield from _patched(stream, first)
            case _:
                yield from _by_difference(stream, first, signed=signed)


def variable(stream: ByteStream) -> int:
    """Return one signed integer: seven bits a byte, the lowest first."""
    return _zigzag(_unsigned(stream))


def _count(stream: ByteStream, first: int) -> int:
    return ((first & 1) << 8 | stream.take(1)[0]) + 1


def _direct(stream: ByteStream, first: int) -> list[int]:
    count = _count(stream, first)
    return _packed(stream, _WIDTHS[first >> 1 & 31], count)


def _patched(stream: ByteStream, first: int) -> Iterator[int]:
    """Yield numbers of few bits, some of which have more, above a base."""
    count, width = _count(stream, first), _WIDTHS[first >> 1 & 31]
    third, fourth = stream.take(2)
    patch_width, patches = _WIDTHS[third & 31], fourth & 31
    base_bytes = (third >> 5) + 1
    base = int.from_bytes(stream.take(base_bytes), "big")
    sign = 1 << 8 * base_bytes - 1
    base = -(base & ~sign) if base & sign else base
    numbers = _packed(stream, width, count)
    entry_width = next(one for one in _WIDTHS if one >= patch_width + (fourth >> 5) + 1)
    place = 0
    for entry in _packed(stream, entry_width, patches):
        place += entry >> patch_width
        if place >= count:
            raise ContentError("a number in it has a patch behind its run")
        numbers[place] |= (entry & (1 << patch_width) - 1) << width
    return (base + number for number in numbers)


def _by_difference(stream: ByteStream, first: int, *, signed: bool) -> Iterator[int]:
    count, code = _count(stream, first), first >> 1 & 31
    number = variable(stream) if signed else _unsigned(stream)
    step = variable(stream)
    yield number
    if count == 1:
        return
    steps = _packed(stream, _WIDTHS[code], count - 2) if code else [abs(step)] * (count - 2)
    number += step
    yield number
    for one in steps:
        number += one if step >= 0 else -one
        yield number


def _packed(stream: ByteStream, width: int, count: int) -> list[int]:
    data = stream.take((width * count + 7) // 8)
    whole, mask = int.from_bytes(data, "big"), (1 << width) - 1
    last = 8 * len(data) - width
    return [whole >> last - width * place & mask for place in range(count)]


def _unsigned(stream: ByteStream) -> int:
    found = 0
    for place in range(_LONGEST):
        octet = stream.take(1)[0]
        found |= (octet & 0x7F) << 7 * place
        if octet < 0x80:
            return found
    raise ContentError("a number in it has no end")


def _zigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)
