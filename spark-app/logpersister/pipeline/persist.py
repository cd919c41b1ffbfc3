"""Writes one range: spreads its records over partition paths, encodes them, and uploads an object for each path.

`splitting` cuts each batch into *sides* whose rows have the same columns. The rows of a side then go to their paths.
A path is in one state (`path_states.State`): its rows are *held* in memory, and encoded one path after the other when
the pass ends; or they are *streamed*, which means encoded and uploaded as they arrive. Held rows and streams share one
memory budget (`room`). Paths without room are *left* to a further pass over the same range, because Kafka is the
buffer. Which pass writes an object has no influence on its bytes.

Parsing takes as long for a batch of few records as for one of hundreds. So records of sparse types wait unparsed until
the first pass ends or room is short (`waiting_types`).
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from logpersister.formats.base import Encoders, ObjectIdentity
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.held_rows import HeldRows, Ids, held_sizes
from logpersister.pipeline.open_object import OpenObject, OpenUpload
from logpersister.pipeline.path_states import PathStates, State
from logpersister.pipeline.range_results import RangeResults
from logpersister.pipeline.room import FILLED, LEAST_FILLED, Room
from logpersister.pipeline.splitting import (
    Side,
    by_offset,
    order_by_group,
    parsed_again,
    rows_by_path,
    sides_of_types,
    typed_records,
)
from logpersister.pipeline.type_tally import TypeTally
from logpersister.pipeline.waiting_types import WaitingTypes
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Offset
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_names import REFUSED


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
        self._formats = formats
        self._open_upload = open_upload
        self._room = room
        self._hold_above = hold_above
        self._first_pass = True
        self._waiting = WaitingTypes(layout) if layout.has_types else None
        """Unparsed records of sparse types, in the first pass; None: no records may wait."""
        self._paths = PathStates()
        self._columns_of_path: dict[int, int] = {}
        """`Side.columns` by path."""
        self._wanted_columns: set[int] | None = None
        """`Side.columns` of the paths that a further pass writes; None: all, in the first pass."""
        self._held: defaultdict[int, HeldRows] = defaultdict(HeldRows)
        """Rows of held paths, by `Side.columns`."""
        self._open: dict[int, OpenObject] = {}
        """Objects of streamed paths, and the one that is encoded at the moment."""

    # A batch arrives.

    def write(self, batch: pa.RecordBatch) -> None:
        """Take in the next records of the range."""
        if batch.num_rows == 0:
            return
        if self._first_pass:
            self.counts.add_batch(batch)
            self._paths.progress = self._progress(batch)
        for side in self._sides(batch):
            self._take_in(side)

    def _progress(self, batch: pa.RecordBatch) -> float:
        """Return the share of the range that has been read when a batch ends."""
        first, end = self.work.read_from, self.work.range.end
        last: Offset = batch.column("offset")[-1].as_py()
        return (last + 1 - first) / (end - first)

    def _sides(self, batch: pa.RecordBatch) -> Iterator[Side]:
        """Yield the sides of a batch, without records that wait from now on, and with those whose waiting ends."""
        typed = typed_records(batch, self._layout, self._tally)
        if typed is None:
            return
        ready = (typed,) if self._waiting is None else self._waiting.take_in(typed, self._paths.progress)
        for records in ready:
            yield from sides_of_types(records, self._layout, self._wanted_columns, self._tally)

    @property
    def _tally(self) -> TypeTally | None:
        """Counts records by type; None: there are no types, or the records were counted."""
        return self.counts.tally if self._first_pass and self._layout.has_types else None

    def _take_in(self, side: Side) -> None:
        self._count(side)
        self._distribute(side)
        self._make_room()

    def _count(self, side: Side) -> None:
        if self._first_pass:
            self.counts.add_side(side)

    # The rows of a side go to their paths.

    def _distribute(self, side: Side) -> None:
        """Hold the rows of a side, or hand them to streamed objects; rows of paths in other states are skipped."""
        paths = self._paths.ids(side.paths)
        self._columns_of_path.update(dict.fromkeys(paths.tolist(), side.columns))
        states = self._paths.states[paths]
        if len(paths) == 1 and states[0] == State.STREAMED:
            self._open[int(paths[0])].add(side.rows)
            return
        if self._first_pass:
            self._paths.sizes[paths] += np.bincount(side.indices, held_sizes(side.held), len(paths))
        if len(paths) > 1:
            self._distribute_to_many(side, paths)
        elif states[0] == State.HELD:
            self._held[side.columns].add(side.held, np.full(side.rows.num_rows, paths[0]))
        held = paths[states == State.HELD]
        for path in held[self._room.is_large(self._paths.estimates(held))].tolist():
            if self._may_stream(path):
                self._stream(path)

    def _distribute_to_many(self, side: Side, paths: Ids) -> None:
        path_of_row = paths[side.indices]
        order = order_by_group(path_of_row)
        path_of_row = path_of_row[order]
        is_held = self._paths.states[path_of_row] == State.HELD
        if is_held.any():
            self._held[side.columns].add(side.held.take(order[is_held]), path_of_row[is_held])
        for path in paths[self._paths.states[paths] == State.STREAMED].tolist():
            begin, end = np.searchsorted(path_of_row, [path, path + 1])
            self._open[path].add(side.rows.take(order[begin:end]))

    def _may_stream(self, path: int) -> bool:
        """Whether there is room for a further stream, and all earlier rows of the path are there."""
        # Quarantine may lack some: waiting records are not parsed yet, and may be refused.
        is_whole = self._waiting is None or self._paths.path(path) != QUARANTINE
        return is_whole and self._room.has_stream(len(self._open), self.held_bytes)

    def _stream(self, path: int) -> None:
        """Begin to stream a held path."""
        if self._open_with_held_rows(path):
            self._paths.states[path] = State.STREAMED
            self._drop_rows_not_held()

    # Memory is short.

    @property
    def held_bytes(self) -> int:
        """Memory that held rows and waiting records take."""
        unparsed = 0 if self._waiting is None else self._waiting.bytes
        return sum(held.bytes for held in self._held.values()) + unparsed

    @property
    def _has_room(self) -> bool:
        return self.held_bytes <= self._room.for_rows(len(self._open))

    def _make_room(self) -> None:
        """End the waiting of records, then leave or stream paths, more each time, until held rows fit."""
        if self._waiting is not None and not self._has_room:
            self._stop_waiting(self._waiting)
        share = FILLED
        while not self._has_room:
            self._keep_smallest(share)
            share /= 2

    def _stop_waiting(self, waiting: WaitingTypes) -> None:
        """Parse and distribute all waiting records. From then on none wait, in this range."""
        if not waiting.is_open:  # called by `_take_in` below
            return
        for typed in waiting.close():
            for side in sides_of_types(typed, self._layout, None, self._tally):
                self._take_in(side)
        self._end_waiting()

    def _keep_smallest(self, share: float) -> None:
        """Leave held paths to a further pass, except the smallest ones, for a share of the room; stream large ones."""
        held = self._paths.of(State.HELD)
        estimates = self._paths.estimates(held)
        chosen = self._room.chosen(estimates, len(self._open), share=share)
        self._paths.states[held[~chosen]] = State.LEFT
        self._drop_rows_not_held()
        # Estimates may be wrong. If rows still have no room at so low a share, any path that remains is streamed.
        to_stream = chosen & (self._room.is_large(estimates) | (share < LEAST_FILLED))
        for path in held[to_stream].tolist():
            if self._may_stream(path):
                self._stream(path)
            else:
                self._paths.states[path] = State.LEFT
        self._drop_rows_not_held()

    def _drop_rows_not_held(self) -> None:
        """Free the rows of paths that are no longer in state HELD."""
        is_gone = self._paths.states != State.HELD
        for held in self._held.values():
            held.drop(is_gone)

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
        if self._waiting is not None:
            self._write_waiting(self._waiting, unexplained)
        for path in [*self._open]:
            self._finish(path, unexplained)
        for path in self._paths.of(State.HELD).tolist():  # one after the other: encoders take more than rows
            if self._open_with_held_rows(path):
                self._finish(path, unexplained)
        self._paths.states[self._paths.states == State.HELD] = State.ENDED
        self._drop_rows_not_held()
        return self._begin_next_pass()

    def _check_refused(self, hold_above: int) -> None:
        """Raise TooManyRefusedError for more than a percentage of refused records, waiting ones included."""
        if self._waiting is not None:
            for typed in self._waiting.groups():
                for side in sides_of_types(typed, self._layout, None, self._tally):
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
        for typed in waiting.groups():
            found = [*sides_of_types(typed, self._layout, None, None if is_counted else self._tally)]
            accepted = [side for side in found if side.refused is None]
            for side in found:
                if not is_counted:
                    self._count(side)
                if side.refused is not None or len(accepted) > 1:
                    self._distribute(side)
                else:
                    self._write_at_once(side, unexplained)
        self._end_waiting()

    def _write_at_once(self, side: Side, unexplained: int) -> None:
        """Write whole objects of the rows of a side."""
        for path, (_, rows) in zip(self._paths.ids(side.paths).tolist(), rows_by_path(side), strict=True):
            self._open_object(path)
            self._open[path].add(rows)
            self._finish(path, unexplained)

    def _end_waiting(self) -> None:
        """Let no records wait any more, and put refused ones in order: records that waited came after later ones."""
        self._waiting = None
        if REFUSED not in self._held:
            return
        (quarantine,) = self._paths.ids([QUARANTINE]).tolist()
        if rows := self._held[REFUSED].rows(quarantine):
            ordered = by_offset(rows)
            self._held[REFUSED] = HeldRows()
            self._held[REFUSED].add(ordered, np.full(ordered.num_rows, quarantine))

    def _begin_next_pass(self) -> bool:
        """Choose the paths of the next pass out of those that were left; return whether there are any."""
        self._first_pass, self._paths.progress = False, 1.0
        left = self._paths.of(State.LEFT)
        chosen = left[self._room.chosen(self._paths.sizes[left], streams=0, share=FILLED)]
        self._paths.states[chosen] = State.HELD
        self._wanted_columns = {self._columns_of_path[path] for path in chosen.tolist()}
        return len(left) > 0

    # An object begins and ends.

    def _open_with_held_rows(self, path: int) -> bool:
        """Open the object of a path and encode its held rows; return False when there are none."""
        columns = self._columns_of_path[path]
        rows = self._held[columns].rows(path)
        if rows:
            self._open_object(path)
            for batch in rows:
                for piece in parsed_again(batch, self._layout, columns):
                    self._open[path].add(piece)
        return bool(rows)

    def _open_object(self, path: int) -> None:
        name = self._paths.path(path)
        encoder = self._formats.encoder(ObjectIdentity(self.work.range, name))
        self._open[path] = OpenObject(name, encoder, self._open_upload(self.work, name))

    def _finish(self, path: int, unexplained: int) -> None:
        self._finishing.append(self._open[path].finish(unexplained))
        del self._open[path]
        self._paths.states[path] = State.ENDED

    def abort(self) -> None:
        """Give up: nothing of the open objects becomes visible. Finished ones are what will be written anyway."""
        for open_object in self._open.values():
            open_object.abort()
        self._open.clear()
