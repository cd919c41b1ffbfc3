"""Registers the folders of topics as partitions of their tables (`member.duties`): docs/design/hive.md.

It is told by notes in the bucket (`storage.untold`), and deletes each once its folder is a partition. So a metastore
that is away delays registration and nothing else, and whoever is stopped has somebody begin again where it stood.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import structlog

from logpersister.manifest.blocks.table import Registration
from logpersister.storage.finished import folder_content, list_folders
from logpersister.storage.names import topic_prefix
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import TABLE, Untold, UntoldListing, delete_untold, put_untold
from logpersister.tables.errors import TableError
from logpersister.tables.hive.columns import HiveColumns
from logpersister.tables.hive.folders import Partition, partition_of
from logpersister.tables.hive.metastore import StoredTable
from logpersister.tables.hive.table import AT_ONCE, REGISTERED, HiveTable

log = structlog.get_logger(__name__)

MOST_SECONDS: Final = 60.0
"""Longest attempt; the next one follows at once and takes the rest."""


def folders_of(store: ObjectStore, topic: str, prefixes: Sequence[str]) -> Iterator[str]:
    """Yield the paths of all folders of a topic; one listing for each folder above them. Raises StorageError.

    Args:
        prefixes: what the names of folders begin with, by level; others, such as quarantine, are passed over.
    """
    root = topic_prefix(store.prefix, topic)

    def below(path: str, depth: int) -> Iterator[str]:
        for key in store.folders(f"{root}{path}"):
            inner = key.removeprefix(root)
            if not inner.removeprefix(path).startswith(prefixes[depth]):
                continue
            if depth + 1 == len(prefixes):
                yield inner.rstrip("/")
            else:
                yield from below(inner, depth + 1)

    if prefixes:
        yield from below("", 0)


def finished_folders(store: ObjectStore, group: str, topic: str, *, deepest: bool) -> Iterator[str]:
    """Yield the paths of all folders in finished ones. Raises StorageError. `deepest`: as in `folders_in`."""
    for path in list_folders(store, group, topic):
        yield from folders_in(store, group, topic, path, deepest=deepest)


def folders_in(store: ObjectStore, group: str, topic: str, path: str, *, deepest: bool) -> Sequence[str]:
    """Return the folders that have the objects of a finished folder. Raises StorageError.

    `deepest`: no levels stand below folders by time, so it is the one.
    """
    if deepest:
        return [path]
    found = folder_content(store, group, topic, path)
    objects = () if found is None else found[0].objects
    return sorted({f"{path}/{one.name.rpartition('/')[0]}" for one in objects})


@dataclass(frozen=True, slots=True)
class RegisteredTopic:
    """A topic with its table."""

    table: HiveTable
    prefixes: tuple[str, ...]
    """What the names of folders begin with, by level."""
    when: Registration
    deepest: bool
    """Whether folders by time have no levels below them."""


class RegistrationDuty:
    """A `member.duties.Duty`. Thread-safe, as each topic has one attempt at a time."""

    name = "table"
    at_once: Final = 4

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        topic: Callable[[str], RegisteredTopic],
        columns: Callable[[str], HiveColumns | None],
        interval: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Register the folders of a group.

        Args:
            topic: gives a topic with its table. Raises `TableError`.
            columns: gives which columns its table must have; None where a registry has not been asked for them yet.
        """
        self._store = store
        self._group = group
        self._topic = topic
        self._columns = columns
        self._interval = interval
        self._clock = clock
        self._listing = UntoldListing(store, group, TABLE, interval, clock)
        self._settled: set[str] = set()
        """Topics whose table has all folders that are not noted."""
        self._surveys: dict[str, Iterator[Partition]] = {}
        """Unfinished surveys of topics, each with the partitions that are left."""

    def concerns(self, topic: str) -> bool:  # noqa: ARG002 - a table is of all topics of a group
        return True

    def perform(self, topic: str, *, last: bool = False) -> float:
        """Register what is noted; return the seconds until the next look. Raises `TableError`, StorageError."""
        notes = self._listing.of(topic, anew=last)
        if not notes and topic in self._settled:
            return self._interval
        of, columns = self._topic(topic), self._columns(topic)
        table, until = of.table.load(columns), self._clock() + MOST_SECONDS
        if self._survey(topic, of, table, until) or self._register(topic, of, table, notes, until):
            return 0.0
        self._settled.add(topic)
        if columns is not None:
            of.table.ensure(columns)  # last: columns that do not fit keep no folders away
        return self._interval

    def forget(self, topic: str) -> None:
        self._settled.discard(topic)
        self._surveys.pop(topic, None)

    def _survey(self, topic: str, of: RegisteredTopic, table: StoredTable, until: float) -> bool:
        """Register what was there before its table, or before `spec.table.partitions` was changed.

        Return whether more is left. What is refused is noted, as if its first object had come now.
        """
        if table.parameters.get(REGISTERED) == of.when:
            return False
        left = self._surveys.pop(topic, None) or self._unregistered(topic, of)
        count = 0
        while batch := list(islice(left, AT_ONCE)):
            for partition in of.table.add(table, batch):
                put_untold(self._store, self._group, TABLE, topic, Untold(partition.path, 0))
                self._listing.forget()
            count += len(batch)
            if self._clock() > until:
                self._surveys[topic] = left
                break
        log.info("table.surveyed", topic=topic, table=of.table.name, folders=count, more=topic in self._surveys)
        if topic in self._surveys:
            return True
        of.table.set_registered(of.when)
        return False

    def _unregistered(self, topic: str, of: RegisteredTopic) -> Iterator[Partition]:
        if of.when == "onFinish":
            paths = finished_folders(self._store, self._group, topic, deepest=of.deepest)
        else:
            paths = folders_of(self._store, topic, of.prefixes)
        known = set(of.table.partitions())
        found = (partition_of(path, of.prefixes) for path in paths)
        return (one for one in found if one is not None and one.values not in known)

    def _register(
        self, topic: str, of: RegisteredTopic, table: StoredTable, notes: Sequence[Untold], until: float
    ) -> bool:
        """Register what is noted, and delete the notes; return whether more is left. Raises `TableError`."""
        refused: dict[Partition, str] = {}
        for begin in range(0, len(notes), AT_ONCE):
            some = notes[begin : begin + AT_ONCE]
            if begin and self._clock() > until:
                self._listing.forget()
                return True
            wanted = {note: self._partitions(topic, of, note) for note in some}
            new = of.table.add(table, sorted({one for partitions in wanted.values() for one in partitions}))
            done = [note for note, partitions in wanted.items() if new.keys().isdisjoint(partitions)]
            delete_untold(self._store, self._group, TABLE, topic, done)
            self._listing.forget()
            refused |= new
            log.info("table.registered", topic=topic, table=of.table.name, folders=len(done))
        if refused:
            raise _told(of.table.name, refused)
        return False

    def _partitions(self, topic: str, of: RegisteredTopic, note: Untold) -> Sequence[Partition]:
        paths = [note.path]
        if note.number:
            paths = list(folders_in(self._store, self._group, topic, note.path, deepest=of.deepest))
        found = (partition_of(path, of.prefixes) for path in paths)
        return [one for one in found if one is not None]


def _told(table: str, refused: Mapping[Partition, str]) -> TableError:
    first, *others = sorted(refused)
    more = f" (and {len(others)} more folders)" if others else ""
    return TableError("refused", f"table {table}: folder {first.path} is not registered: {refused[first]}{more}")
