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

from logpersister.formats.parquet.sorted_groups import order_of
from logpersister.pipeline.splitting import joined
from logpersister.ranges import Offset
from logpersister.verify.comparison import Comparison, alike, rows_of, same, shortened
from logpersister.verify.content import Content


class SortedComparison(Comparison):
    """An object must hold these records, all of them and nothing else, those of each row group sorted.

    Its row groups are stored one after the other.
    """

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        super().__init__(content, stored)
        self._order = content.sorting
        self._number = 0
        """Number of the row group that is compared next."""
        self._waiting: pa.RecordBatch | None = None
        """Rows of records whose row group is not known to be whole; None: none."""
        self._group: pa.RecordBatch | None = None
        """The next one, where it was read."""

    def _compare(self, batch: pa.RecordBatch) -> str | None:
        rows = self._expected(batch)
        waiting = self._waiting = rows if self._waiting is None else joined([self._waiting, rows])
        while waiting.num_rows and (group := self._next()) is not None and group.num_rows <= waiting.num_rows:
            first = waiting.slice(0, group.num_rows)
            expected = first.take(order_of(first, self._order))
            if not alike(group, expected):
                pairs = enumerate(zip(rows_of(group), rows_of(expected), strict=True))
                row, (found, wanted) = next((row, pair) for row, pair in pairs if not same(*pair))
                return (
                    f"in row {row} of its sorted row group {self._number} it holds {shortened(found)}, "
                    f"Kafka's records {shortened(wanted)}"
                )
            waiting = self._waiting = waiting.slice(group.num_rows)
            self._group, self._number = None, self._number + 1
        return None

    def _end(self) -> str | None:
        waiting = 0 if self._waiting is None else self._waiting.num_rows
        if self._next() is not None:
            return "it holds more than Kafka's records"
        return f"it ends before {waiting} of Kafka's records" if waiting else None

    def _next(self) -> pa.RecordBatch | None:
        if self._group is None:
            self._group = next(self._stored, None)
        return self._group


class SortedPartialComparison(Comparison):
    """Row groups must be sorted and hold these records, and may hold more: Kafka has deleted some since."""

    def __init__(self, content: Content, stored: Iterator[pa.RecordBatch]) -> None:
        super().__init__(content, stored)
        self._order = content.sorting
        self._wanted: Counter[bytes] = Counter()
        self._offsets: list[Offset] = []
        """The first one and the last one of the records."""

    def _compare(self, batch: pa.RecordBatch) -> None:
        offsets = batch.column("offset")
        self._offsets = [*self._offsets[:1], offsets[0].as_py(), offsets[-1].as_py()]
        self._wanted.update(map(_digest, rows_of(self._expected(batch))))

    def _end(self) -> str | None:
        unsorted: str | None = None
        for number, group in enumerate(self._stored):
            places = np.asarray(order_of(group, self._order))
            if unsorted is None and (np.diff(places.astype(np.int64)) != 1).any():
                unsorted = f"the rows of its row group {number} are not sorted as they should be"
            self._wanted.subtract(map(_digest, rows_of(group)))
        lacking = sum(count for count in self._wanted.values() if count > 0)
        where = f"between offsets {min(self._offsets, default=None)} and {max(self._offsets, default=None)}"
        return unsorted or (f"it lacks {lacking} of the records that Kafka has {where}" if lacking else None)


def _digest(item: Any) -> bytes:
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
