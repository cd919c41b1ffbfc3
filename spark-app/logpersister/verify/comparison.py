"""Compares what objects hold with what records of Kafka become, both as record batches. Pure."""

import math
import sys
import zlib
from abc import ABC, abstractmethod
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from logpersister.formats.damage import ContentError
from logpersister.formats.file_rows import plain
from logpersister.formats.orc.read import FarInstantError, has_far_instants
from logpersister.ranges import Offset
from logpersister.records.checksum import PayloadChecksum
from logpersister.storage.facts import ObjectFacts
from logpersister.verify.content import Content


@dataclass(slots=True)
class Tally:
    """The facts of an object, as Kafka's records give them."""

    records: int = 0
    tombstones: int = 0
    first: Offset = -1
    last: Offset = -1
    checksum: PayloadChecksum = field(default_factory=PayloadChecksum)

    def add(self, batch: pa.RecordBatch) -> None:
        if self.records == 0:
            self.first = batch.column("offset")[0].as_py()
        self.last = batch.column("offset")[-1].as_py()
        self.records += batch.num_rows
        self.tombstones += batch.column("value").null_count
        self.checksum.update(batch)

    def differences(self, facts: ObjectFacts) -> list[str]:
        """Return what the facts of an object say otherwise."""
        mine = (self.records, self.first, self.last, self.tombstones, self.checksum.text(), self.checksum.sizes)
        checksum = facts.checksum if facts.checksum_is_of_payloads else None
        theirs = (facts.records, facts.first, facts.last, facts.tombstones, checksum, facts.payload)
        names = ("records", "first", "last", "tombstones", "checksum", "payload")
        return [
            f"{name} {said} where Kafka has {true}"
            for name, said, true in zip(names, theirs, mine, strict=True)
            if said is not None and said != true
        ]


class Comparison(ABC):
    """An object, and the records of Kafka that it should hold; after a difference nothing is compared any more."""

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        self._expected = content.expectation()
        self._stored = stored
        self.difference: str | None = None
        self._has_met_far_instant = False

    @property
    def is_unreadable(self) -> bool:
        """Whether this is no difference, but an instant that cannot be read back."""
        return self._has_met_far_instant

    def add(self, batch: pa.RecordBatch) -> None:
        """Compare the next records."""
        self._guarded(lambda: self._compare(batch))

    def finish(self) -> None:
        """Compare the end."""
        self._guarded(self._end)

    def _guarded(self, compare: Callable[[], str | None]) -> None:
        if self.difference is None:
            try:
                self.difference = compare()
            except ContentError as error:
                self.difference = str(error)
                self._has_met_far_instant = isinstance(error, FarInstantError)

    @abstractmethod
    def _compare(self, batch: pa.RecordBatch) -> str | None:
        """Return the first difference of these records. Raises `ContentError`."""

    @abstractmethod
    def _end(self) -> str | None:
        """Return the first difference behind all records. Raises `ContentError`."""


class ExactComparison(Comparison):
    """An object must hold these records, all of them, in this order, and nothing else."""

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        super().__init__(content, stored)
        self._offsets_of = content.offsets
        self._ahead: pa.RecordBatch | None = None
        """Rows that were read and not compared yet; None: none."""
        self._kafka_has_far_instant = False

    @property
    def is_unreadable(self) -> bool:
        return self._kafka_has_far_instant

    def add(self, batch: pa.RecordBatch) -> None:
        super().add(batch)
        if self._has_met_far_instant and not self._kafka_has_far_instant:
            self._kafka_has_far_instant = has_far_instants(self._expected(batch))

    def _compare(self, batch: pa.RecordBatch) -> str | None:
        expected, done = self._expected(batch), 0
        while done < expected.num_rows:
            found = self._take(expected.num_rows - done)
            wanted = expected.slice(done, 0 if found is None else found.num_rows)
            if found is None or not alike(found, wanted):
                return self._describe(batch, expected, done, found)
            done += wanted.num_rows
        return None

    def _end(self) -> str | None:
        return None if self._take(1) is None else "it holds more than Kafka's records"

    def _take(self, most: int) -> pa.RecordBatch | None:
        """Return the next rows, at least one and at most so many; None: there are no more."""
        ahead = self._ahead
        while ahead is None or not ahead.num_rows:
            ahead = next(self._stored, None)
            if ahead is None:
                return None
        taken, self._ahead = ahead.slice(0, most), ahead.slice(most)
        return taken

    def _describe(
        self, batch: pa.RecordBatch, expected: pa.RecordBatch, done: int, found: pa.RecordBatch | None
    ) -> str:
        wanted = rows_of(expected.slice(done, 0 if found is None else found.num_rows))
        first, item = done, None
        if found is not None:
            at, item = next((place, one) for place, one in enumerate(rows_of(found)) if not same(one, wanted[place]))
            first += at
        offsets, kept = batch.column("offset"), self._offsets_of(expected)
        if kept is not None:
            where = f"at offset {kept[first]}"
        elif expected.num_rows == len(offsets):  # else tombstones are left out, or values are of several lines
            where = f"at offset {offsets[first].as_py()}"
        else:
            where = f"between offsets {offsets[0].as_py()} and {offsets[-1].as_py()}"
        if found is None:
            return f"it ends before the record {where}"
        return f"{where} it holds {shortened(item)}, Kafka {shortened(wanted[first - done])}"


