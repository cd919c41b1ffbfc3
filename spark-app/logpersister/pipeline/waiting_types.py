"""Records of sparse types, which wait until a pass over their range ends before rows are made of them.

What is done once for each batch and type takes as long as hundreds of records. So a type that has few records in a
batch waits, and is parsed once for the whole range; then its objects are written straight from its rows.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.cuts import payload_sizes
from logpersister.pipeline.held_rows import HeldRows, Ids
from logpersister.pipeline.splitting import MOST_BYTES, TypedRecords, joined, order_by_group
from logpersister.records.event_types import Found
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_names import Place
from logpersister.values.reading.record_headers import as_read

_TYPE: Final = "type"
"""Column of records that wait: which of the types is theirs."""


class WaitingTypes:
    """Waiting records of one range. A *group* are the types of one folder: their records are in the same objects."""

    def __init__(self, layout: TopicLayout) -> None:
        self._layout = layout
        self._held = HeldRows()
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        """Number of a type and of its group, by folder and label."""
        self._types: list[Place] = []
        self._groups: dict[str, int] = {}
        self._rows = np.zeros(0, np.int64)
        self._sizes = np.zeros(0)
        """Waiting records per group, and the bytes of their keys and values as `binary.slices` counts them."""
        self._is_large = np.zeros(0, np.bool_)
        """Groups that wait no more."""
        self._most_rows: list[int] = []
        self._most_bytes: list[int] = []
        """Most rows and bytes per group that are made rows of at once."""
        self.is_open = True
        """Whether records may still begin to wait."""

    @property
    def bytes(self) -> int:
        return self._held.bytes

    def take_in(self, typed: TypedRecords, progress: float) -> Iterator[TypedRecords]:
        """Keep the records of groups of which rows can be made at once when the range ends; yield all others.

        Args:
            typed: the next records.
            progress: the share of the range that was read with them.
        """
        if not self.is_open:
            yield typed
            return
        types, groups = self._numbers(typed.found)
        of_rows = groups[typed.found.indices]
        waits = of_rows >= 0
        self._count(of_rows[waits], payload_sizes(typed.records)[waits])
        grown = self._grown(progress)
        if grown.any():
            self._is_large |= grown
            earlier = [*self._some(grown)]
            self._held.drop(grown)
            yield from earlier
        waits[waits] = self._may_wait(of_rows[waits])  # perhaps no more, since some of them were taken
        rows = np.flatnonzero(waits)
        if len(rows):
            rows = rows[order_by_group(of_rows[rows])]
            numbers = pa.array(types[typed.found.indices[rows]], pa.int32())
            self._held.add(as_read(typed.records).take(rows).append_column(_TYPE, numbers), of_rows[rows])
        if not waits.all():
            yield typed.at(np.flatnonzero(~waits)) if len(rows) else typed

    def groups(self) -> Iterator[TypedRecords]:
        """Yield the records of each group that waits."""
        yield from self._some(~self._is_large)

    def close(self) -> Iterator[TypedRecords]:
        """Yield all records that wait, those that came first first, and let none wait any more."""
        self.is_open = False
        while (rows := self._held.pop_oldest()) is not None:
            yield self._typed(rows)

    def _numbers(self, found: Found) -> tuple[Ids, Ids]:
        """Return numbers of the types of a batch, and of their groups: -1 of those that are not stored."""
        pairs = [self._number(place) if place.rule >= 0 else (-1, -1) for place in found.places]
        types, groups = np.array(pairs, np.int64).T
        more = len(self._groups) - len(self._rows)
        if more:
            self._rows = np.append(self._rows, np.zeros(more, np.int64))
            self._sizes = np.append(self._sizes, np.zeros(more))
            self._is_large = np.append(self._is_large, np.zeros(more, np.bool_))
        return types, groups

    def _number(self, place: Place) -> tuple[int, int]:
        key = place.segment, place.label
        known = self._places.get(key)
        if known is None:
            group = self._groups.setdefault(place.segment, len(self._groups))
            if group == len(self._most_rows):
                portion = self._layout.rules[place.rule].portion
                self._most_rows.append(np.iinfo(np.int64).max if portion is None else portion.rows)
                self._most_bytes.append(MOST_BYTES if portion is None else portion.bytes or MOST_BYTES)
            known = self._places[key] = len(self._types), group
            self._types.append(place)
        return known

    def _count(self, groups: Ids, sizes: npt.NDArray[np.int64]) -> None:
        self._rows += np.bincount(groups, minlength=len(self._rows))
        self._sizes += np.bincount(groups, sizes + binary.BYTES_PER_ROW, len(self._sizes))

    def _grown(self, progress: float) -> npt.NDArray[np.bool_]:
        """Return the groups that have waited until now and will be too large at the end of the range."""
        share = min(max(progress, 1e-9), 1.0)
        are_many = self._rows > share * np.array(self._most_rows)
        return (are_many | (self._sizes > share * np.array(self._most_bytes))) & ~self._is_large

    def _may_wait(self, groups: Ids) -> npt.NDArray[np.bool_]:
        return ~self._is_large[groups] & self.is_open

    def _some(self, groups: npt.NDArray[np.bool_]) -> Iterator[TypedRecords]:
        for group in np.flatnonzero(groups).tolist():
            if rows := self._held.rows(group):
                yield self._typed(joined(rows))

    def _typed(self, waited: pa.RecordBatch) -> TypedRecords:
        of_rows = waited.column(_TYPE).to_numpy()
        types, indices = np.unique(of_rows, return_inverse=True)
        found = Found([self._types[one] for one in types.tolist()], indices.astype(np.int32))
        return TypedRecords(waited.drop_columns([_TYPE]), found)
