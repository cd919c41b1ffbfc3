"""Compares the rows of a table with the records in Kafka: each record that the table should have is one live row.

Rows are found by partition and offset, so it does not matter which files they are in: other engines may have compacted
them. What each record should be is found out as for objects (`verify.content`), by the revision that has stored it.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast
from urllib.parse import unquote

import pyarrow as pa

from logpersister.formats.file_rows import plain
from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.verify.comparison import rows_of, same, shortened
from logpersister.verify.content import content_of
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.missing_offsets import Reader
from logpersister.verify.writing import Writing

CHUNK: Final = 20_000
"""Records that are compared at once: they, and their rows, are in memory."""
MOST_FINDINGS: Final = 10
"""Findings of one partition of a table: what is wrong with one row is often wrong with many."""
_OFFSET: Final = "kafka_offset"


class Rows(Protocol):
    """The rows of a table (`tables.live_rows`)."""

    @property
    def columns(self) -> Mapping[int, str]: ...

    def of(self, partition: int, start: Offset, end: Offset) -> pa.Table: ...


@dataclass(frozen=True, slots=True)
class FileColumns:
    """What the files of a revision have for a table."""

    schema: pa.Schema
    """Their columns, as they are declared."""
    field_ids: Mapping[str, int]
    """Numbers by which the table knows columns."""
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range of which the table should have all rows."""

    range: Range
    generation: int
    records: Mapping[str, int]
    """Rows of each object that is a file of the table, by its path."""
    values: Mapping[str, tuple[str | None, ...]]
    """Values of the columns that folders name, by path."""
    writing: Writing
    columns: FileColumns
    horizon: int | None = None
    """By which its late records were told apart; None: none came late."""

    @property
    def rows(self) -> int:
        return sum(self.records.values())


@dataclass(slots=True)
class RowsResult:
    """What came out for a table."""

    findings: list[Finding] = field(default_factory=list)
    compared: int = 0
    """Rows that are what their records should be."""
    not_in_kafka: int = 0
    """Rows whose records Kafka has no more: they were counted."""


class TableRows:
    """The comparison of one table."""

    def __init__(self, table: str, rows: Rows, reader: Reader, readable: Mapping[int, Range]) -> None:
        self._table = table
        self._rows = rows
        self._reader = reader
        self._readable = readable

    def compare(self, ranges: Iterable[StoredRange]) -> RowsResult:
        """Compare the rows of ranges of one topic. Raises `TableError`."""
        result = RowsResult()
        by_partition: defaultdict[TopicPartition, list[StoredRange]] = defaultdict(list)
        for one in ranges:
            by_partition[one.range.partition].append(one)
        for partition, of_partition in sorted(by_partition.items()):
            found, counted = list[Finding](), Counter[int]()
            for start, end in _chunks(of_partition):
                some = {
                    place: one
                    for place, one in enumerate(of_partition)
                    if one.range.start < end and one.range.end > start
                }
                chunk = _Chunk(self._table, partition, start, end, some, found, counted)
                self._compare(chunk, result)
            found += self._counted(of_partition, counted)
            result.findings += found[:MOST_FINDINGS]
            if len(found) > MOST_FINDINGS:
                last = found[-1]
                more = f"table {self._table}: {len(found) - MOST_FINDINGS} more rows of this partition are wrong"
                result.findings.append(Finding(last.kind, partition, last.start, last.end, more))
        return result

    def _compare(self, chunk: "_Chunk", result: RowsResult) -> None:
        rows = self._rows.of(chunk.partition.partition, chunk.start, chunk.end).sort_by(_OFFSET)
        first, end = self._known(chunk.partition, chunk.start, chunk.end)
        offsets: list[Any] = rows.column(_OFFSET).to_pylist()
        begin, stop = bisect_left(offsets, first), bisect_left(offsets, end)
        beyond = [*offsets[:begin], *offsets[stop:]]
        chunk.count(beyond)
        result.not_in_kafka += len(beyond)
        if first < end:
            try:
                expected = list(self._expected(chunk, Range(chunk.partition, first, end)))
            except RangeReadError as error:
                told = (
                    f"records could not be read from Kafka ({error}), so rows of table {self._table} were not compared"
                )
                chunk.findings.append(Finding(Kind.UNREADABLE, chunk.partition, first, end, told))
                return
            result.compared += chunk.match(rows.slice(begin, stop - begin), self._rows.columns, expected)

    def _known(self, partition: TopicPartition, start: Offset, end: Offset) -> tuple[Offset, Offset]:
        """Return which of some offsets Kafka has; the same one twice where it has none."""
        readable = self._readable.get(partition.partition)
        if readable is None or readable.end <= start or readable.start >= end:
            return end, end
        return max(start, readable.start), min(end, readable.end)

    def _counted(self, ranges: Sequence[StoredRange], counted: Mapping[int, int]) -> Iterator[Finding]:
        """Yield where rows are missing of which Kafka has no record any more; of one generation each can be counted."""
        if len({one.generation for one in ranges}) > 1:
            return
        for place, one in enumerate(ranges):
            of, rows = one.range, counted.get(place, 0)
            first, end = self._known(of.partition, of.start, of.end)
            if first == end and rows < one.rows:
                told = f"table {self._table} has {rows} of its {one.rows} rows, whose records Kafka has no more"
                yield Finding(Kind.NOT_IN_TABLE, of.partition, of.start, of.end, told)

    def _expected(self, chunk: "_Chunk", wanted: Range) -> "Iterator[_Expected]":
        for read in self._reader.read([ReadRequest(wanted, 1 << 20)]):
            for batch in read.batches():
                if batch.num_rows:
                    yield from _of_batch(batch, chunk)


