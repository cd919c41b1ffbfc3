"""Cuts the rows of an object into groups, whose bounds depend on the rows alone, not on how batches are cut."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.binary import Integers


class Cuts:
    """Where groups end: with the row by which one reaches `least_bytes`, or with row `most_rows`."""

    def __init__(self, least_bytes: int, most_rows: int) -> None:
        self._least_bytes = least_bytes
        self._most_rows = most_rows
        self._rows = 0
        self._bytes = 0

    def of(self, sizes: Integers) -> Iterator[tuple[int, int, bool]]:
        """Take in rows, each of which counts as so many bytes.

        Yield the first one of a group among them and the one behind its last, and whether the group is whole then.
        """
        ends = np.cumsum(sizes)
        begin = 0
        while begin < len(sizes):
            done = int(ends[begin - 1]) if begin else 0
            reached = int(np.searchsorted(ends, done + self._least_bytes - self._bytes)) + 1
            end = min(reached, len(sizes), begin + self._most_rows - self._rows)
            self._rows += end - begin
            self._bytes += int(ends[end - 1]) - done
            is_whole = self._bytes >= self._least_bytes or self._rows == self._most_rows
            if is_whole:
                self._rows = self._bytes = 0
            yield begin, end, is_whole
            begin = end


def payload_sizes(batch: pa.RecordBatch) -> Integers:
    """Return the bytes of key and value of each record (columns of `records.schema`)."""
    return binary.lengths(binary.column(batch, "key")) + binary.lengths(binary.column(batch, "value"))
