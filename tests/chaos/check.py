"""The examination: is each record that Kafka holds in exactly one object, in its place, and nothing else anywhere?

Pure, and of nobody's family: it looks at names and content of objects, at what kafka-python's consumer has read, and at
committed offsets. An object's metadata is not looked at: where its range ends follows from where the next one begins.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

TopicPartition = tuple[str, int]
Digest = bytes
"""Stands for a key or a value: a run reads gigabytes."""
_SHOWN = 3


def digest(content: bytes) -> Digest:
    return blake2b(content, digest_size=12).digest()


EMPTY = digest(b"")


class Seen(NamedTuple):
    """A record as Kafka's consumer has given it; aborted ones are not among them."""

    offset: int
    timestamp: int
    """Milliseconds since the epoch."""
    key: Digest | None
    value: Digest | None
    place: str | None = ""
    """Folder that its content asks for, where a judge of contents has looked (`contents`); None: it is left out."""
    content: Digest | None = None
    """Its row, as that judge has it; None: it leaves no row."""
    version: int = 0
    """Of the schema by which it was written; 0: none."""
    if_late: Digest | None = None
    """Its row in quarantine, if it came late and that is where late records go."""
    is_apart: bool = False
    """Whether it came late and stands apart (`late`)."""


def seen_as(record: Any, place: str | None = "", content: Digest | None = None, version: int = 0) -> Seen:
    """Return a record as kafka-python's consumer has given it, with what a judge of contents says of it."""
    key, value = (None if one is None else digest(one) for one in (record.key, record.value))
    return Seen(record.offset, record.timestamp, key, value, place, content, version)


class Row(NamedTuple):
    """A record as it stands in an object: as much of it as the format keeps."""

    value: Digest
    offset: int | None = None
    timestamp: int | None = None
    key: Digest | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """One object: what its name says, and its records."""

    name: str
    topic: str
    partition: int
    generation: int
    start: int
    path: str
    """Folders between topic and file, without slashes at the ends."""
    rows: Sequence[Row]
    replay: str = ""
    """Which replay of quarantine has written it; "": a member."""
    version: int = 0
    """Of the schema whose columns it has; 0: none."""

    @property
    def of(self) -> TopicPartition:
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Progress:
    """A partition when everything has come to rest."""

    committed: int
    pending: Sequence[int]
    """Ends of ranges that are promised and not committed."""
    end: int
    """Kafka's last stable offset."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which the promise is broken."""

    kind: str
    """missing, duplicate, aborted, foreign, changed, order, place, name, schema, behind, pending."""
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.message}"


class Layout(Protocol):
    """What objects should look like."""

    def path(self, record: Seen) -> str | None:
        """Return the folder of a record; None if it is left out."""

    def row(self, record: Seen) -> Row | None:
        """Return the record as it stands in an object; None if it leaves no trace there."""


class TextByDay:
    """Text in a folder a day (UTC); null values are left out, but not their object."""

    def path(self, record: Seen) -> str:
        return f"dt={datetime.fromtimestamp(record.timestamp / 1000, UTC):%Y-%m-%d}"

    def row(self, record: Seen) -> Row | None:
        return Row(record.value) if record.value is not None else None


class SequenceFiles:
    """Sequence files with MessagePack keys, or record batches, and no folders; null and empty values look the same."""

    def path(self, record: Seen) -> str:
        return ""

    def row(self, record: Seen) -> Row | None:
        return Row(record.value if record.value is not None else EMPTY, record.offset, record.timestamp, record.key)


class ByContent:
    """Rows in folders, as a judge of contents has found them."""

    def path(self, record: Seen) -> str | None:
        return record.place

    def row(self, record: Seen) -> Row | None:
        if record.content is None:
            return None
        return Row(record.content, record.offset, record.timestamp, record.key)


