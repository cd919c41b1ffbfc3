"""Appends to one table what receipts have for it: the steps that follow the reading of receipts.

The table is loaded before anything is concluded, and one attempt is made; whatever goes wrong, the next one begins with
loading it. So a zombie, a lost answer or another member that does the same at the same time change nothing.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from logpersister.ranges import Range
from logpersister.storage.losses import list_losses
from logpersister.storage.receipts import Receipt, ReceiptName, TableFile, read_receipts
from logpersister.storage.store import ObjectStore
from logpersister.tables.appends import MOST_RECEIPTS, Appends, CommittedPosition, Portion, appends
from logpersister.tables.book import ReceiptBook, TableKey
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, TableView, held_by

log = structlog.get_logger(__name__)

CONFLICTS: Final = 5
"""Conflicts in a row before the table is left for later: compaction and other writers commit, too."""
CONFLICT_SECONDS: Final = 0.5
READ_AT_ONCE: Final = 100
MOST_STATISTICS: Final = 100_000
"""Columns of files that receipts tell of and that are in memory at once, about a kilobyte each."""


class Loaded(Protocol):
    """A table at one moment (`tables.catalog.LoadedTable`)."""

    @property
    def view(self) -> TableView: ...

    def append(self, files: Sequence[TableFile], held: Held) -> None: ...


class Table(Protocol):
    """A table (`tables.catalog.IcebergTable`)."""

    @property
    def name(self) -> str: ...

    def load(self) -> Loaded: ...


OpenTable = Callable[[str, int, str], Table]
"""Returns the table of a topic, a generation and a type. Raises `TableError`."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What was found out of a topic before its tables are loaded."""

    name: str
    positions: Mapping[int, CommittedPosition]
    """How far it is committed; older than the listing of its receipts."""
    book: ReceiptBook
    contents: Mapping[ReceiptName, Receipt]
    """Receipts that were read just now; the others are read again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of appending to one table."""

    more: bool = False
    """Whether more is left that can be appended at once."""
    failure: TableError | None = None
    reached: bool = True
    """Whether the table was appended to as far as it goes: where it failed, a person has to decide about the rest."""
    rows: int = 0
    snapshot_at: int | None = None
    """When its newest snapshot was made, in milliseconds since the epoch; None: not known, or there is none."""


class Appender:
    """Appends to tables of topics, to several at once if it is called so."""

    def __init__(
        self, store: ObjectStore, group: str, open_table: OpenTable, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._store = store
        self._group = group
        self._open_table = open_table
        self._pause = pause
        self._lock = threading.Lock()
        """Guards receipt books."""

    def append(self, topic: Topic, key: TableKey, *, moves: bool = False) -> Outcome:
        """Append what is committed. Raises StorageError.

        Args:
            moves: whether it is to move over ranges without rows, too, by a snapshot without files.
        """
        conflicts = 0
        while True:
            try:
                return self._attempt(topic, key, moves=moves)
            except TableError as error:
                conflicts += 1
                if error.reason != "conflict" or conflicts >= CONFLICTS:
                    return Outcome(failure=error, reached=False)
                log.info("table.conflict", topic=topic.name, table=key.name, error=str(error))
                self._pause(CONFLICT_SECONDS * 2**conflicts * random.uniform(0.5, 1.0))

    def _attempt(self, topic: Topic, key: TableKey, *, moves: bool) -> Outcome:
        table = self._open_table(topic.name, key.generation, key.type)
        loaded = table.load()
        view = loaded.view
        held = held_by(view)
        with self._lock:
            topic.book.note_held(key, held)
            portions = topic.book.portions(key)
        found = self._found(topic, view, held, portions, MOST_RECEIPTS)
        files, are_all = self._files(topic, key, found.take)
        if not are_all:
            found = self._found(topic, view, held, portions, len(files))
        rows = 0
        if found.take or (moves and found.moved):
            rows = self._commit(topic, key, loaded, [file for of_range in files for file in of_range], found)
            view = table.load().view
            with self._lock:
                topic.book.note_held(key, held_by(view))
        return Outcome(not are_all, found.told(view.table), rows=rows, snapshot_at=view.at)

    def _found(self, topic: Topic, view: TableView, held: Held, portions: Sequence[Portion], most: int) -> Appends:
        found = appends(view, held, topic.positions, portions, most=most)
        if any(stop.reason == "gap" for stop in found.stops):  # rare: the records of losses are listed
            found = appends(view, held, topic.positions, portions, self._unstored(topic), most)
        return found

    def _files(self, topic: Topic, key: TableKey, take: Sequence[Portion]) -> tuple[list[Sequence[TableFile]], bool]:
        """Return the files of portions, range by range, and whether these are of all: no more than have room."""
        found: list[Sequence[TableFile]] = []
        statistics = 0
        for begin in range(0, len(take), READ_AT_ONCE):
            if statistics >= MOST_STATISTICS:
                return found, False
            names = [one.name for one in take[begin : begin + READ_AT_ONCE]]
            missing = [name for name in names if name not in topic.contents]
            again = read_receipts(self._store, self._group, topic.name, missing) if missing else []
            contents = {**topic.contents, **{receipt.name: receipt for receipt in again}}
            for name in names:
                if name not in contents:
                    raise TableError("conflict", f"table {key.name}: others have appended, and deleted a receipt")
                files = contents[name].tables[key.type].files
                found.append(files)
                statistics += sum(len(file.columns) for file in files)
        return found, True

    def _unstored(self, topic: Topic) -> list[Range]:
        ids = {position.topic_id for position in topic.positions.values()}
        return [
            loss.range
            for loss in list_losses(self._store, self._group)
            if loss.range.partition.topic == topic.name and loss.topic_id in ids
        ]

    def _commit(self, topic: Topic, key: TableKey, loaded: Loaded, files: Sequence[TableFile], found: Appends) -> int:
        started, rows = time.perf_counter(), sum(file.records for file in files)
        loaded.append(files, found.held)
        log.info(
            "table.appended",
            topic=topic.name,
            table=key.name,
            ranges=len(found.take),
            files=len(files),
            rows=rows,
            seconds=round(time.perf_counter() - started, 3),
        )
        return rows
