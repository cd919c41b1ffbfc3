"""Compares objects whose row groups are sorted with records of Kafka. Pure.

Memory: the items of one row group of an object, and as many of Kafka.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from logpersister.ranges import Offset
from logpersister.verify.comparison import same, shortened
from logpersister.verify.content import Content, Items
from logpersister.verify.row_items import Item
from logpersister.verify.row_sorting import RowSorting
from logpersister.verify.streams import ContentError


class SortedComparison:
    """An object must hold these records, all of them and nothing else, those of each row group sorted."""

    def __init__(self, content: Content, sorting: RowSorting, stored: Iterator[Items]) -> None:
        """Begin; `stored` yields the items of one row group after the other."""
        self._expected = content.expectation()
        self._sorting = sorting
        self._stored = enumerate(stored)
        self._waiting: list[Item] = []
        self._group: tuple[int, Items] | None = None
        """The next one, and its number."""
        self.difference: str | None = None
        """The first one that was found."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Compare row groups of which all records are known now; after a difference nothing is compared any more."""
        if self.difference is not None:
            return
        self._waiting += self._expected(batch)
        try:
            while self._waiting and self._is_whole() and self._compare():
                pass
        except ContentError as error:
            self.difference = str(error)

    def finish(self) -> None:
        """Compare the end."""
        if self.difference is not None:
            return
        try:
            if self._waiting and self._next() is None:
                self.difference = f"it ends before {len(self._waiting)} of Kafka's records"
            elif self._next() is not None:
                self.difference = "it holds more than Kafka's records"
        except ContentError as error:
            self.difference = str(error)

    def _next(self) -> tuple[int, Items] | None:
        if self._group is None:
            self._group = next(self._stored, None)
        return self._group

    def _is_whole(self) -> bool:
        group = self._next()
        return group is not None and len(group[1]) <= len(self._waiting)

    def _compare(self) -> bool:
        """Compare the next row group, of which all records are known; return whether it is the same."""
        assert self._group is not None
        number, group = self._group
        expected = self._sorting.sorted(self._waiting[: len(group)])
        self._waiting = self._waiting[len(group) :]
        self._group = None
        for row, (found, wanted) in enumerate(zip(group, expected, strict=True)):
            if found != wanted and not same(found, wanted):
                self.difference = (
                    f"in row {row} of its sorted row group {number} it holds {shortened(found)}, "
                    f"Kafka's records {shortened(wanted)}"
                )
                return False
        return True


class SortedPartialComparison:
    """Row groups must be sorted and hold these records, and may hold more: Kafka has deleted some since."""

    def __init__(self, content: Content, sorting: RowSorting, stored: Iterator[Items]) -> None:
        self._expected = content.expectation()
        self._sorting = sorting
        self._stored = stored
        self._wanted: Counter[bytes] = Counter()
        self._first: Offset | None = None
        self._last: Offset | None = None
        self.difference: str | None = None
        """The first one that was found."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Take note of the next records."""
        self._first = batch.column("offset")[0].as_py() if self._first is None else self._first
        self._last = batch.column("offset")[-1].as_py()
        self._wanted.update(map(_digest, self._expected(batch)))

    def finish(self) -> None:
        """Read the object."""
        try:
            for number, group in enumerate(self._stored):
                if self.difference is None and not same([*group], self._sorting.sorted(group)):
                    self.difference = f"the rows of its row group {number} are not sorted as they should be"
                self._wanted.subtract(map(_digest, group))
        except ContentError as error:
            self.difference = str(error)
        lacking = sum(count for count in self._wanted.values() if count > 0)
        if self.difference is None and lacking:
            where = f"between offsets {self._first} and {self._last}"
            self.difference = f"it lacks {lacking} of the records that Kafka has {where}"


def _digest(item: Item) -> bytes:
    """Return what stands for an item, which takes more memory."""
    return hashlib.blake2b(repr(_canonical(item)).encode(), digest_size=16).digest()


def _canonical(value: Any) -> Any:
    """Return one value for all that `same` takes for the same."""
    if isinstance(value, float):
        return value + 0.0  # of both zeros
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, list | tuple):
        return tuple(map(_canonical, value))
    return {name: _canonical(value[name]) for name in sorted(value)} if isinstance(value, dict) else value
