"""Appends what is stored to the tables of a topic (`member.duties`): the algorithm of docs/design/tables.md.

This part lists and reads receipts, says which tables are to be looked at, and deletes what all of them hold. What
happens to one table is `tables.appender`.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from logpersister.aside import Threads
from logpersister.backoff import PartlyFailedError
from logpersister.report.tables import TableReport, TablesReport
from logpersister.storage.errors import StorageError
from logpersister.storage.receipts import (
    NO_TYPE,
    Receipt,
    ReceiptName,
    delete_receipts,
    list_receipts,
    read_receipts,
)
from logpersister.storage.store import ObjectStore
from logpersister.tables.appender import MOST_STATISTICS, READ_AT_ONCE, Appender, OpenTable, Outcome, Topic
from logpersister.tables.appends import MOST_RECEIPTS, CommittedPosition
from logpersister.tables.book import ReceiptBook, TableKey
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)

TABLES_AT_ONCE: Final = 4
"""Tables of one topic appended to at once. A commit waits for the catalog most of its time."""
MOST_KEPT: Final = 1_000
"""Receipts that are kept though all tables have their rows, because tables without rows of them have not moved."""
LONGEST_KEPT: Final = timedelta(hours=1)
DELETE_AGAIN_SECONDS: Final = 60.0
"""Pause after the bucket has refused to delete receipts."""
MOVE_SECONDS: Final = 600.0
"""Between two attempts to move such tables, where one cannot move."""
GIVEN_UP: Final = ("gap", "other-table", "no-table")
"""What a higher generation is the remedy for: of the generations below it nobody is asked again."""

Positions = Callable[[str], Mapping[int, CommittedPosition]]
"""Returns how far the partitions of a topic are committed; those of which nothing is known are missing."""


class TableListener:
    """What is told of tables; from any thread."""

    def tables(self, report: TablesReport) -> None:
        """Where the tables of this member stand."""

    def appended(self, topic: str, table: str, rows: int) -> None:
        """A table has more rows."""


class TableDuty:
    """A `member.duties.Duty`."""

    at_once: Final = 1

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        open_table: OpenTable,
        name_of: Callable[[str, int, str], str],
        positions: Positions,
        interval: float,
        *,
        generation: int = 1,
        types: Callable[[str], frozenset[str]] = lambda _: frozenset([NO_TYPE]),
        without_table: Callable[[str], Mapping[str, str]] = lambda _: {},
        listener: TableListener | None = None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        tables_at_once: int = TABLES_AT_ONCE,
    ) -> None:
        """Append the receipts of a group.

        Args:
            types: gives the types of a topic that have tables now.
            without_table: gives those that are stored without theirs, and why.
        """
        self._store = store
        self._group = group
        self._name_of = name_of
        self._positions = positions
        self._interval = interval
        self._generation = generation
        self._types = types
        self._without_table = without_table
        self._clock = clock
        self._now = now
        self._tables_at_once = tables_at_once
        self._appender = Appender(store, group, open_table, pause)
        self._books: dict[str, ReceiptBook] = {}
        self._given_up: set[tuple[str, str]] = set()
        """Topics and messages that were logged."""
        self._move_at: dict[str, float] = {}
        self._delete_at = float("-inf")
        """Time of the clock before which the bucket is not asked again to delete receipts, which it has refused."""
        self._turns: Counter[str] = Counter()
        self._listener = listener or TableListener()
        self._report = TablesReport(interval)
        self._snapshots: dict[str, dict[TableKey, datetime]] = {}

    @property
    def name(self) -> str:
        return "table"

    def concerns(self, topic: str) -> bool:  # noqa: ARG002 - a table is of all topics of a group
        return True

    def perform(self, topic: str, *, last: bool = False) -> float:  # noqa: ARG002 - all is read each time
        """Append what is committed; return the seconds until the next snapshot.

        Raises StorageError; `TableError`, or PartlyFailedError where other tables of the topic are fine.
        """
        failed: dict[TableKey, TableError] = {}
        unreached: set[TableKey] = set()
        while self._pass(topic, failed, unreached):
            failed = {key: error for key, error in failed.items() if key in unreached}
        problems = [*map(str, failed.values()), *self._without_table(topic).values()]
        if not problems:
            return self._interval
        if self._types(topic) == {NO_TYPE} and failed:
            raise next(iter(failed.values()))
        more = f" (and {len(problems) - 1} more tables)" if len(problems) > 1 else ""
        raise PartlyFailedError(problems[0] + more, self._interval) from next(iter(failed.values()), None)

    def forget(self, topic: str) -> None:
        self._given_up = {one for one in self._given_up if one[0] != topic}
        for of_topics in (self._books, self._move_at, self._turns, self._snapshots):
            of_topics.pop(topic, None)
        self._tell(topic, [])

    def _pass(self, topic: str, failed: dict[TableKey, TableError], unreached: set[TableKey]) -> bool:
        """Look at each table that has to be; return whether there is more to do at once.

        `failed` gets why tables failed; those that are `unreached` are not tried again.
        """
        positions = self._positions(topic)  # first: what is committed by then has its receipt
        book = self._books.setdefault(topic, ReceiptBook(lambda number, type_: self._name_of(topic, number, type_)))
        unknown = book.unknown(list_receipts(self._store, self._group, topic))
        contents, are_all = self._read(topic, unknown, positions)
        for receipt in contents:
            book.add(receipt, unknown[receipt.name])
        more = not are_all
        of_topic = Topic(topic, positions, book, {receipt.name: receipt for receipt in contents})
        for key, outcome in self._append(of_topic, unreached):
            more |= outcome.more
            self._note(topic, key, outcome)
            if not outcome.reached:
                unreached.add(key)
            if outcome.failure is not None and not self._gives_up(topic, book, key, outcome.failure):
                failed[key] = outcome.failure
        self._tell(topic, self._standing(topic, book))
        self._delete(topic, book)
        return more

    def _delete(self, topic: str, book: ReceiptBook) -> None:
        """Delete receipts whose rows all tables have, last: a bucket that refuses or is slow with it delays no rows."""
        done = book.done()
        if not done or self._clock() < self._delete_at:
            return
        try:
            delete_receipts(self._store, self._group, topic, done)
        except StorageError as error:
            self._delete_at = self._clock() + DELETE_AGAIN_SECONDS
            log.warning("receipts.not_deleted", topic=topic, receipts=len(done), error=str(error))
        else:
            book.drop(done)

    def _note(self, topic: str, key: TableKey, outcome: Outcome) -> None:
        if outcome.snapshot_at is not None:
            at = datetime.fromtimestamp(outcome.snapshot_at / 1000, UTC)
            self._snapshots.setdefault(topic, {})[key] = at
        if outcome.rows:
            self._report = replace(self._report, rows=self._report.rows + outcome.rows)
            self._listener.appended(topic, key.name, outcome.rows)

    def _standing(self, topic: str, book: ReceiptBook) -> Iterator[TableReport]:
        receipts, snapshots = book.receipts(), self._snapshots.get(topic, {})
        for key in sorted({*receipts, *snapshots}):
            waiting, oldest = receipts.get(key, (0, None))
            yield TableReport(topic, key.name, waiting, oldest, snapshots.get(key))

    def _tell(self, topic: str, standing: Iterable[TableReport]) -> None:
        others = [one for one in self._report.tables if one.topic != topic]
        self._report = replace(self._report, tables=(*others, *standing))
        self._listener.tables(self._report)

    def _append(self, topic: Topic, unreached: Collection[TableKey]) -> Iterator[tuple[TableKey, Outcome]]:
        moves = self._behind(topic)
        order = [key for key in dict.fromkeys([*topic.book.waiting(), *moves]) if key not in unreached]
        turn = self._turns[topic.name] = self._turns[topic.name] + 1
        begin = turn % max(1, len(order))  # not always the same ones first: perhaps they are the ones that fail
        succeeded = False
        order = order[begin:] + order[:begin]
        for first in range(0, len(order), self._tables_at_once):
            some = order[first : first + self._tables_at_once]
            outcomes = self._side_by_side(topic, some, moves)
            yield from zip(some, outcomes, strict=True)
            away = [one.failure is not None and one.failure.is_of_catalog for one in outcomes]
            succeeded |= not all(away)
            if not succeeded:
                return  # the catalog is away, and each of many tables would wait for it

    def _side_by_side(self, topic: Topic, keys: Sequence[TableKey], moves: Collection[TableKey]) -> Sequence[Outcome]:
        def outcome(key: TableKey) -> Outcome:
            return self._appender.append(topic, key, moves=key in moves)

        if len(keys) == 1:
            return [outcome(key) for key in keys]
        with Threads(len(keys), "tables") as threads:
            return list(threads.map(outcome, keys))

    def _behind(self, topic: Topic) -> Sequence[TableKey]:
        """Return tables that have no rows of many receipts, which are kept for them only: rarely any."""
        if self._clock() < self._move_at.get(topic.name, float("-inf")):
            return ()
        found = topic.book.behind(most=MOST_KEPT, before=self._now() - LONGEST_KEPT)
        if found:
            self._move_at[topic.name] = self._clock() + MOVE_SECONDS
        return found

    def _gives_up(self, topic: str, book: ReceiptBook, key: TableKey, error: TableError) -> bool:
        """Whether rows stay out of a table because somebody wants that; it is logged once.

        Somebody has begun a higher generation, or has removed the type and dropped its table.
        """
        removed = key.type not in self._types(topic) and error.reason == "no-table"
        generation = book.newest_generation(key)
        if not removed and (generation >= self._generation or error.reason not in GIVEN_UP):
            return False
        if removed:
            book.waive(key)
        if (topic, str(error)) not in self._given_up:
            self._given_up.add((topic, str(error)))
            log.warning("table.given_up", topic=topic, generation=generation, reason=error.reason, message=str(error))
        return True

    def _read(
        self, topic: str, unknown: Mapping[ReceiptName, datetime], positions: Mapping[int, CommittedPosition]
    ) -> tuple[list[Receipt], bool]:
        """Return the unknown receipts whose range may be committed, and whether these are all.

        At most as many as have room, of each partition alike.
        """
        possible = (
            name
            for name in sorted(unknown)
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
            statistics += sum(len(file.columns) for one in some for of in one.tables.values() for file in of.files)
            read += READ_AT_ONCE
        return found, read >= len(wanted)
