"""Puts records together in groups whose bounds depend on the records alone, not on the batches in which they come."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.cuts import Cuts

MOST_ROWS: Final = 1 << 20
"""Most rows of a group, however small the records are."""


class RowGroups:
    """The rows of one object that are not written yet. A group ends with the record that makes it `least_bytes`."""

    def __init__(self, least_bytes: int) -> None:
        self._cuts = Cuts(least_bytes, MOST_ROWS)
        self._waiting: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch, sizes: binary.Integers) -> Iterator[pa.Table]:
        """Take in rows, each of which counts as so many bytes; yield the groups that are whole now."""
        for begin, end, is_whole in self._cuts.of(sizes):
            self._waiting.append(rows.slice(begin, end - begin))
            if is_whole:
                yield self._take()

    def rest(self) -> Iterator[pa.Table]:
        """Yield the last group, unless it has no row."""
        if self._waiting:
            yield self._take()

    def _take(self) -> pa.Table:
        # One chunk a column: what writers decide by chunk depends on the group alone.
        whole = pa.Table.from_batches(self._waiting).combine_chunks()
        self._waiting = []
        return whole
