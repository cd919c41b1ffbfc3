"""The values of an ORC stripe (specification of ORC 1, "Column Encodings"), read without code of the writer.

Values come one by one, and what is read of a stripe is a block of each stream. Dates are days, instants nanoseconds
since 1970, maps lists of pairs.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from logpersister.verify.orc_runs import bits, integers, octets, variable
from logpersister.verify.orc_tail import Kind, OrcType
from logpersister.verify.streams import ByteStream, ContentError

PRESENT, DATA, LENGTH, DICTIONARY_DATA, _DICTIONARY_COUNT, SECONDARY = range(6)
"""Kinds of streams."""
_DICTIONARY_V2: Final = 3
"""Kind of encoding."""
_FIRST_SECOND: Final = 1_420_070_400
"""2015 began then."""
_A_MILLISECOND: Final = 10**6


@dataclass(frozen=True, slots=True)
class Stripe:
    """The streams of a stripe, and the encodings of its columns."""

    streams: Mapping[tuple[int, int], Callable[[], ByteStream]]
    """By column and kind."""
    encodings: Mapping[int, tuple[int, int]]
    """By column: kind, and how many texts a dictionary has."""
    most: int
    """Bytes that a value may have."""

    def stream(self, column: int, kind: int) -> ByteStream:
        """Return a stream from its start; a missing one is empty."""
        opened = self.streams.get((column, kind))
        return ByteStream([]) if opened is None else opened()

    def integers(self, column: int, kind: int, *, signed: bool) -> Iterator[int]:
        """Return the integers of a stream."""
        return integers(self.stream(column, kind), signed=signed)

    def lengths(self, column: int) -> Iterator[int]:
        """Return the lengths of the values of a column."""
        for one in self.integers(column, LENGTH, signed=False):
            if one > self.most:
                raise ContentError(f"a length in it is {one}")
            yield one


def values(type_: OrcType, stripe: Stripe) -> Iterator[Any]:
    """Yield the values of a column, without end."""
    there = _READS[type_.kind](type_, stripe)
    if (type_.column, PRESENT) not in stripe.streams:
        yield from there
    for is_there in bits(stripe.stream(type_.column, PRESENT)):
        yield next(there) if is_there else None


def _booleans(type_: OrcType, stripe: Stripe) -> Iterator[bool]:
    return bits(stripe.stream(type_.column, DATA))


def _bytes(type_: OrcType, stripe: Stripe) -> Iterator[int]:
    for octet in octets(stripe.stream(type_.column, DATA)):
        yield octet - 256 if octet > 127 else octet


def _integers(type_: OrcType, stripe: Stripe) -> Iterator[int]:
    return stripe.integers(type_.column, DATA, signed=True)


def _floats(type_: OrcType, stripe: Stripe) -> Iterator[float]:
    stream = stripe.stream(type_.column, DATA)
    single = struct.Struct("<f" if type_.kind == Kind.FLOAT else "<d")
    while True:
        yield single.unpack(stream.take(single.size))[0]


def _binaries(type_: OrcType, stripe: Stripe) -> Iterator[bytes]:
    encoding, size = stripe.encodings[type_.column]
    if encoding == _DICTIONARY_V2:
        words = stripe.stream(type_.column, DICTIONARY_DATA)
        known = [words.take(length) for length in islice(stripe.lengths(type_.column), size)]
        for place in stripe.integers(type_.column, DATA, signed=False):
            if place >= len(known):
                raise ContentError("a text in it is in no dictionary")
            yield known[place]
    data = stripe.stream(type_.column, DATA)
    for length in stripe.lengths(type_.column):
        yield data.take(length)


def _texts(type_: OrcType, stripe: Stripe) -> Iterator[str]:
    return (content.decode() for content in _binaries(type_, stripe))


def _decimals(type_: OrcType, stripe: Stripe) -> Iterator[Decimal]:
    stream = stripe.stream(type_.column, DATA)
    for scale in stripe.integers(type_.column, SECONDARY, signed=True):
        number = variable(stream)
        yield Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale))


def _instants(type_: OrcType, stripe: Stripe) -> Iterator[int]:
    """Yield nanoseconds since 1970, as Java reads them: before 1970 a fraction is one of the second before."""
    seconds = stripe.integers(type_.column, DATA, signed=True)
    for second, written in zip(seconds, stripe.integers(type_.column, SECONDARY, signed=False), strict=False):
        zeros = written & 7
        nanoseconds = (written >> 3) * 10 ** (zeros + 1 if zeros else 0)
        since_1970 = second + _FIRST_SECOND
        if since_1970 < 0 and nanoseconds >= _A_MILLISECOND:
            since_1970 -= 1
        yield since_1970 * 10**9 + nanoseconds


def _lists(type_: OrcType, stripe: Stripe) -> Iterator[list[Any]]:
    items = values(type_.of[0], stripe)
    for length in stripe.lengths(type_.column):
        yield list(islice(items, length))


def _maps(type_: OrcType, stripe: Stripe) -> Iterator[list[tuple[Any, Any]]]:
    keys, items = (values(one, stripe) for one in type_.of)
    for length in stripe.lengths(type_.column):
        yield list(zip(islice(keys, length), islice(items, length), strict=True))


def _structs(type_: OrcType, stripe: Stripe) -> Iterator[dict[str, Any]]:
    columns = [values(one, stripe) for one in type_.of]
    while True:
        yield {name: next(column) for name, column in zip(type_.names, columns, strict=True)}


_READS: Final[Mapping[Kind, Callable[[OrcType, Stripe], Iterator[Any]]]] = {
    Kind.BOOLEAN: _booleans,
    Kind.BYTE: _bytes,
    **dict.fromkeys((Kind.SHORT, Kind.INT, Kind.LONG, Kind.DATE), _integers),
    **dict.fromkeys((Kind.FLOAT, Kind.DOUBLE), _floats),
    Kind.STRING: _texts,
    Kind.BINARY: _binaries,
    Kind.DECIMAL: _decimals,
    **dict.fromkeys((Kind.TIMESTAMP, Kind.INSTANT), _instants),
    Kind.LIST: _lists,
    Kind.MAP: _maps,
    Kind.STRUCT: _structs,
}
