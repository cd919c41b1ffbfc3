"""The objects of one range by partition path, within a budget of memory (`room`).

A path is in one state (`path_states.State`): its rows are *held* in memory, and encoded one path after the other when
the pass ends; or they are *streamed*, which means encoded and uploaded as they arrive. Held rows and streams share the
room. Paths without room are *left* to a further pass over the same range, because Kafka is the buffer. Which pass
writes an object has no influence on its bytes.
"""

from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from logpersister.formats.base import Encoders, ObjectIdentity
from logpersister.pipeline.held_rows import HeldRows, Ids, held_sizes
from logpersister.pipeline.open_object import Finishing, OpenObject, OpenUpload
from logpersister.pipeline.room import FILLED, LEAST_FILLED, Room
from logpersister.pipeline.splitting import Side, by_offset, order_by_group, parsed_again, rows_by_path
from logpersister.pipeline.waiting_types import WaitingTypes
from logpersister.pipeline.work import RangeWork
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_names import REFUSED

_FIRST_CAPACITY: Final = 16


class State(IntEnum):
    """State of a path: what happens to its rows."""

    HELD = 0
    """Rows wait in memory until the pass ends."""
    STREAMED = 1
    """Rows are encoded and uploaded as they come."""
    LEFT = 2
    """Rows are skipped; a further pass writes them."""
    ENDED = 3
    """Rows are skipped; the object is written."""