@dataclass(frozen=True, slots=True)
class _Expected:
    columns: FileColumns
    values: tuple[str | None, ...]
    offsets: Sequence[Offset]
    items: Sequence[Any]
    generation: int


def _of_batch(batch: pa.RecordBatch, chunk: "_Chunk") -> Iterator[_Expected]:
    for one in chunk.ranges.values():
        offsets = cast("Any", batch.column("offset").to_numpy())
        inside = batch.filter(pa.array((offsets >= one.range.start) & (offsets < one.range.end)))
        if not inside.num_rows:
            continue
        for path, rows in by_path(inside, one.writing.layout_at(one.horizon)):
            if path not in one.records:
                continue
            content = content_of(one.writing, chunk.partition, path)
            found = content.expectation()(rows)
            yield _Expected(one.columns, one.values[path], content.offsets(found) or (), rows_of(found), one.generation)


@dataclass(slots=True)
class _Chunk:
    """Some offsets of a partition, and the ranges that have some of them."""

    table: str
    partition: TopicPartition
    start: Offset
    end: Offset
    ranges: Mapping[int, StoredRange]
    """By their places among those of the partition."""
    findings: list[Finding]
    counted: Counter[int]
    """Rows of ranges, by place, of which Kafka has no record any more."""

    def count(self, offsets: Sequence[Offset]) -> None:
        """Count rows whose records Kafka has no more: no more than one for each range that has an offset."""
        for at, count in Counter(offsets).items():
            of = [place for place, one in self.ranges.items() if one.range.start <= at < one.range.end]
            if count > len(of):
                self._tell(Kind.TWICE_IN_TABLE, at, f"has {count} rows of it, and {len(of)} should be there")
            self.counted.update(dict.fromkeys(of, 1))

    def match(self, rows: pa.Table, names: Mapping[int, str], expected: Sequence[_Expected]) -> int:
        """Find the row of each record; return how many are what they should be."""
        at: list[Any] = rows.column(_OFFSET).to_pylist()
        left: defaultdict[Offset, list[int]] = defaultdict(list)
        for place, offset in enumerate(at):
            left[offset].append(place)
        items = _Items(rows, names)
        compared = 0
        for some in expected:
            try:
                found = items.of(some.columns)
            except (pa.ArrowException, KeyError) as error:
                told = f"columns of table {self.table} cannot be compared with what was stored: {error}"
                self.findings.append(Finding(Kind.UNREADABLE, self.partition, self.start, self.end, told))
                return compared
            for offset, item in zip(some.offsets, some.items, strict=True):
                compared += self._match(offset, (*item, *some.values), left[offset], found)
        for offset, places in left.items():
            if places:
                told = f"has {len(places)} rows of it more than there should be"
                self._tell(Kind.TWICE_IN_TABLE, offset, told)
        return compared

    def _match(self, offset: Offset, item: tuple[Any, ...], places: list[int], found: Sequence[Any]) -> bool:
        for place in places:
            if same(found[place], item):
                places.remove(place)
                return True
        if not places:
            self._tell(Kind.NOT_IN_TABLE, offset, "has no row of it")
            return False
        row = found[places.pop(0)]
        column = next((number for number, pair in enumerate(zip(row, item, strict=True)) if not same(*pair)), 0)
        told = f"has {shortened(row[column])} where Kafka has {shortened(item[column])}"
        self._tell(Kind.WRONG_CONTENT, offset, told)
        return False

    def _tell(self, kind: Kind, offset: Offset, what: str) -> None:
        self.findings.append(Finding(kind, self.partition, offset, offset + 1, f"table {self.table} {what}"))


