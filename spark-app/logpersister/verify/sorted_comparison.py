"""Compares objects whose row groups are sorted with records of Kafka. Pure.

Memory: the items of one row group of an object, and as many of Kafka.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from logpersister.formats.damage import ContentError
from logpersister.formats.parquet.sorted_groups import order_of
from logpersister.pipeline.splitting import joined
from logpersister.ranges import Offset
from logpersister.verify.comparison import alike, rows_of, same, shortened
from logpersister.verify.content import Content


class SortedComparison:
    """An object must hold these records, all of them and nothing else, those of each row group sorted."""

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        """Begin; `stored` yields one row group after the other."""
        self._expected = content.expectation()
        self._order = content.sorting
        self._stored = enumerate(stored)
        self._waiting: pa.RecordBatch | None = None
        """Rows of records whose row group is not known to be whole; None: none."""
        self._group: tuple[int, pa.RecordBatch] | None = None
        """The next one, and its number."""
        self.difference: str | None = None
        """The first one that was found."""
        self.is_unreadable = False
        """See `ExactComparison`."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Compare row groups of which all records are known now; after a difference nothing is compared any more."""
        if self.difference is not None:
            return
        rows = self._expected(batch)
        self._waiting = rows if self._waiting is None else joined([self._waiting, rows])
        try:
            while self._waiting.num_rows and self._compare(self._waiting):
                pass
        except ContentError as error:
            self.difference = str(error)

    def finish(self) -> None:
        """Compare the end."""
        if self.difference is not None:
            return
        waiting = 0 if self._waiting is None else self._waiting.num_rows
        try:
            if waiting and self._next() is None:
                self.difference = f"it ends before {waiting} of Kafka's records"
            elif self._next() is not None:
                self.difference = "it holds more than Kafka's records"
        except ContentError as error:
            self.difference = str(error)

    def _next(self) -> tuple[int, pa.RecordBatch] | None:
        if self._group is None:
            self._group = next(self._stored, None)
        return self._group

    def _compare(self, waiting: pa.RecordBatch) -> bool:
        """Compare the next row group if all of its records wait; return whether it is whole, and the same."""
        following = self._next()
        if following is None or following[1].num_rows > waiting.num_rows:
            return False
        number, group = following
        first = waiting.slice(0, group.num_rows)
        expected = first.take(order_of(first, self._order))
        self._waiting, self._group = waiting.slice(group.num_rows), None
        if alike(group, expected):
            return True
        pairs = enumerate(zip(rows_of(group), rows_of(expected), strict=True))
        row, (found, wanted) = next((row, pair) for row, pair in pairs if not same(*pair))
        self.difference = (
            f"in row {row} of its sorted row group {number} it holds {shortened(found)}, "
            f"Kafka's records {shortened(wanted)}"
        )
        return False


class SortedPartialComparison:
    """Row groups must be sorted and hold these records, and may hold more: Kafka has deleted some since."""

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        self._expected = content.expectation()
        self._order = content.sorting
        self._stored = stored
        self._wanted: Counter[bytes] = Counter()
        self._first: Offset | None = None
        self._last: Offset | None = None
        self.difference: str | None = None
        """The first one that was found."""
        self.is_unreadable = False
        """See `ExactComparison`."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Take note of the next records."""
        self._first = batch.column("offset")[0].as_py() if self._first is None else self._first
        self._last = batch.column("offset")[-1].as_py()
        self._wanted.update(map(_digest, rows_of(self._expected(batch))))

    def finish(self) -> None:
        """Read the object."""
        try:
            for number, group in enumerate(self._stored):
                places = np.asarray(order_of(group, self._order))
                if self.difference is None and (np.diff(places.astype(np.int64)) != 1).any():
                    self.difference = f"the rows of its row group {number} are not sorted as they should be"
                self._wanted.subtract(map(_digest, rows_of(group)))
        except ContentError as error:
            self.difference = str(error)
        lacking = sum(count for count in self._wanted.values() if count > 0)
        if self.difference is None and lacking:
            where = f"between offsets {self._first} and {self._last}"
            self.difference = f"it lacks {lacking} of the records that Kafka has {where}"


def _digest(item: Any) -> bytes:
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
