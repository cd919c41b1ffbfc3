"""Finds the objects of one group behind an offset, with work that does not grow with what is older.

An object's name has the start of its range, so behind the topic's folder (and the partition path) a listing can begin
at an offset. Only a layout with partition paths has to be listed as a whole, since any path may have something new;
that is done up to a number of names, beyond which the paths have to be known, or guessed: records of now go to the
last ones.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.member.shadow.alignment import ComparedObject
from logpersister.ranges import Offset, TopicPartition
from logpersister.records.escaping import QUARANTINE, late_path, own_path
from logpersister.storage import names
from logpersister.storage.ahead import newest_folders
from logpersister.storage.asking import ask_each
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore

MOST_LISTED: Final = 20_000
"""Names of a topic that are listed at each comparison, 20 requests, where the paths can be known otherwise."""
MOST_LISTED_BLINDLY: Final = 200_000
"""Most names of a topic listed at each comparison where the paths cannot be known otherwise."""

Listed = tuple[ObjectName, ListedObject]


class TooManyError(Exception):
    """The topic's folder has more names than shall be listed."""


@dataclass(frozen=True, slots=True)
class Window:
    """Starts of ranges that are wanted of a partition: ``[begin, limit)``."""

    begin: Offset
    limit: Offset


Windows = Mapping[TopicPartition, Window]


class StoredObjects:
    """The objects of one group in the generations that are compared."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        *,
        in_folders: bool,
        most: int,
        has_quarantine: bool = False,
        has_late_folders: bool = False,
    ) -> None:
        """Find the objects of one group.

        Args:
            most: how many names of a topic are listed then.
        """
        self._store = store
        self._group = group
        self._in_folders = in_folders
        self._most = most
        self._quarantine = [QUARANTINE] if has_quarantine else []
        self._has_late_folders = has_late_folders
        self._too_many: set[str] = set()

    def find(
        self, topic: str, windows: Windows, generations: Collection[int], folders: Collection[str] | None = None
    ) -> dict[TopicPartition, list[Listed]]:
        """Return the objects of these partitions of a topic that start in their windows.

        Args:
            folders: the partition paths in which they may be; None: in any.

        Raises:
            StorageError: the bucket fails.
            TooManyError: it is not known in which folders they are, and there are too many objects to look for them.
        """
        if not self._in_folders:
            folders = ["", *self._quarantine]
        elif folders is not None:
            folders = self._wherever(folders)
        listing = self._all(topic) if folders is None else self._in(topic, windows, generations, folders)
        found: defaultdict[TopicPartition, list[Listed]] = defaultdict(list)
        for name, listed in listing:
            window = windows.get(name.topic_partition)
            wanted = window is not None and window.begin <= name.start < window.limit
            if wanted and name.generation in generations:
                found[name.topic_partition].append((name, listed))
        return found

    def newest(self, topic: str) -> list[str]:
        """Return the last partition paths of a topic, a few of each level; quarantine, which has no end, as well."""
        return [*newest_folders(self._store, topic), *self._quarantine]

    def stored(self, found: Iterable[Listed]) -> Iterator[ComparedObject]:
        """Ask the bucket what the objects say of themselves; those of other groups are left out.

        Raises ForeignObjectError for what is not whole, StorageError.
        """
        for one in ask_each(lambda each: self._ask(*each), found):
            if one is not None and one.facts.group == self._group:
                yield one

    def _ask(self, name: ObjectName, listed: ListedObject) -> ComparedObject | None:
        facts = self._store.facts(listed.key)
        return None if facts is None else ComparedObject(listed.key, own_path(name.path), listed.size, facts)

    def _wherever(self, folders: Collection[str]) -> list[str]:
        """Return folders, and those in which their late records may be."""
        own = {own_path(path) for path in folders}
        late = {late_path(path) for path in own - {QUARANTINE}} if self._has_late_folders else set()
        return sorted(own | late)

    def _all(self, topic: str) -> Iterator[Listed]:
        if topic in self._too_many:
            raise TooManyError(f"more than {self._most:,} objects would have to be listed at each look")
        for number, each in enumerate(self._store.inventory(topic)):
            if number >= self._most:
                self._too_many.add(topic)
                raise TooManyError(f"more than {self._most:,} objects would have to be listed at each look")
            yield each

    def _in(
        self, topic: str, windows: Windows, generations: Collection[int], folders: Collection[str]
    ) -> Iterator[Listed]:
        places = [(path, number, each) for path in folders for number in sorted(generations) for each in windows]
        for found in ask_each(lambda place: list(self._behind(topic, *place, windows)), places):
            yield from found

    def _behind(
        self, topic: str, path: str, generation: int, partition: TopicPartition, windows: Windows
    ) -> Iterator[Listed]:
        """List one partition in one folder, from the begin of its window to the limit."""
        window = windows[partition]
        prefix = names.partition_prefix(self._store.prefix, topic, path, generation, partition.partition)
        for listed in self._store.list_objects(prefix, start_after=f"{prefix}{window.begin:020d}"):
            name = names.parse_object_key(self._store.prefix, listed.key)
            if name is not None and name.start >= window.limit:
                return
            if name is not None:
                yield name, listed
