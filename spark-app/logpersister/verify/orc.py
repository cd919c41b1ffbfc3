"""What an ORC file holds, as items that can be compared with records; docs/formats.md says what it should."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import IO, Any, Final, cast

import pyarrow as pa

from logpersister.manifest.types import ListOf, MapOf, Struct, Timestamp, Type
from logpersister.ranges import Offset
from logpersister.verify.orc_columns import Stripe, values
from logpersister.verify.orc_tail import (
    GREGORIAN,
    OrcType,
    Section,
    StripePlace,
    Tail,
    message_of,
    read_tail,
    section_pieces,
)
from logpersister.verify.parquet import IN_MEMORY_BYTES
from logpersister.verify.refusal import RefusalError
from logpersister.verify.row_items import Item, RowItems
from logpersister.verify.streams import ByteStream, ContentError

BATCH_ROWS: Final = 1024
_LARGEST_VALUE: Final = (1 << 31) - 1
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST_SECONDS: Final = 2**53
_KAFKA_TIMESTAMP: Final = "kafka_timestamp"


class OrcRows:
    """The rows of a file. Both the begin and the iteration raise `ContentError`."""

    def __init__(self, size: int, section: Section, most: int = _LARGEST_VALUE) -> None:
        """Read the end of a file; `most`: bytes that a value may have."""
        self._section, self._most = section, most
        with _damage_as_content_error():
            self._tail: Tail = read_tail(size, section)
        self.calendar = self._tail.calendar

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return list(self._tail.row.names)

    @property
    def types(self) -> tuple[OrcType, ...]:
        """Of the columns."""
        return self._tail.row.of

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield rows: dates are days, instants nanoseconds since 1970, maps lists of pairs."""
        with _damage_as_content_error():
            for place in self._tail.stripes:
                stripe = self._stripe(place)
                yield from islice(zip(*(values(one, stripe) for one in self.types), strict=True), place.rows)

    def _stripe(self, place: StripePlace) -> Stripe:
        begin = place.offset + place.length
        pieces = section_pieces(self._section, begin, begin + place.footer)
        footer = message_of(b"".join(self._tail.inflated(pieces)))
        encodings = {number: (one.number(1), one.number(2)) for number, one in enumerate(footer.messages(2))}
        streams: dict[tuple[int, int], Callable[[], ByteStream]] = {}
        at = place.offset
        for one in footer.messages(1):
            streams[one.number(2), one.number(1)] = partial(self._stream, at, at + one.number(3))
            at += one.number(3)
        if at > begin:
            raise ContentError("a stream in it is longer than its stripe")
        return Stripe(streams, encodings, self._most)

    def _stream(self, begin: int, end: int) -> ByteStream:
        return ByteStream(self._tail.inflated(section_pieces(self._section, begin, end)))


@contextmanager
def _damage_as_content_error() -> Iterator[None]:
    try:
        yield
    except (RefusalError, UnicodeDecodeError, RecursionError, LookupError):
        raise ContentError("it is no whole ORC file") from None


@dataclass(frozen=True)
class OrcContent:
    """Rows of an object."""

    rows: RowItems
    may_split_values: bool = False
    sorting: None = None

    @property
    def skips_tombstones(self) -> bool:
        return self.rows.skips_tombstones

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[Item]]:
        places = [place for place, name in enumerate(self.rows.columns) if name not in self.rows.told]
        types = [self._types.get(name) for name in self.rows.columns]
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
            for piece in pieces:
                file.write(piece)
            found = OrcRows(file.tell(), partial(_section, cast("IO[bytes]", file)))
            if found.names != self.rows.columns:
                raise ContentError(f"its columns are {', '.join(found.names)}, not {', '.join(self.rows.columns)}")
            if found.calendar != GREGORIAN:
                raise ContentError("it does not say that its dates are those of today's calendar")
            rows = iter(found)
            while some := list(islice(rows, BATCH_ROWS)):
                yield [tuple(_instants(types[place], row[place], _in_units) for place in places) for row in some]

    def expectation(self) -> Callable[[pa.RecordBatch], list[Item]]:
        names = [name for name in self.rows.columns if name not in self.rows.told]
        types = [self._types.get(name) for name in names]
        expected = self.rows.expectation()

        def as_stored(batch: pa.RecordBatch) -> list[Item]:
            return [
                row
                if len(row) != len(types)  # a value that is no row: it equals nothing that is stored
                else tuple(_instants(type_, one, _whole) for type_, one in zip(types, row, strict=True))
                for row in expected(batch)
            ]

        return as_stored

    def values(self, items: Sequence[Item]) -> list[bytes] | None:
        return self.rows.values(items)

    def offsets(self, items: Sequence[Item]) -> list[Offset] | None:
        return self.rows.offsets(items)

    @cached_property
    def _types(self) -> Mapping[str, Type]:
        return {**self.rows.types, _KAFKA_TIMESTAMP: Timestamp("ms")}


def _section(file: IO[bytes], begin: int, end: int) -> bytes:
    file.seek(begin)
    return file.read(end - begin)


def _instants(type_: Type | None, value: Any, leaf: Callable[[int, int], int]) -> Any:
    """Return a value in which each instant is what `leaf` makes of it, and of how many of its units a second has."""
    match type_, value:
        case _, None:
            return None
        case Timestamp(unit), int():
            return leaf(value, _PER_SECOND[unit])
        case Struct(members), dict():
            return {one.name: _instants(one.type, value[one.name], leaf) for one in members}
        case ListOf(item), list():
            return [_instants(item, one, leaf) for one in value]
        case MapOf(inner), list():
            return [(name, _instants(inner, one, leaf)) for name, one in value]
        case _:
            return value


def _in_units(nanoseconds: int, per_second: int) -> int:
    """Return what stands in a file in the units of its schema."""
    found, rest = divmod(nanoseconds * per_second, 10**9)
    if rest:
        raise ContentError("an instant in it is finer than its schema")
    return found


def _whole(instant: int, per_second: int) -> int:
    """Return what of an instant is stored: no fraction of a second before 1970, and very far off only even seconds."""
    second = instant // per_second
    is_far = abs(second) > _MOST_SECONDS
    if instant >= 0 and not is_far:
        return instant
    earliest = -(2**63 // (2 * per_second)) * 2  # of what 64 bits hold
    return max(second - second % 2 if is_far else second, earliest) * per_second
