"""Cuts records into row groups whose bounds depend on the records alone, not on the batches in which they come."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from logpersister.formats import binary

MOST_ROWS: Final = 1 << 20
"""Of a row group, however small the records are; pyarrow would begin another one there, too."""


class RowGroups:
    """The rows of one object that are not written yet. A row group ends with the record that makes it `least_bytes`."""

    def __init__(self, least_bytes: int) -> None:
        self._least_bytes = least_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0

    def add(self, rows: pa.RecordBatch, sizes: binary.Integers) -> Iterator[pa.Table]:
        """Take in rows, each of which counts as so many bytes; yield the row groups that are whole now."""
        ends = np.cumsum(sizes)
        begin = 0
        while begin < rows.num_rows:
            done = int(ends[begin - 1]) if begin else 0
            reached = int(np.searchsorted(ends, done + self._least_bytes - self._bytes)) + 1
            end = min(reached, rows.num_rows, begin + MOST_ROWS - self._rows)
            self._waiting.append(rows.slice(begin, end - begin))
            self._rows += end - begin
            self._bytes += int(ends[end - 1]) - done
            begin = end
            if self._bytes >= self._least_bytes or self._rows == MOST_ROWS:
                yield self._take()

    def rest(self) -> Iterator[pa.Table]:
        """Yield the last row group, unless it has no row."""
        if self._rows:
            yield self._take()

    def _take(self) -> pa.Table:
        # One chunk a column: pages and dictionaries end where chunks do.
        whole = pa.Table.from_batches(self._waiting).combine_chunks()
        self._waiting, self._rows, self._bytes = [], 0, 0
        return whole


def payload_sizes(batch: pa.RecordBatch) -> binary.Integers:
    """Return the bytes of key and value of each record (columns of `records.schema`)."""
    return binary.lengths(binary.column(batch, "key")) + binary.lengths(binary.column(batch, "value"))