def examine(
    objects: Iterable[Stored],
    kafka: Mapping[TopicPartition, Sequence[Seen]],
    progress: Mapping[TopicPartition, Progress],
    layout: Layout,
    *,
    aborted: AbstractSet[Digest] = frozenset(),
    generation: int | None = 1,
) -> list[Problem]:
    """Return every way in which the objects are not what they must be; none is the promise held.

    Args:
        objects: everything below the prefix but what the group notes for itself.
        kafka: what a consumer with ``read_committed`` reads, in offset order.
        progress: where the group stands in each partition.
        layout: what objects should look like.
        aborted: values of aborted transactions, to call them by their name when they are met.
        generation: the only one that there should be; None: whichever counts.
    """
    by_partition: dict[TopicPartition, list[Stored]] = {}
    for one in objects:
        by_partition.setdefault(one.of, []).append(one)
    problems: list[Problem] = []
    for of in sorted(kafka.keys() | by_partition.keys()):
        problems += _progress_problems(of, progress.get(of))
        committed = progress[of].committed if of in progress else 0
        partition = _Partition(of, kafka.get(of, ()), by_partition.get(of, []), committed, layout, aborted, generation)
        problems += partition.problems()
    return problems


def _progress_problems(of: TopicPartition, progress: Progress | None) -> Iterator[Problem]:
    where = _name(of)
    if progress is None:
        yield Problem("behind", where, "nothing is committed")
        return
    if progress.committed != progress.end:
        yield Problem("behind", where, f"{progress.committed} is committed, the partition ends at {progress.end}")
    if progress.pending:
        yield Problem("pending", where, f"ranges up to {list(progress.pending)} are promised and not stored")


@dataclass(frozen=True)
class _Partition:
    of: TopicPartition
    records: Sequence[Seen]
    objects: Sequence[Stored]
    committed: int
    layout: Layout
    aborted: AbstractSet[Digest]
    generation: int | None

    @cached_property
    def known(self) -> AbstractSet[Digest | None]:
        """What records and rows there are, and the empty value."""
        return {one for record in self.records for one in (record.value, record.content)} | {EMPTY}

    def problems(self) -> Iterator[Problem]:
        places: dict[tuple[int, str], Stored] = {}
        yield from self._versions()
        for one in self.objects:
            if one.replay and _is_unordered(one.rows):
                yield Problem("order", one.name, "its records are not in the order of their offsets")
        for one in _with_replays(self.objects):
            if self.generation not in (None, one.generation):
                yield Problem("name", one.name, f"is of generation {one.generation}; expected {self.generation}")
            if one.start >= self.committed:
                yield Problem("place", one.name, f"begins behind what is committed, {self.committed}")
            other = places.setdefault((one.start, one.path), one)
            if other is not one:
                yield Problem("duplicate", one.name, f"has the range and the folder of {other.name}")
        starts = sorted({start for start, _ in places})
        yield from self._before(starts[0] if starts else None)
        ranges = dict(zip(starts, self._cut(starts), strict=True))
        for place, one in sorted(places.items(), key=lambda item: item[0]):
            yield from self._compare(one, ranges[one.start].pop(place[1], []))
        for start, left in ranges.items():
            for path, records in left.items():
                where = f"{_name(self.of)} {path} from {start}"
                yield Problem("missing", where, f"no object, but Kafka has {_offsets(records)}")

    def _versions(self) -> Iterator[Problem]:
        """All rows of a range have the columns of one schema, however many folders they are in."""
        versions: dict[int, Stored] = {}
        for one in self.objects:
            if one.version and not one.replay:
                other = versions.setdefault(one.start, one)
                if other.version != one.version:
                    message = f"has the columns of version {one.version}, and {other.name} those of {other.version}"
                    yield Problem("schema", one.name, message)

    def _before(self, first: int | None) -> Iterator[Problem]:
        before = (record for record in self.records if first is None or record.offset < first)
        uncovered = [record for record in before if self.layout.path(record) is not None]
        if uncovered:
            which = "no object at all" if first is None else f"objects begin at {first}"
            yield Problem("missing", _name(self.of), f"{which}, but Kafka has {_offsets(uncovered)}")

    def _cut(self, starts: Sequence[int]) -> Iterator[dict[str, list[Seen]]]:
        """Yield the records of each range, by folder. A range ends where the next one begins."""
        records = iter(self.records)
        record = next(records, None)
        while record is not None and starts and record.offset < starts[0]:
            record = next(records, None)
        for end in [*starts[1:], None][: len(starts)]:
            folders: dict[str, list[Seen]] = {}
            while record is not None and (end is None or record.offset < end):
                path = self.layout.path(record)
                if path is not None:
                    folders.setdefault(path, []).append(record)
                record = next(records, None)
            yield folders

    def _compare(self, one: Stored, records: Sequence[Seen]) -> Iterator[Problem]:
        newest = max((record.version for record in records), default=0)
        if one.version and newest > one.version:
            yield Problem("schema", one.name, f"has the columns of version {one.version}, and records of {newest}")
        laid = [(row, record) for record in records if (row := self.layout.row(record)) is not None]
        expected = [row for row, _ in laid]
        if list(one.rows) == expected:
            if not records:
                yield Problem("place", one.name, "holds nothing, and Kafka has nothing there: why does it exist?")
            return
        surplus = Counter(one.rows) - Counter(expected)
        lacking = Counter(expected) - Counter(one.rows)
        if not surplus and not lacking:
            place = next(at for at, (left, right) in enumerate(zip(one.rows, expected, strict=True)) if left != right)
            yield Problem("order", one.name, f"its records are in another order from offset {laid[place][1].offset} on")
            return
        found = Counter(dict.fromkeys(("duplicate", "aborted", "foreign"), 0))
        for row, count in surplus.items():
            found[self._surplus_kind(row, expected)] += count
        if found["foreign"] and found["foreign"] == lacking.total():
            found["changed"] = found.pop("foreign")
            lacking.clear()
        for kind, count in found.items():
            if count:
                yield Problem(kind, one.name, f"{count} of its {len(one.rows)} records; {_MEANING[kind]}")
        if lacking:
            missing = list(_unmatched(laid, one.rows))
            yield Problem("missing", one.name, f"does not hold {lacking.total()} records, such as {_offsets(missing)}")

    def _surplus_kind(self, row: Row, expected: Sequence[Row]) -> str:
        if row.value in self.aborted and row.value not in self.known:
            return "aborted"
        if row in expected:
            return "duplicate"
        if row.value in self.known and row.value != EMPTY:
            return "duplicate"
        return "foreign"