class PartialComparison(Comparison):
    """An object must hold these records, in this order, and may hold more: Kafka has deleted some since."""

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        super().__init__(content, stored)
        self._rows = (row for batch in stored for row in rows_of(batch))

    def _compare(self, batch: pa.RecordBatch) -> str | None:
        for expected in rows_of(self._expected(batch)):
            if not any(same(row, expected) for row in self._rows):
                first, last = batch.column("offset")[0].as_py(), batch.column("offset")[-1].as_py()
                return f"it lacks {shortened(expected)}, which Kafka has between offsets {first} and {last}"
        return None

    def _end(self) -> None:
        deque(self._rows, maxlen=0)


class OwnFacts:
    """Whether what an object holds agrees with its own facts, as far as the format keeps what they are about."""

    def __init__(self, content: Content, facts: ObjectFacts) -> None:
        self._content = content
        self._facts = facts
        self._items = 0
        self._next_offset = facts.first
        self._bytes = self._lengths = 0
        self._values_are_kept = True

    def through(self, stored: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass the rows on. Raises `ContentError`."""
        for rows in stored:
            self._items += rows.num_rows
            in_order = self._in_order(rows)
            values = None if in_order is None else self._content.values(in_order)
            if values is None:
                self._values_are_kept = False
            else:
                self._bytes = zlib.crc32(b"".join(values), self._bytes)
                self._lengths = zlib.crc32(_little_endian(map(len, values)), self._lengths)
            self._look_at(None if in_order is None else self._content.offsets(in_order))
            yield rows

    def _in_order(self, rows: pa.RecordBatch) -> pa.RecordBatch | None:
        """Return rows in the order of offsets; None: it is not known."""
        if not self._content.sorting:
            return rows
        offsets = self._content.offsets(rows)
        return None if offsets is None else rows.take(np.argsort(offsets, kind="stable"))

    def _look_at(self, offsets: Sequence[Offset] | None) -> None:
        """Raise `ContentError` unless these offsets follow those before and are in the object's range."""
        for offset in offsets or ():
            if not self._next_offset <= offset <= self._facts.last:
                wanted = f"{self._next_offset}..{self._facts.last}"
                raise ContentError(f"it holds offset {offset} where its facts ask for one in {wanted}")
            self._next_offset = offset + 1

    @property
    def surplus(self) -> int:
        """Items more than records: lines, where values contain the delimiter."""
        facts = self._facts
        return self._items - (facts.records - (facts.tombstones or 0) * self._content.skips_tombstones)

    def difference(self) -> str | None:
        """Return what is wrong once everything went through; None also where nothing can be said (`surplus`)."""
        if self.surplus < 0:
            return f"it holds {self._items} records where its facts ask for {self._items - self.surplus}"
        if self.surplus > 0:
            more = f"it holds {self._items} records where its facts ask for {self._items - self.surplus}"
            return None if self._content.may_split_values else more
        if not self._values_are_kept:
            return None
        of_bytes, of_lengths, *_ = self._facts.checksum.removeprefix("crc32:").split("-")
        nulls_are_lost = bool(self._facts.tombstones)
        if of_bytes != f"{self._bytes:08x}" or (of_lengths != f"{self._lengths:08x}" and not nulls_are_lost):
            return "what it holds does not have the checksum of its facts"
        return None


def _little_endian(lengths: Iterable[int]) -> bytes:
    packed = array("i", lengths)
    assert packed.itemsize == 4
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def rows_of(batch: pa.RecordBatch) -> list[Any]:
    """Return the rows of a batch: what is in its only column, or what is in each of its columns."""
    columns = [plain(column).to_pylist() for column in batch.columns]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def alike(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Return whether batches with the same columns have the same rows; NaN is the same as NaN."""
    pairs = zip(one.columns, other.columns, strict=True)
    return all(mine.equals(its) for mine, its in pairs) or same(rows_of(one), rows_of(other))


def same(one: Any, other: Any) -> bool:
    """Return whether items are the same, also where a number in them is NaN, which is equal to nothing."""
    if one == other:
        return True
    if isinstance(one, float) and isinstance(other, float):
        return math.isnan(one) and math.isnan(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return False


def shortened(item: Any) -> str:
    """Return an item as a message may show it."""
    text = repr(item)
    return text if len(text) <= 80 else text[:77] + "…"
