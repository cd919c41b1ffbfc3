"""Writes one range: record batches are spread over partition paths, encoded, and uploaded.

Memory: small objects are held as rows and encoded one after the other when the range ends, large ones are encoded and
uploaded while their rows arrive; all within one budget (`pipeline.room`). What has no room is left to a further *pass*
over the same range, because Kafka is the buffer. Which pass writes an object has no influence on its bytes.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import Format, ObjectIdentity
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.held_rows import HeldRows, Ids, held_sizes
from logpersister.pipeline.open_object import Finishing, OpenObject, OpenUpload
from logpersister.pipeline.path_states import PathStates, State
from logpersister.pipeline.room import FILLED, LEAST_FILLED, Room
from logpersister.pipeline.splitting import (
    Side,
    again,
    by_offset,
    in_order,
    parts,
    sides,
    sides_of_types,
    typed_records,
)
from logpersister.pipeline.type_tally import TypeTally
from logpersister.pipeline.waiting_types import WaitingTypes
from logpersister.pipeline.work import ObjectWritten, RangeWork
from logpersister.ranges import NewestEvent, Offset
from logpersister.records.adjusted import by_reason
from logpersister.records.escaping import QUARANTINE
from logpersister.records.type_names import REFUSED
from logpersister.records.typed import AnyLayout, TypedLayout
from logpersister.report.facts import LateRecords, Quarantined, TypeCounts
from logpersister.storage.object_requests import StoredObject


class TooManyRefusedError(Exception):
    """The parser refuses a larger share of a range than may go to quarantine; nothing was stored."""


class RangeWriter:
    """Writes one range in one or more passes.

    Usage: `write` every batch of the range, then `end_pass`; while that returns True read the range again from its
    start and do the same. Then `objects` and `quarantined`. On any error `abort`.
    """

    def __init__(
        self,
        work: RangeWork,
        layout: AnyLayout,
        file_format: Format,
        open_upload: OpenUpload,
        room: Room,
        hold_above: int | None = None,
        event_times: EventTimes | None = None,
    ) -> None:
        """Begin.

        Args:
            hold_above: the percentage of records that may go to quarantine; None: any.
            event_times: of which the newest is wanted.
        """
        self.work = work
        self._layout = layout
        self._format = file_format
        self._open_upload = open_upload
        self._room = room
        self._paths = PathStates()
        self._held: defaultdict[int, HeldRows] = defaultdict(HeldRows)
        """Rows that wait, by their columns (`Side.columns`)."""
        self._waiting = WaitingTypes(layout) if isinstance(layout, TypedLayout) else None
        """Records that wait before they are parsed, in the first pass; None: none may."""
        self._columns_of: dict[int, int] = {}
        """Those of each object."""
        self._wanted: set[int] | None = None
        """Those of objects that are written in this pass; None: any."""
        self._open: dict[int, OpenObject] = {}
        self._first_pass = True
        self._hold_above = hold_above
        self._event_times = event_times
        self._records = self._refused = 0
        self._types = TypeTally()
        self._finishing: list[Finishing] = []
        self._first_refused: tuple[Offset, str] | None = None
        """Its offset, and why."""
        self._started = time.monotonic()
        self.payload_bytes = 0
        self.unexplained = self.dropped = 0
        """See `RangeOutcome`."""
        self.adjusted: Counter[str] = Counter()
        """See `RangeOutcome`."""
        self.late: LateRecords | None = None
        """The same."""
        self.newest: NewestEvent | None = None
        """See `RangeOutcome`."""

    def write(self, batch: pa.RecordBatch) -> None:
        if self._first_pass:
            self.payload_bytes += _payload_bytes(batch)
        if batch.num_rows == 0:
            return
        if self._first_pass:
            self._paths.progress = self._progress(batch)
            self._records += batch.num_rows
            self.dropped += batch.num_rows
        for side in self._sides(batch):
            self._count(side)
            self._take_in(side)
            self._make_room()

    def _sides(self, batch: pa.RecordBatch) -> Iterator[Side]:
        """Yield those of records that do not wait."""
        if not isinstance(self._layout, TypedLayout):
            yield from sides(batch, self._layout)
        elif (typed := typed_records(batch, self._layout, self._tally)) is not None:
            waiting = None if self._waiting is None else self._waiting.take_in(typed, self._paths.progress)
            for some in (typed,) if waiting is None else waiting:
                yield from sides_of_types(some, self._layout, self._wanted, self._tally)

    @property
    def _tally(self) -> TypeTally | None:
        """What counts types; None: they are counted already."""
        return self._types if self._first_pass else None

    def _count(self, side: Side) -> None:
        rows, late = side.rows.num_rows, 0 if self.work.horizon is None else side.late
        if side.refused is not None and late < rows:
            first = side.first_refused, side.refused
            self._first_refused = first if self._first_refused is None else min(first, self._first_refused)
        if self._first_pass:
            self.dropped -= rows
            self._refused += rows - late if side.refused is not None else 0
            if late:
                before = 0 if self.late is None else self.late.records
                self.late = LateRecords(before + late, "folder" if side.refused is None else "quarantine")
            if side.adjusted is not None:
                self.adjusted += by_reason(side.adjusted.counts())
            if self._event_times is not None and side.refused is None:
                newest = self._event_times.newest(side.rows, side.rule)
                self.newest = newest if self.newest is None else self.newest.followed_by(newest)

    def _progress(self, batch: pa.RecordBatch) -> float:
        """Return the share of the range that has been read when a batch ends."""
        first, end = self.work.read_from, self.work.range.end
        last: Offset = batch.column("offset")[-1].as_py()
        return (last + 1 - first) / (end - first)

    @property
    def held_bytes(self) -> int:
        """Memory that rows take that wait."""
        unparsed = 0 if self._waiting is None else self._waiting.bytes
        return sum(held.bytes for held in self._held.values()) + unparsed

    def _take_in(self, side: Side) -> None:
        """Hold rows, or hand them to the objects that are streamed."""
        ids = self._paths.ids(side.paths)
        self._columns_of.update(dict.fromkeys(ids.tolist(), side.columns))
        states = self._paths.states[ids]
        if len(ids) == 1 and states[0] == State.STREAMED:
            self._open[int(ids[0])].add(side.rows)
            return
        if self._first_pass:
            self._paths.sizes[ids] += np.bincount(side.indices, held_sizes(side.waiting), len(ids))
        if len(ids) > 1:
            self._spread(side, ids)
        elif states[0] == State.HELD:
            self._held[side.columns].add(side.waiting, np.full(side.rows.num_rows, ids[0]))
        large = self._room.is_large(self._paths.estimates(ids))
        for each in ids[(states == State.HELD) & large].tolist():
            if self._may_stream(each):
                self._stream(each)

    def _may_stream(self, each: int) -> bool:
        """Whether an object that is held may be streamed now."""
        # While records wait, some of them may be refused, and stand before those that are.
        is_whole = self._waiting is None or self._paths.path(each) != QUARANTINE
        return is_whole and self._room.has_stream(len(self._open), self.held_bytes)

    def _spread(self, side: Side, ids: Ids) -> None:
        of_rows = ids[side.indices]
        order = in_order(of_rows)
        of_rows = of_rows[order]
        waiting = self._paths.states[of_rows] == State.HELD
        if waiting.any():
            self._held[side.columns].add(side.waiting.take(order[waiting]), of_rows[waiting])
        for each in ids[self._paths.states[ids] == State.STREAMED].tolist():
            begin, end = np.searchsorted(of_rows, [each, each + 1])
            self._open[each].add(side.rows.take(order[begin:end]))

    def _make_room(self) -> None:
        """Leave some of the objects that are held to a further pass, and stream others."""
        if self._waiting is not None and self.held_bytes > self._room.for_rows(len(self._open)):
            self._wait_no_more(self._waiting)
        share = FILLED
        while self.held_bytes > self._room.for_rows(len(self._open)):
            held = self._paths.of(State.HELD)
            estimates = self._paths.estimates(held)
            chosen = self._room.chosen(estimates, len(self._open), share=share)
            self._paths.states[held[~chosen]] = State.LEFT
            self._forget_others()
            # Estimates may be wrong, and what is streamed is bounded all the same.
            large = chosen & (self._room.is_large(estimates) | (share < LEAST_FILLED))
            for each in held[large].tolist():
                if self._may_stream(each):
                    self._stream(each)
                else:
                    self._paths.states[each] = State.LEFT
            self._forget_others()
            share /= 2

    def _wait_no_more(self, waiting: WaitingTypes) -> None:
        """Hold what waits by its objects, as there is no room for all of it."""
        if not waiting.is_open:  # and this goes on
            return
        assert isinstance(self._layout, TypedLayout)
        for typed in waiting.close():
            for side in sides_of_types(typed, self._layout, None, self._tally):
                self._count(side)
                self._take_in(side)
                self._make_room()
        self._end_waiting()

    def _end_waiting(self) -> None:
        """Order the refused records, of which some have waited and others not."""
        self._waiting = None
        if REFUSED not in self._held:
            return
        (quarantine,) = self._paths.ids([QUARANTINE]).tolist()
        if rows := self._held[REFUSED].rows(quarantine):
            whole = by_offset(rows)
            self._held[REFUSED] = HeldRows()
            self._held[REFUSED].add(whole, np.full(whole.num_rows, quarantine))

    def _stream(self, each: int) -> None:
        """Encode and upload what is held of an object, and from now on what comes."""
        if self._begin(each):
            self._paths.states[each] = State.STREAMED
            self._forget_others()

    def _forget_others(self) -> None:
        """Forget the rows of objects that are held no more."""
        gone = self._paths.states != State.HELD
        for held in self._held.values():
            held.drop(gone)

    def _begin(self, each: int) -> bool:
        """Open an object with what is held of it; return False when that is nothing."""
        rows = self._held[self._columns_of[each]].rows(each)
        if rows:
            self._open_object(each)
            for batch in rows:
                for piece in again(batch, self._layout, self._columns_of[each]):
                    self._open[each].add(piece)
        return bool(rows)

    def _open_object(self, each: int) -> None:
        path = self._paths.path(each)
        encoder = self._format.encoder(ObjectIdentity(self.work.range, path))
        self._open[each] = OpenObject(path, encoder, self._open_upload(self.work, path))

    def end_pass(self, unexplained: int = 0) -> bool:
        """Finish the objects of this pass; return whether paths are left for another one.

        Args:
            unexplained: offsets at the end of the range for which this pass has met only silence.

        Raises TooManyRefusedError at the end of the first pass, when nothing is visible yet.
        """
        if self._first_pass:
            if self._hold_above is not None and self._waiting is not None:
                self._count_waiting(self._waiting)
            self._check_refused()
        self.unexplained = max(self.unexplained, unexplained)
        if self._waiting is not None:
            self._write_waiting(self._waiting, unexplained)
        for each in [*self._open]:
            self._finish(each, unexplained)
        for each in self._paths.of(State.HELD).tolist():  # one after the other: encoders take more than rows
            if self._begin(each):
                self._finish(each, unexplained)
        self._paths.states[self._paths.states == State.HELD] = State.ENDED
        self._forget_others()
        self._first_pass, self._paths.progress = False, 1.0
        left = self._paths.of(State.LEFT)
        chosen = self._room.chosen(self._paths.sizes[left], streams=0, share=FILLED)
        self._paths.states[left[chosen]] = State.HELD
        self._wanted = {self._columns_of[each] for each in left[chosen].tolist()}
        return len(left) > 0

    def _count_waiting(self, waiting: WaitingTypes) -> None:
        assert isinstance(self._layout, TypedLayout)
        for typed in waiting.groups():
            for side in sides_of_types(typed, self._layout, None, self._types):
                self._count(side)

    def _write_waiting(self, waiting: WaitingTypes, unexplained: int) -> None:
        """Write the objects of records that have waited; only refused ones are held."""
        assert isinstance(self._layout, TypedLayout)
        is_counted = self._hold_above is not None
        for typed in waiting.groups():
            found = [*sides_of_types(typed, self._layout, None, None if is_counted else self._types)]
            accepted = [side for side in found if side.refused is None]
            for side in found:
                if not is_counted:
                    self._count(side)
                if side.refused is not None or len(accepted) > 1:
                    self._take_in(side)
                else:
                    self._write_at_once(side, unexplained)
        self._end_waiting()

    def _write_at_once(self, side: Side, unexplained: int) -> None:
        """Write objects that have the rows of a side and no others."""
        for each, (_, rows) in zip(self._paths.ids(side.paths).tolist(), parts(side), strict=True):
            self._open_object(each)
            self._open[each].add(rows)
            self._finish(each, unexplained)

    def _check_refused(self) -> None:
        if self._hold_above is None or self._refused * 100 <= self._hold_above * self._records:
            return
        offset, reason = self._first_refused or (self.work.range.start, "")
        raise TooManyRefusedError(
            f"the parser refuses {self._refused} of the {self._records} records of {self.work.range}, more than "
            f"{self._hold_above}%: offset {offset} is the first ({reason})"
        )

    def _finish(self, each: int, unexplained: int) -> None:
        self._finishing.append(self._open[each].finish(unexplained))
        del self._open[each]
        self._paths.states[each] = State.ENDED

    def objects(self) -> tuple[ObjectWritten, ...]:
        """Wait until every object is durable; raises the first storage error."""
        return tuple(finishing.result() for finishing in self._finishing)

    @property
    def paths(self) -> Sequence[str]:
        """Those of which there are objects."""
        return [finishing.path for finishing in self._finishing]

    def table_files(self) -> Iterator[tuple[str, StoredObject, Mapping[str, Any]]]:
        """Yield path, object and `ParquetEncoder.table_facts` of each file of a table; waits as `objects` does."""
        for finishing in self._finishing:
            if finishing.table_facts is not None:
                yield finishing.path, finishing.stored.result(), finishing.table_facts

    def quarantined(self) -> Quarantined | None:
        """Return what the parser refused; waits, too, and raises as `objects` does."""
        finishing = next((one for one in self._finishing if one.path == QUARANTINE), None)
        if finishing is None or self._first_refused is None:  # compaction may take a record between two passes
            return None
        stored = finishing.result()
        records = stored.records if self.late is None else self._refused  # late ones may be in it, too
        return Quarantined(stored.key, records, *self._first_refused)

    @property
    def is_left_out(self) -> bool:
        """Whether nothing is stored because all records are left out; known when all passes have ended."""
        return self.dropped > 0 and not self._finishing

    @property
    def types(self) -> Mapping[str, TypeCounts]:
        """See `RangeOutcome`."""
        return self._types.counts

    @property
    def ready(self) -> bool:
        """Whether `objects` would answer at once."""
        return all(finishing.stored.done() for finishing in self._finishing)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def abort(self) -> None:
        """Give up: nothing of the open objects becomes visible. Finished ones are what will be written anyway."""
        for open_object in self._open.values():
            open_object.abort()
        self._open.clear()


def _payload_bytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of keys and values; the reader's batches have none behind a null."""
    ends = (binary.offsets(binary.column(batch, name)) for name in ("key", "value"))
    return sum(int(each[-1] - each[0]) for each in ends)
