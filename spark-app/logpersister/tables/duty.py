"""Appends what is stored to the table of a topic (`member.duties`): the algorithm of docs/design/tables.md.

The table is loaded before anything is concluded, and one attempt is made; whatever goes wrong, the next one begins with
loading it. So a zombie, a lost answer or another member that does the same at the same time change nothing.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from logpersister.tables.errors import TableError, TableReason
from logpersister.tables.offsets import Held, TableView, held_by

log = structlog.get_logger(__name__)

CONFLICTS: Final = 5
"""In a row, before the topic is left for later: compaction and other writers commit, too."""
CONFLICT_SECONDS: Final = 0.5
READ_AT_ONCE: Final = 100
MOST_STATISTICS: Final = 100_000
"""Columns of files of one snapshot: what receipts say of them is in memory at once, about a kilobyte each."""
GIVEN_UP: Final = ("gap", "other-table", "no-table")
"""What a higher generation is the remedy for: of the generations below it nobody is asked again."""


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

    at_once: Final = 1

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        open_table: Callable[[str, int], Table],
        positions: Positions,
        interval: float,
        *,
        generation: int = 1,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Append the receipts of a group.

        Args:
            store: the bucket with the receipts.
            group: whose receipts they are.
            open_table: gives the table of a topic and a generation.
            positions: gives how far a topic is committed.
            interval: seconds between two snapshots.
            generation: that of the manifest.
            pause: waits after a conflict.
        """
        self._store = store
        self._group = group
        self._open_table = open_table
        self._positions = positions
        self._interval = interval
        self._generation = generation
        self._pause = pause
        self._given_up: set[tuple[str, str]] = set()
        """Topics and messages that were logged."""
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
        self._given_up = {one for one in self._given_up if one[0] != topic}
        self._ends.pop(topic, None)

    def _append(self, topic: str) -> bool:
        """Make one attempt; return whether there is more to do at once."""
        positions = self._positions(topic)  # first: what is committed by then has its receipt
        names = list(list_receipts(self._store, self._group, topic))
        generations = sorted({name.generation for name in names}, reverse=True)
        tables = {number: self._open_table(topic, number) for number in generations}
        of_tables: defaultdict[str, list[ReceiptName]] = defaultdict(list)
        for name in names:
            of_tables[tables[name.generation].name].append(name)
        more, failed = False, None
        for table in {table.name: table for table in tables.values()}.values():  # that of the newest generation first
            of_table = of_tables[table.name]
            try:
                more = self._append_to(topic, table, of_table, positions) or more
            except TableError as error:
                if not self._gives_up(topic, max(of_table).generation, error.reason, str(error)):
                    failed = failed or error
        if failed is not None and not more:
            raise failed
        return more

    def _append_to(
        self, topic: str, table: Table, names: Sequence[ReceiptName], positions: Mapping[int, CommittedPosition]
    ) -> bool:
        """Append to one table; return whether there is more to do at once."""
        loaded = table.load()
        view = loaded.view
        held = held_by(view)
        done = self._known_done(topic, names, held)
        receipts, are_all = self._read(topic, [name for name in names if name not in done], positions)
        found = appends(view, held, positions, receipts)
        if any(stop.reason == "gap" for stop in found.stops):  # rare: the records of losses are listed
            found = appends(view, held, positions, receipts, self._unstored(topic, positions))
        # A backlog; what only waits for a person, or came meanwhile, has time until the next snapshot.
        more = not are_all and 0 < len(receipts) <= 2 * len(found.take)
        if found.take:
            self._commit(topic, loaded, found)
            if not more:
                done |= self._known_done(topic, names, held_by(table.load().view))
        self._delete(topic, done.union(found.done))  # last: a bucket that refuses it delays no rows
        if more:
            return True
        found.stops = [
            stop for stop in found.stops if not self._gives_up(topic, stop.generation, stop.reason, stop.message)
        ]
        found.raise_stops(view.table)
        return False

    def _gives_up(self, topic: str, generation: int, reason: TableReason, message: str) -> bool:
        """Whether rows stay out of a table because somebody has begun a higher generation; it is logged once."""
        if generation >= self._generation or reason not in GIVEN_UP:
            return False
        if (topic, message) not in self._given_up:
            self._given_up.add((topic, message))
            log.warning("table.given_up", topic=topic, generation=generation, reason=reason, message=message)
        return True

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

    def _known_done(self, topic: str, names: Iterable[ReceiptName], held: Held) -> set[ReceiptName]:
        """Return the receipts of ranges that this process has appended, where the table says so, too."""
        ends = self._ends.get(topic, {})
        holds: dict[tuple[int, int], Offset] = {}
        for of, offsets in held.items():
            for partition, offset in offsets.items():
                holds[of.generation, partition] = max(offset, holds.get((of.generation, partition), 0))
        return {name for name in names if name in ends and ends[name] <= holds.get(name[:2], 0)}

    def _read(
        self, topic: str, names: Sequence[ReceiptName], positions: Mapping[int, CommittedPosition]
    ) -> tuple[list[Receipt], bool]:
        """Return the receipts whose range may be committed, and whether these are all.

        At most as many as go at once, of each partition alike.
        """
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
        wanted = [name for _, name in sorted(ranked)]
        found: list[Receipt] = []
        statistics = read = 0
        while read < min(len(wanted), MOST_RECEIPTS) and statistics < MOST_STATISTICS:
            some = read_receipts(self._store, self._group, topic, wanted[read : read + READ_AT_ONCE])
            found += some
            statistics += sum(len(file.columns) for receipt in some for file in receipt.files)
            read += READ_AT_ONCE
        return found, read >= len(wanted)

    def _unstored(self, topic: str, positions: Mapping[int, CommittedPosition]) -> list[Range]:
        ids = {position.topic_id for position in positions.values()}
        return [
            loss.range
            for loss in list_losses(self._store, self._group)
            if loss.range.partition.topic == topic and loss.topic_id in ids
        ]

    def _delete(self, topic: str, done: Collection[ReceiptName]) -> None:
        """Delete what the loaded table says it holds, never what is only committed."""
        if not done:
            return
        delete_receipts(self._store, self._group, topic, list(done))
        ends = self._ends.get(topic, {})
        for name in done:
            ends.pop(name, None)