class PathStates:
    """The paths of a range, numbered from 0 in the order in which they are met."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._ids: dict[str, int] = {}
        self._states = np.zeros(_FIRST_CAPACITY, np.int8)
        self._sizes = np.zeros(_FIRST_CAPACITY)
        self.progress = 1.0
        """Share of the range of which `sizes` tell."""

    def ids(self, paths: Sequence[str]) -> Ids:
        """Return the numbers of paths; new ones are held."""
        found = [self._ids.get(path, -1) for path in paths]
        if -1 in found:
            for path in paths:
                if path not in self._ids:
                    self._ids[path] = len(self._paths)
                    self._paths.append(path)
            found = [self._ids[path] for path in paths]
            while len(self._states) < len(self._paths):
                self._states = np.append(self._states, np.zeros_like(self._states))
                self._sizes = np.append(self._sizes, np.zeros_like(self._sizes))
        return np.array(found, np.int64)

    def path(self, of: int) -> str:
        return self._paths[of]

    def of(self, state: State) -> Ids:
        """Return the paths in a state."""
        return np.flatnonzero(self.states == state)

    @property
    def states(self) -> npt.NDArray[np.int8]:
        """State of each path, by its number; to be changed in place."""
        return self._states[: len(self._paths)]

    @property
    def sizes(self) -> npt.NDArray[np.float64]:
        """Bytes that the rows met so far take in memory, by number; to be changed in place."""
        return self._sizes[: len(self._paths)]

    def estimates(self, ids: Ids) -> npt.NDArray[np.float64]:
        """Return what the rows of paths will take at the end of the range, if it goes on as it began."""
        return self.sizes[ids] / min(max(self.progress, 1e-9), 1.0)


class PathObjects:
    """The objects of a range.

    Usage: `add` every side of a pass and `make_room` after each, then `end_pass`; while that returns True do the same
    with the sides of the next pass. On any error `abort`.
    """

    def __init__(
        self, work: RangeWork, layout: TopicLayout, formats: Encoders, open_upload: OpenUpload, room: Room
    ) -> None:
        """Begin the first pass."""
        self._work = work
        self._layout = layout
        self._formats = formats
        self._open_upload = open_upload
        self._room = room
        self.waiting: WaitingTypes | None = None
        """Unparsed records beside the rows, which take memory, too; None: no records wait."""
        self.wanted_columns: set[int] | None = None
        """`Side.columns` of the paths that a further pass writes; None: all, in the first pass."""
        self.finished: list[Finishing] = []
        self._paths = PathStates()
        self._columns_of_path: dict[int, int] = {}
        """`Side.columns` by path."""
        self._held: defaultdict[int, HeldRows] = defaultdict(HeldRows)
        """Rows of held paths, by `Side.columns`."""
        self._open: dict[int, OpenObject] = {}
        """Objects of streamed paths, and the one that is encoded at the moment."""

    @property
    def progress(self) -> float:
        """Share of the range that the sides of the first pass are of."""
        return self._paths.progress

    @progress.setter
    def progress(self, share: float) -> None:
        self._paths.progress = share

    # The rows of a side go to their paths.

    def add(self, side: Side) -> None:
        """Hold the rows of a side, or hand them to streamed objects; rows of paths in other states are skipped."""
        paths = self._paths.ids(side.paths)
        self._columns_of_path.update(dict.fromkeys(paths.tolist(), side.columns))
        states = self._paths.states[paths]
        if len(paths) == 1 and states[0] == State.STREAMED:
            self._open[int(paths[0])].add(side.rows)
            return
        if self.wanted_columns is None:  # the first pass
            self._paths.sizes[paths] += np.bincount(side.indices, held_sizes(side.held), len(paths))
        if len(paths) > 1:
            self._add_to_many(side, paths)
        elif states[0] == State.HELD:
            self._held[side.columns].add(side.held, np.full(side.rows.num_rows, paths[0]))
        held = paths[states == State.HELD]
        for path in held[self._room.is_large(self._paths.estimates(held))].tolist():
            if self._may_stream(path):
                self._stream(path)

    def _add_to_many(self, side: Side, paths: Ids) -> None:
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
        is_whole = self.waiting is None or self._paths.path(path) != QUARANTINE
        return is_whole and self._room.has_stream(len(self._open), self.held_bytes)

    def _stream(self, path: int) -> None:
        if self._open_with_held_rows(path):
            self._paths.states[path] = State.STREAMED
            self._drop_rows_not_held()

    # Memory is short.

    @property
    def held_bytes(self) -> int:
        """Memory that held rows and waiting records take."""
        waiting = 0 if self.waiting is None else self.waiting.bytes
        return sum(held.bytes for held in self._held.values()) + waiting

    @property
    def has_room(self) -> bool:
        """Whether what is in memory stays within the room."""
        return self.held_bytes <= self._room.for_rows(len(self._open))

    def make_room(self) -> None:
        """Leave or stream paths, more each time, until held rows fit."""
        share = FILLED
        while not self.has_room:
            self._keep_smallest(share)
            share /= 2

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
        is_gone = self._paths.states != State.HELD
        for held in self._held.values():
            held.drop(is_gone)

    # The pass ends.

    def order_refused(self) -> None:
        """Put held refused records in order: those that waited came after later ones."""
        if REFUSED not in self._held:
            return
        (quarantine,) = self._paths.ids([QUARANTINE]).tolist()
        if rows := self._held[REFUSED].rows(quarantine):
            ordered = by_offset(rows)
            self._held[REFUSED] = HeldRows()
            self._held[REFUSED].add(ordered, np.full(ordered.num_rows, quarantine))

    def write_at_once(self, side: Side, unexplained: int) -> None:
        """Write whole objects of the rows of a side, which has all rows of its paths."""
        for path, (_, rows) in zip(self._paths.ids(side.paths).tolist(), rows_by_path(side), strict=True):
            self._open_object(path)
            self._open[path].add(rows)
            self._finish(path, unexplained)

    def end_pass(self, unexplained: int) -> bool:
        """Finish the objects of this pass; return whether paths are left for another one, which is begun."""
        for path in [*self._open]:
            self._finish(path, unexplained)
        for path in self._paths.of(State.HELD).tolist():  # one after the other: encoders take more than rows
            if self._open_with_held_rows(path):
                self._finish(path, unexplained)
        self._paths.states[self._paths.states == State.HELD] = State.ENDED
        self._drop_rows_not_held()
        self.progress = 1.0
        left = self._paths.of(State.LEFT)
        chosen = left[self._room.chosen(self._paths.sizes[left], streams=0, share=FILLED)]
        self._paths.states[chosen] = State.HELD
        self.wanted_columns = {self._columns_of_path[path] for path in chosen.tolist()}
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
        encoder = self._formats.encoder(ObjectIdentity(self._work.range, name))
        self._open[path] = OpenObject(name, encoder, self._open_upload(self._work, name))

    def _finish(self, path: int, unexplained: int) -> None:
        self.finished.append(self._open[path].finish(unexplained))
        del self._open[path]
        self._paths.states[path] = State.ENDED

    def abort(self) -> None:
        """Give up: nothing of the open objects becomes visible. Finished ones are what will be written anyway."""
        for open_object in self._open.values():
            open_object.abort()
        self._open.clear()
