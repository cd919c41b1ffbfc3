"""What an Avro file holds, as items that can be compared with records; docs/formats.md says what it should."""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any, Final

import pyarrow as pa

from logpersister.manifest.types import ListOf, MapOf, Struct, Timestamp, Type
from logpersister.ranges import Offset
from logpersister.verify.avro_container import LARGEST_BLOCK, Container, read_container
from logpersister.verify.avro_input import Cursor
from logpersister.verify.avro_schema import NoSchemaError, WrittenType, read_schema
from logpersister.verify.refusal import RefusalError
from logpersister.verify.row_items import Item, RowItems
from logpersister.verify.streams import ContentError

BATCH_ROWS: Final = 1024


@dataclass(frozen=True)
class AvroContent:
    """Rows of an object."""

    rows: RowItems
    may_split_values: bool = False
    sorting: None = None

    @property
    def skips_tombstones(self) -> bool:
        return self.rows.skips_tombstones

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[Item]]:
        places = [place for place, name in enumerate(self.rows.columns) if name not in self.rows.told]
        of_value = self.rows.types
        types = [of_value.get(name) for name in self.rows.columns]
        for rows in read_rows(pieces, BATCH_ROWS):
            if rows.names != self.rows.columns:
                raise ContentError(f"its fields are {', '.join(rows.names)}, not {', '.join(self.rows.columns)}")
            yield [tuple(_in_units(types[place], row[place]) for place in places) for row in rows.values]

    def expectation(self) -> Callable[[pa.RecordBatch], list[Item]]:
        return self.rows.expectation()

    def values(self, items: Sequence[Item]) -> list[bytes] | None:
        return self.rows.values(items)

    def offsets(self, items: Sequence[Item]) -> list[Offset] | None:
        return self.rows.offsets(items)


@dataclass(frozen=True, slots=True)
class Rows:
    """Consecutive rows of a file, and what it says of them."""

    record: WrittenType
    values: list[tuple[Any, ...]]

    @property
    def names(self) -> list[str]:
        """Of its fields."""
        return [name for name, _ in self.record.fields]


def read_rows(pieces: Iterable[bytes], at_once: int, most_inflated: int = LARGEST_BLOCK) -> Iterator[Rows]:
    """Yield the rows of a file, at least once, so many at once. Raises `ContentError`.

    Dates, times and timestamps are integers, maps are lists of pairs.
    """
    container = read_container(pieces, most_inflated)
    record = _record(container)
    yield Rows(record, [])
    for rows, cursor in container.blocks:
        try:
            for begin in range(0, rows, at_once):
                count = min(at_once, rows - begin)
                yield Rows(record, [tuple(_value(type_, cursor) for _, type_ in record.fields) for _ in range(count)])
        except (RefusalError, UnicodeDecodeError, RecursionError):
            raise ContentError("a row in it is damaged") from None


def _record(container: Container) -> WrittenType:
    try:
        record = read_schema(container.schema)
    except NoSchemaError:
        raise ContentError("its schema is none of Avro") from None
    if record.kind != "record":
        raise ContentError("its schema is no record")
    return record


def _value(written: WrittenType, cursor: Cursor) -> Any:
    match written.kind:
        case "record":
            return {name: _value(type_, cursor) for name, type_ in written.fields}
        case "union":
            return _value(written.of[cursor.place(len(written.of))], cursor)
        case "array":
            return [_value(written.of[0], cursor) for _ in cursor.items()]
        case "map":
            return [(cursor.sized().decode(), _value(written.of[0], cursor)) for _ in cursor.items()]
        case "bytes" if isinstance(written.logical, tuple):
            unscaled = int.from_bytes(cursor.sized(), "big", signed=True)
            return Number((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -written.logical[1]))
        case kind if kind in _READS:
            return _READS[kind](cursor)
        case kind:
            raise ContentError(f"its schema has the type {kind}")


def _in_units(type_: Type | None, value: Any) -> Any:
    """Return a value in the units of its schema: Avro has no seconds, and files milliseconds instead."""
    match type_, value:
        case _, None:
            return None
        case Timestamp("s"), _:
            seconds, rest = divmod(value, 1000)
            if rest:
                raise ContentError("a timestamp in it is no whole second")
            return seconds
        case Struct(members), _:
            return {one.name: _in_units(one.type, value[one.name]) for one in members}
        case ListOf(item), _:
            return [_in_units(item, one) for one in value]
        case MapOf(inner), _:
            return [(name, _in_units(inner, one)) for name, one in value]
        case _:
            return value


_READS: Final[Mapping[str, Callable[[Cursor], Any]]] = {
    "null": lambda _: None,
    "boolean": Cursor.boolean,
    "int": Cursor.int32,
    "long": Cursor.int64,
    "float": lambda cursor: struct.unpack("<f", cursor.take(4))[0],
    "double": lambda cursor: struct.unpack("<d", cursor.take(8))[0],
    "bytes": Cursor.sized,
    "string": lambda cursor: cursor.sized().decode(),
}
