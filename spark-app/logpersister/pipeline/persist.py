"""Writes one range: spreads its records over partition paths, encodes them, and uploads an object for each path.

A batch goes through three steps: `splitting` makes *sides* of it, whose rows have the same columns; the sides are
counted (`range_counts`); and their rows go to the objects of their paths (`path_objects`), which may take several
passes over the range.

Parsing takes as long for a batch of few records as for one of hundreds. So records of sparse types wait unparsed until
the first pass ends or room is short (`waiting_types`).
"""

from collections.abc import Iterator

import pyarrow as pa

from logpersister.formats.base import Encoders
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.open_object import OpenUpload
from logpersister.pipeline.path_objects import PathObjects
from logpersister.pipeline.range_results import RangeResults
from logpersister.pipeline.room import Room
from logpersister.pipeline.splitting import Side, TypedRecords, sides_of_types, typed_records
from logpersister.pipeline.type_tally import TypeTally
from logpersister.pipeline.waiting_types import WaitingTypes
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Offset
from logpersister.records.topic_layout import TopicLayout


class TooManyRefusedError(Exception):
    """The parser refuses a larger share of a range than may go to quarantine; nothing was stored."""


class RangeWriter(RangeResults):
    """Writes one range in one or more passes.

    Usage: `write` every batch of the range, then `end_pass`; while that returns True read the range again from its
    start and do the same. Then `objects` and `quarantined`. On any error `abort`.
    """

    def __init__(
        self,
        work: RangeWork,
        layout: TopicLayout,
        formats: Encoders,
        open_upload: OpenUpload,
        room: Room,
        hold_above: int | None = None,
        event_times: EventTimes | None = None,
    ) -> None:
        """Begin the first pass.

        Args:
            hold_above: percentage of records that may go to quarantine; None: any.
            event_times: finds the newest event; None: it is not wanted.
        """
        super().__init__(work, event_times)
        self._layout = layout
        self._hold_above = hold_above
        self._first_pass = True
        self._objects = PathObjects(work, layout, formats, open_upload, room)
        self._objects.waiting = WaitingTypes(layout) if layout.has_types else None
        self._finishing = self._objects.finished

    # A batch arrives.

    def write(self, batch: pa.RecordBatch) -> None:
        """Take in the next records of the range."""
        if batch.num_rows == 0:
            return
        if self._first_pass:
            self.counts.add_batch(batch)
            self._objects.progress = self._progress(batch)
        typed = typed_records(batch, self._layout, self._tally)
        if typed is None:
            return
        waiting = self._objects.waiting
        for records in (typed,) if waiting is None else waiting.take_in(typed, self._objects.progress):
            self._take_in(records)

    def _progress(self, batch: pa.RecordBatch) -> float:
        first, end = self.work.read_from, self.work.range.end
        last: Offset = batch.column("offset")[-1].as_py()
        return (last + 1 - first) / (end - first)

    def _take_in(self, records: TypedRecords) -> None:
        for side in self._sides(records, self._tally):
            self._count(side)
            self._objects.add(side)
            if not self._objects.has_room:
                self._stop_waiting()
                self._objects.make_room()

    def _sides(self, records: TypedRecords, tally: TypeTally | None) -> Iterator[Side]:
        return sides_of_types(records, self._layout, self._objects.wanted_columns, tally)

    @property
    def _tally(self) -> TypeTally | None:
        """Counts records by type; None: there are no types, or the records were counted."""
        return self.counts.tally if self._first_pass and self._layout.has_types else None

    def _count(self, side: Side) -> None:
        if self._first_pass:
            self.counts.add_side(side)

    def _stop_waiting(self) -> None:
        """Parse all waiting records and take them in. From then on none wait, in this range."""
        waiting = self._objects.waiting
        if waiting is None or not waiting.is_open:  # is called by `_take_in` below
            return
        for records in waiting.close():
            self._take_in(records)
        self._end_waiting()

    def _end_waiting(self) -> None:
        self._objects.waiting = None
        self._objects.order_refused()

    # The pass ends.

    def end_pass(self, unexplained: int = 0) -> bool:
        """Finish the objects of this pass; return whether paths are left for another one.

        Args:
            unexplained: offsets at the end of the range for which this pass has met only silence.

        Raises TooManyRefusedError at the end of the first pass, when nothing is visible yet.
        """
        if self._first_pass and self._hold_above is not None:
            self._check_refused(self._hold_above)
        self.unexplained = max(self.unexplained, unexplained)
        if self._objects.waiting is not None:
            self._write_waiting(self._objects.waiting, unexplained)
        self._first_pass = False
        return self._objects.end_pass(unexplained)

    def _check_refused(self, hold_above: int) -> None:
        """Raise TooManyRefusedError for more than a percentage of refused records, waiting ones included."""
        if self._objects.waiting is not None:
            for records in self._objects.waiting.groups():
                for side in self._sides(records, self._tally):
                    self._count(side)
        counts = self.counts
        if counts.refused * 100 > hold_above * counts.records:
            offset, reason = counts.first_refused or (self.work.range.start, "")
            raise TooManyRefusedError(
                f"the parser refuses {counts.refused} of the {counts.records} records of {self.work.range}, more than "
                f"{hold_above}%: offset {offset} is the first ({reason})"
            )

    def _write_waiting(self, waiting: WaitingTypes, unexplained: int) -> None:
        """Parse waiting records, one group of types after the other, and write their objects; refused ones are held.

        A group has all records of its paths, so one accepted side can be written at once. Several may share paths.
        """
        is_counted = self._hold_above is not None  # by `_check_refused`
        for records in waiting.groups():
            found = [*self._sides(records, None if is_counted else self._tally)]
            accepted = [side for side in found if side.refused is None]
            for side in found:
                if not is_counted:
                    self._count(side)
                if side.refused is not None or len(accepted) > 1:
                    self._objects.add(side)
                else:
                    self._objects.write_at_once(side, unexplained)
        self._end_waiting()

    @property
    def held_bytes(self) -> int:
        """Memory that rows and waiting records take."""
        return self._objects.held_bytes

    def abort(self) -> None:
        """Give up: nothing of the open objects becomes visible. Finished ones are what will be written anyway."""
        self._objects.abort()