class _Items:
    def __init__(self, rows: pa.Table, names: Mapping[int, str]) -> None:
        self._rows = rows
        self._names = names
        self._known: dict[int, tuple[FileColumns, list[Any]]] = {}

    def of(self, columns: FileColumns) -> Sequence[Any]:
        """Return one item for each row. Raises KeyError, pa.ArrowException."""
        known = self._known.get(id(columns))
        if known is None:
            values = [self._column(self._names[columns.field_ids[one.name]], one.type) for one in columns.schema]
            values += [self._column(name, pa.string()) for name in columns.folders]
            found = list(zip(*values, strict=True)) if self._rows.num_rows else []
            known = self._known[id(columns)] = columns, found
        return known[1]

    def _column(self, name: str, type_: Any) -> list[Any]:
        chunks = self._rows.column(name).chunks
        found: list[Any] = [item for one in chunks for item in plain(adapted(one, type_)).to_pylist()]
        return found


def adapted(array: Any, to: pa.DataType) -> Any:
    """Return an array in another type that holds its values: tables may have wider numbers, units, and more members.

    Raises pa.ArrowException where it does not hold them, KeyError for a member that is missing.
    """
    type_: Any = to
    if not (pa.types.is_nested(to) and pa.types.is_nested(array.type)):
        return array.cast(to)
    if pa.types.is_struct(to):
        inner = [adapted(_member(array, one.name), one.type) for one in type_]
        fields = [pa.field(one.name, value.type) for one, value in zip(type_, inner, strict=True)]
        return pa.StructArray.from_arrays(inner, fields=fields, mask=array.is_null())
    array = array.take(pa.array(range(len(array)), pa.int64()))  # so that its offsets begin with its items
    if pa.types.is_map(to):
        keys, items = adapted(array.keys, type_.key_type), adapted(array.items, type_.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, mask=array.is_null())
    items = adapted(array.values, type_.value_type)
    return pa.ListArray.from_arrays(array.offsets.cast(pa.int32()), items, mask=array.is_null())


def _member(array: Any, name: str) -> Any:
    place = array.type.get_field_index(name)
    if place < 0:
        raise KeyError(name)
    return array.flatten()[place]


def _chunks(ranges: Sequence[StoredRange]) -> Iterator[tuple[Offset, Offset]]:
    """Yield stretches of offsets that together cover ranges, each with about `CHUNK` of their records at most."""
    first, *others = sorted(piece for one in ranges for piece in _pieces(one))
    begin, end, weight = first
    for start, piece_end, records in others:
        if start > end or (weight + records > CHUNK and start > begin):
            yield begin, min(start, end)
            begin, weight = start, 0
        end, weight = max(end, piece_end), weight + records
    yield begin, end


def _pieces(one: StoredRange) -> Iterator[tuple[Offset, Offset, int]]:
    span = one.range.end - one.range.start
    step = max(1, min(span, span * CHUNK // max(1, one.rows)))
    for start in range(one.range.start, one.range.end, step):
        yield start, min(start + step, one.range.end), one.rows * step // span


def folder_values(path: str) -> tuple[str | None, ...]:
    """Return what the folders of a path say, outermost first; None where one says that there is nothing."""
    names = [segment.split("=", 1)[-1] for segment in path.split("/")] if path else []
    return tuple(None if name == "__HIVE_DEFAULT_PARTITION__" else unquote(name) for name in names)
