"""Selection of the objects of a topic that are retrieved, and where each of them is put."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from logpersister.finish.folders import existing_folders
from logpersister.records.escaping import ARCHIVES, LATE, QUARANTINE, late_path
from logpersister.records.time_folders import TimeFolder
from logpersister.records.type_folders import AnyFolders
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.current import Current
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore

ALWAYS: Final = 1 << 62
"""An instant behind all folders, in milliseconds since the epoch."""


class SamePlaceError(Exception):
    """Two objects would be one file; the message names them."""


@dataclass(frozen=True, slots=True)
class Window:
    """Times ``[since, until)``, in milliseconds since the epoch; None: without a bound."""

    since: int | None = None
    until: int | None = None

    @property
    def is_all(self) -> bool:
        """Whether it has no bounds."""
        return self.since is None and self.until is None

    def meets(self, begin: int, end: int) -> bool:
        """Whether some of ``[begin, end)`` is in it."""
        return (self.since is None or end > self.since) and (self.until is None or begin < self.until)

    def holds(self, begin: int, end: int) -> bool:
        """Whether all of ``[begin, end)`` is in it."""
        return (self.since is None or begin >= self.since) and (self.until is None or end <= self.until)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object to retrieve."""

    key: str
    size: int
    topic: str
    path: str
    """Folders below that of the topic."""
    folder: TimeFolder | None = None
    """Folder by time; None: the object is not taken for its time."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The objects of a topic, and when the first of their folders begins and the last one ends."""

    topic: str
    objects: Sequence[Wanted]
    begin: int | None = None
    end: int | None = None
    """None: they were not chosen by folders."""


def all_of(store: ObjectStore, topic: str, current: Current, layout: AnyFolders | None) -> Selected:
    """Return all objects of a topic that count, but those in quarantine. Raises StorageError."""
    found = (one for one in store.inventory(topic) if one[0].path.split("/", 1)[0] != QUARANTINE)
    return Selected(topic, [replace(one, folder=folder_of(one.path, layout)) for one in _counting(found, current)])


def folder_of(path: str, layout: AnyFolders | None) -> TimeFolder | None:
    """Return the folder by time that a path is in, or that of late records."""
    if layout is None:
        return None
    inner = path.removeprefix(f"{LATE}/")
    folder = layout.folder_of(inner)
    return folder if folder is None or inner == path else replace(folder, path=late_path(folder.path))


def times_of(folder: TimeFolder, layout: AnyFolders) -> tuple[int, int]:
    """Return when a folder, or that of late records of its time, begins and ends."""
    return layout.begin_of(replace(folder, path=folder.path.removeprefix(f"{LATE}/"))), folder.end


def within(store: ObjectStore, topic: str, current: Current, layout: AnyFolders, window: Window) -> Selected:
    """Return the objects that count in folders by time which the window meets. Raises StorageError.

    Records that came late are in folders of the same times.
    """
    until = ALWAYS if window.until is None else layout.all_over(window.until)
    existing = existing_folders(store, topic, layout, after=window.since, until=until)
    folders = [one for one in existing if window.meets(layout.begin_of(one), one.end)]
    spans = [(layout.begin_of(one), one.end) for one in folders]
    objects = [replace(one, folder=folder) for folder, one in _inside(store, topic, current, folders)]
    late = f"{names.topic_prefix(store.prefix, topic)}{LATE}/"
    for one in _counting(_named(store, late), current):
        folder = folder_of(one.path, layout)
        if folder is None:
            continue
        times = times_of(folder, layout)
        if window.meets(*times):
            spans.append(times)
            objects.append(replace(one, folder=folder))
    if not objects:
        return Selected(topic, ())
    return Selected(topic, objects, min(begin for begin, _ in spans), max(end for _, end in spans))


def chosen(store: ObjectStore, topic: str, current: Current, keys: Iterable[str]) -> Selected:
    """Return the objects with these names that count. Raises StorageError."""
    wanted = set(keys)
    found = (one for one in store.inventory(topic) if one[1].key in wanted)
    return Selected(topic, list(_counting(found, current)))


def _inside(
    store: ObjectStore, topic: str, current: Current, folders: Sequence[TimeFolder]
) -> Iterator[tuple[TimeFolder, Wanted]]:
    root = names.topic_prefix(store.prefix, topic)

    def listed(folder: TimeFolder) -> list[tuple[TimeFolder, Wanted]]:
        inside = _named(store, f"{root}{folder.path}/")
        return [(folder, one) for one in _counting(inside, current)]

    for some in ask_each(listed, folders):
        yield from some


def _named(store: ObjectStore, prefix: str) -> Iterator[tuple[ObjectName, ListedObject]]:
    for listed in store.list_objects(prefix):
        name = names.parse_object_key(store.prefix, listed.key)
        if name is not None:
            yield name, listed


def _counting(found: Iterable[tuple[ObjectName, ListedObject]], current: Current) -> Iterator[Wanted]:
    for name, listed in found:
        if current.counts(name):
            yield Wanted(listed.key, listed.size, name.topic, name.path)


def places(
    prefix: str, objects: Iterable[Wanted], *, collapse_topics: bool = False, collapse_time: bool = False
) -> dict[str, PurePosixPath]:
    """Return where the objects are put, by their names, as they stand below the prefix. Pure.

    Archives are put into the folders whose records they have.

    Folders that are left out become the beginning of the file's name, because a range has an object of the same name in
    each of its folders. Raises SamePlaceError.

    Args:
        collapse_topics: leave out the folders of topics.
        collapse_time: leave out the folders by time, with those above them.
    """
    found: dict[str, PurePosixPath] = {}
    taken: dict[PurePosixPath, str] = {}
    for one in objects:
        relative = names.relative_key(prefix, one.key)
        assert relative is not None, "it was listed below the prefix"
        topic, *folders, file = relative.split("/")
        folders = folders[1:] if folders[:1] == [ARCHIVES] else folders
        depth = one.folder.path.count("/") + 1 if collapse_time and one.folder is not None else 0
        before = [topic] if collapse_topics else []
        file = "_".join([*before, *folders[:depth], file])
        place = PurePosixPath(*([] if collapse_topics else [topic]), *folders[depth:], file)
        if place in taken:
            raise SamePlaceError(f"objects {taken[place]!r} and {one.key!r} would both be the file {place}")
        taken[place] = one.key
        found[one.key] = place
    return found
