"""Rows of many objects that wait in memory until each object is written.

They are kept as *runs*: a run is one record batch, ordered by object, and where each object's rows begin in it. So a
row takes what it holds and no more, whether there are ten objects or ten thousand; a batch for each object would take
about a kilobyte, which is more than many records do. Runs are merged like those of a log-structured tree, so they stay
few.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.cuts import payload_sizes
from logpersister.pipeline.splitting import joined, order_by_group

Ids = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

MERGED: Final = 8
"""Runs of one size that become one."""
LARGEST_MERGE: Final = 36 << 20
"""Bytes of runs that become one, and so the memory that ordering them takes for a moment. Of usual batches eight."""
ROW_BYTES: Final = 32
"""Memory of a row beside its key and value: offset, timestamp, ends of key and value."""


@dataclass(frozen=True, slots=True)
class _Run:
    rows: pa.RecordBatch
    bytes: int
    ids: Ids
    """Objects that have rows here, ascending."""
    begins: Ids
    """Begin of each object's rows, and the end of the last."""
    ends: npt.NDArray[np.float64]
    """About how many bytes stand before each of `begins`."""
    level: int
    """Number of merges behind the run."""

    @classmethod
    def of(cls, rows: pa.RecordBatch, ids: Ids, level: int) -> Self:
        """Take rows that are ordered by object; `ids` has that of each row."""
        starts = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(ids[1:] != ids[:-1]) + 1])
        begins, size = np.append(starts, len(ids)), rows.nbytes
        payload = sum(binary.offsets(binary.column(rows, name))[begins].astype(np.int64) for name in ("key", "value"))
        before = payload - payload[0] + begins * ROW_BYTES
        return cls(rows, size, ids[starts], begins, before * (size / before[-1]), level)

    @property
    def id_of_row(self) -> Ids:
        return np.repeat(self.ids, np.diff(self.begins))

    def of_object(self, of: int) -> tuple[pa.RecordBatch, float] | None:
        """Return the rows of an object and about how many bytes they take; None: it has none."""
        place = int(self.ids.searchsorted(of))
        if place == len(self.ids) or self.ids[place] != of:
            return None
        begin, end = self.begins[place : place + 2].tolist()
        return self.rows.slice(begin, end - begin), float(self.ends[place + 1] - self.ends[place])

    def without(self, dropped: Marks) -> Self | None:
        """Return the run without the objects that are marked; None: nothing is left."""
        gone = dropped[self.ids]
        if not gone.any():
            return self
        if gone.all():
            return None
        ids = self.id_of_row
        kept = np.flatnonzero(~dropped[ids])
        return type(self).of(self.rows.take(kept), ids[kept], self.level)


class HeldRows:
    """Rows of objects, which are numbered from 0. All batches have the same columns."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self.bytes = 0

    def add(self, rows: pa.RecordBatch, ids: Ids) -> None:
        """Keep rows that are ordered by object and within by offset, behind those kept before; at least one."""
        self._runs.append(_Run.of(rows, ids, 0))
        while self._merge():
            pass
        self.bytes = _total(self._runs)

    def rows(self, of: int) -> Sequence[pa.RecordBatch]:
        """Return the rows of an object, in the order in which they came."""
        found = [one for one in (run.of_object(of) for run in self._runs) if one is not None]
        rows, is_small = [one for one, _ in found], sum(size for _, size in found) <= LARGEST_MERGE
        return [joined(rows)] if len(rows) > 1 and is_small else rows

    def drop(self, dropped: Marks) -> None:
        """Forget the objects that are marked; what the others hold is copied, one run at a time."""
        for place in reversed(range(len(self._runs))):
            left = self._runs[place].without(dropped)
            if left is None:
                del self._runs[place]
            else:
                self._runs[place] = left
        self.bytes = _total(self._runs)

    def pop_oldest(self) -> pa.RecordBatch | None:
        """Return rows of all objects that came before the others, and forget them; None: there are none."""
        if not self._runs:
            return None
        oldest = self._runs.pop(0)
        self.bytes = _total(self._runs)
        return oldest.rows

    def _merge(self) -> bool:
        """Merge the newest runs if enough of them have one level."""
        newest = self._runs[-MERGED:]
        same_level = len({run.level for run in newest}) == 1
        if len(newest) < MERGED or not same_level or _total(newest) > LARGEST_MERGE:
            return False
        level = newest[0].level + 1
        ids = np.concatenate([run.id_of_row for run in newest])
        whole = joined([run.rows for run in newest])
        del self._runs[-MERGED:], newest  # now, so that there are two copies and not three
        order = order_by_group(ids)
        self._runs.append(_Run.of(whole.take(order), ids[order], level))
        return True


def _total(runs: Iterable[_Run]) -> int:
    return sum(run.bytes for run in runs)


def held_sizes(rows: pa.RecordBatch) -> npt.NDArray[np.float64]:
    """Return about how many bytes of memory each row takes."""
    sizes = (payload_sizes(rows) + ROW_BYTES).astype(np.float64)
    return sizes * (rows.nbytes / max(float(sizes.sum()), 1.0))