def _with_replays(objects: Iterable[Stored]) -> Iterator[Stored]:
    """Yield one object for each range and folder: what replays have put beside a member's belongs to it."""
    found: dict[tuple[int, int, str], list[Stored]] = {}
    for one in objects:
        found.setdefault((one.generation, one.start, one.path), []).append(one)
    for same in found.values():
        first, *others = same
        if len({one.replay for one in same}) < len(same):
            yield from same
        elif not others:
            yield first
        else:
            rows = sorted((row for one in same for row in one.rows), key=lambda row: row.offset or 0)
            yield replace(first, name=" and ".join(one.name for one in same), rows=rows)


def _is_unordered(rows: Sequence[Row]) -> bool:
    offsets = [row.offset or 0 for row in rows]
    return offsets != sorted(offsets)


_MEANING = {
    "duplicate": "they belong elsewhere, or are in it more than once",
    "aborted": "of aborted transactions",
    "foreign": "that Kafka does not have in this partition",
    "changed": "are not what Kafka has at their place",
}


def _unmatched(laid: Iterable[tuple[Row, Seen]], rows: Iterable[Row]) -> Iterator[Seen]:
    """Yield the records for which there is no row (any more)."""
    left = Counter(rows)
    for row, record in laid:
        if left[row] > 0:
            left[row] -= 1
        else:
            yield record


def _offsets(records: Sequence[Seen]) -> str:
    shown = ", ".join(str(record.offset) for record in records[:_SHOWN])
    more = f" and {len(records) - _SHOWN} more" if len(records) > _SHOWN else ""
    return f"offset {shown}{more}"


def _name(of: TopicPartition) -> str:
    return f"{of[0]}-{of[1]}"
