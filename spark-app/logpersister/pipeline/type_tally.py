"""Counts the records of a range by their types, as its batches are split."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.formats.cuts import payload_sizes
from logpersister.records.event_types import Found
from logpersister.records.record_times import Milliseconds
from logpersister.records.type_names import DROPPED, REFUSED
from logpersister.report.facts import TypeCounts

Rows = npt.NDArray[np.integer]


class TypeTally:
    """Record counts of one range by type. Labels, and so the memory for them, are bounded by the manifest."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """`now` gives seconds since the epoch: times behind it do not count, because somebody's clock is wrong."""
        self._now = now
        self._counts: dict[str, TypeCounts] = {}

    @property
    def counts(self) -> Mapping[str, TypeCounts]:
        return self._counts

    def found(self, batch: pa.RecordBatch, found: Found) -> None:
        """Count the records of a batch, whose types were found."""
        records = np.bincount(found.indices, minlength=len(found.places))
        payload = np.bincount(found.indices, payload_sizes(batch), len(found.places))
        for place, count, size in zip(found.places, records.tolist(), payload.tolist(), strict=True):
            if place.rule == DROPPED:
                self._add(place.label, TypeCounts(dropped=count))
            else:
                refused = count if place.rule == REFUSED else 0
                self._add(place.label, TypeCounts(records=count, bytes=int(size), quarantined=refused))

    def left_out(self, batch: pa.RecordBatch, found: Found, of_rows: Rows, kept: Rows) -> None:
        """Count records of one rule that conditions leave out; `found` has counted them as stored.

        Args:
            batch: row ``i`` is of ``found.places[of_rows[i]]``.
            found: the types.
            of_rows: see `batch`.
            kept: the rows that are not left out.
        """
        is_left_out = np.ones(len(of_rows), np.bool_)
        is_left_out[kept] = False
        of_left_out = of_rows[is_left_out]
        records = np.bincount(of_left_out, minlength=len(found.places))
        payload = np.bincount(of_left_out, payload_sizes(batch)[is_left_out], len(found.places))
        for index in np.flatnonzero(records).tolist():
            count = int(records[index])
            counts = TypeCounts(records=-count, bytes=-int(payload[index]), dropped=count)
            self._add(found.places[index].label, counts)

    def refused(self, found: Found, of_rows: Rows) -> None:
        """Count records that the parser of their type refuses; row ``i`` is of ``found.places[of_rows[i]]``."""
        records = np.bincount(of_rows, minlength=len(found.places))
        for index in np.flatnonzero(records).tolist():
            self._add(found.places[index].label, TypeCounts(quarantined=int(records[index])))

    def accepted(self, found: Found, of_rows: Rows, times: Milliseconds) -> None:
        """Take in when records happened that the parser of their type accepts."""
        counting = (times >= 0) & (times <= int(self._now() * 1000))
        newest = np.full(len(found.places), -1, np.int64)
        np.maximum.at(newest, of_rows[counting], times[counting])
        for index in np.flatnonzero(newest >= 0).tolist():
            self._add(found.places[index].label, TypeCounts(newest=int(newest[index])))

    def _add(self, label: str, counts: TypeCounts) -> None:
        known = self._counts.get(label)
        if known is not None:
            self._counts[label] = known.plus(counts)
        elif counts != TypeCounts():
            self._counts[label] = replace(counts)
