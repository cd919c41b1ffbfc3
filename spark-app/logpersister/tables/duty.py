"""Appends what is stored to the table of a topic (`member.duties`): the algorithm of docs/design/tables.md.

The table is loaded before anything is concluded, and one attempt is made; whatever goes wrong, the next one begins with
loading it. So a zombie, a lost answer or another member that does the same at the same time change nothing.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import structlog

from logpersister.ranges import Offset, Range
from logpersister.storage.losses import list_losses
from logpersister.storage.receipts import (
    Receipt,
    ReceiptName,
    TableFile,
    delete_receipts,
    list_receipts,
    read_receipts,
)
from logpersister.storage.store import ObjectStore
from logpersister.tables.appends import MOST_RECEIPTS, Appends, CommittedPosition, appends
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, TableView, held_by

log = structlog.get_logger(__name__)

CONFLICTS: Final = 5
"""In a row, before the topic is left for later: compaction and other writers commit, too."""
CONFLICT_SECONDS: Final = 0.5


class Loaded(Protocol):
    """A table at one moment (`tables.catalog.LoadedTable`)."""

    @property
    def view(self) -> TableView: ...

    def append(self, files: Sequence[TableFile], held: Held) -> None: ...


class Table(Protocol):
    """The table of a topic (`tables.catalog.IcebergTable`)."""

    @property
    def name(self) -> str: ...

    def load(self) -> Loaded: ...


Positions = Callable[[str], Mapping[int, CommittedPosition]]
"""Returns how far the partitions of a topic are committed; those of which nothing is known are missing."""


class TableDuty:
    """A `member.duties.Duty`."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        open_table: Callable[[str], Table],
        positions: Positions,
        interval: float,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Append the receipts of a group every `interval` seconds; `pause` waits after a conflict."""
        self._store = store
        self._group = group
        self._open_table = open_table
        self._positions = positions
        self._interval = interval
        self._pause = pause
        self._tables: dict[str, Table] = {}
        self._ends: dict[str, dict[ReceiptName, Offset]] = {}
        """By topic: where the ranges of receipts end that this process has appended, so that they need no reading."""

    @property
    def name(self) -> str:
        return "table"

    def concerns(self, topic: str) -> bool:  # noqa: ARG002 - a table is of all topics of a group
        return True

    def perform(self, topic: str, *, last: bool = False) -> float:  # noqa: ARG002 - all is read each time
        """Append what is committed; return the seconds until the next snapshot. Raises `TableError`, StorageError."""
        conflicts = 0
        while True:
            try:
                if not self._append(topic):
                    return self._interval
            except TableError as error:
                conflicts += 1
                if error.reason != "conflict" or conflicts >= CONFLICTS:
                    raise
                log.info("table.conflict", topic=topic, error=str(error))
                self._pause(CONFLICT_SECONDS * 2**conflicts * random.uniform(0.5, 1.0))

    def forget(self, topic: str) -> None:
        self._tables.pop(topic, None)
        self._ends.pop(topic, None)

    def _append(self, topic: str) -> bool:
        """Make one attempt; return whether there may be more to do at once."""
        positions = self._positions(topic)  # first: what is committed by then has its receipt
        names = list(list_receipts(self._store, self._group, topic))
        if not names:
            return False
        if topic not in self._tables:
            self._tables[topic] = self._open_table(topic)
        loaded = self._tables[topic].load()
        view = loaded.view
        held = held_by(view)
        done = self._known_done(topic, names, held)
        receipts = self._read(topic, [name for name in names if name not in done], positions)
        found = appends(view, held, positions, receipts)
        if any(stop.reason == "gap" for stop in found.stops):  # rare: the records of losses are listed
            found = appends(view, held, positions, receipts, self._unstored(topic, positions))
        self._delete(topic, [*done, *found.done])
        if found.take:
            self._commit(topic, loaded, found)
            return True
        found.raise_stops(view.table)
        return False

    def _commit(self, topic: str, loaded: Loaded, found: Appends) -> None:
        files = [file for receipt in found.take for file in receipt.files]
        started = time.perf_counter()
        loaded.append(files, found.held)
        ends = self._ends.setdefault(topic, {})
        ends |= {receipt.name: receipt.range.end for receipt in found.take}
        log.info(
            "table.appended",
            topic=topic,
            table=loaded.view.table,
            ranges=len(found.take),
            files=len(files),
            rows=sum(file.records for file in files),
            seconds=round(time.perf_counter() - started, 3),
        )

    def _known_done(self, topic: str, names: Sequence[ReceiptName], held: Held) -> set[ReceiptName]:
        """Return the receipts of ranges that this process has appended, where the table says so, too."""
        ends = self._ends.get(topic, {})
        holds: dict[tuple[int, int], Offset] = {}
        for of, offsets in held.items():
            for partition, offset in offsets.items():
                holds[of.generation, partition] = max(offset, holds.get((of.generation, partition), 0))
        return {name for name in names if name in ends and ends[name] <= holds.get(name[:2], 0)}

    def _read(
        self, topic: str, names: Sequence[ReceiptName], positions: Mapping[int, CommittedPosition]
    ) -> list[Receipt]:
        """Return the receipts whose range may be committed: at most as many as go at once, of each partition alike."""
        possible = (
            name
            for name in sorted(names)
            if name.partition in positions and name.start < positions[name.partition].offset
        )
        places: Counter[tuple[int, int]] = Counter()
        ranked: list[tuple[int, ReceiptName]] = []
        for name in possible:
            ranked.append((places[name[:2]], name))
            places[name[:2]] += 1
        return read_receipts(self._store, self._group, topic, [name for _, name in sorted(ranked)[:MOST_RECEIPTS]])

    def _unstored(self, topic: str, positions: Mapping[int, CommittedPosition]) -> list[Range]:
        ids = {position.topic_id for position in positions.values()}
        return [
            loss.range
            for loss in list_losses(self._store, self._group)
            if loss.range.partition.topic == topic and loss.topic_id in ids
        ]

    def _delete(self, topic: str, done: Sequence[ReceiptName]) -> None:
        """Delete what the loaded table says it holds, never what is only committed."""
        if not done:
            return
        delete_receipts(self._store, self._group, topic, done)
        ends = self._ends.get(topic, {})
        for name in done:
            ends.pop(name, None)
