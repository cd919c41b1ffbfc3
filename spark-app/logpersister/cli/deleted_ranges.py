"""Ranges of a topic that lie in a window of time as a whole, so that ``logpersister delete`` may take them.

A range is deleted with all of its objects, or stays: what is missing is then told by offsets.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from logpersister.backup.listing import read_backup
from logpersister.finish.folders import existing_folders
from logpersister.ranges import Span, union
from logpersister.records.escaping import ARCHIVES, QUARANTINE
from logpersister.records.type_folders import AnyFolders
from logpersister.replay.moments import BackupMoments
from logpersister.retrieve.selection import Window, folder_of, times_of
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.copies import Copy
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore

Listed = tuple[ObjectName, ListedObject]
RangeName = tuple[int, int, int]
"""Generation, partition and start: what names of objects say of their range."""
IsInside = Callable[[ObjectName], bool]


@dataclass(slots=True)
class WholeRange:
    """A range that lies in the window, with all of its objects."""

    span: Span
    topic_id: str | None
    objects: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    """Names of the facts documents of its objects."""
    bytes: int = 0


@dataclass(slots=True)
class Chosen:
    """What a window has of a topic."""

    topic: str
    ranges: dict[RangeName, WholeRange] = field(default_factory=dict)
    partly: int = 0
    """Ranges that stay because some of their objects are outside."""
    quarantined: int = 0
    """Ranges that stay because of refused records, whose time is not known."""
    newest: int = 0
    """Ranges that stay because they say where their partition is stored up to."""
    foreign: int = 0
    """Objects of other groups or programs, which stay."""
    staying: frozenset[str] = frozenset()
    archives: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the archives of folders of which no object stays, by their names."""
    copied: Sequence[tuple[Copy, Mapping[str, int]]] = ()
    """Those of each copy."""
    archives_kept: int = 0
    """Archives that stay with objects of their folders."""

    @property
    def kept(self) -> int:
        return self.partly + self.quarantined + self.newest

    @property
    def objects(self) -> list[str]:
        return [key for one in self.ranges.values() for key in one.objects]

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.ranges.values())

    @property
    def sizes_of_archives(self) -> Sequence[int]:
        """Bytes of each archive in any store."""
        return [size for one in (self.archives, *(some for _, some in self.copied)) for size in one.values()]

    def by_topic_id(self) -> Iterator[tuple[str | None, Mapping[int, Mapping[int, tuple[Span, ...]]]]]:
        """Yield the deleted offsets by generation and partition, apart for each topic that had this name."""
        found: defaultdict[str | None, defaultdict[int, defaultdict[int, list[Span]]]]
        found = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        for (generation, partition, _), one in self.ranges.items():
            found[one.topic_id][generation][partition].append(one.span)
        for topic_id, generations in found.items():
            yield (
                topic_id,
                {
                    generation: {partition: tuple(union(spans)) for partition, spans in partitions.items()}
                    for generation, partitions in generations.items()
                },
            )


def inside_folders(layout: AnyFolders, window: Window) -> IsInside:
    """Return what tells whether an object is in a folder by time that lies in the window as a whole."""

    def inside(name: ObjectName) -> bool:
        folder = folder_of(name.path, layout)
        return folder is not None and window.holds(*times_of(folder, layout))

    return inside


def inside_backup(store: ObjectStore, group: str, topic: str, window: Window) -> IsInside:
    """Return what tells whether an object of a backup has only records of the window.

    An object begins with its earliest record, as for `BackupMoments`; the last one that begins in the window may have
    later records, and stays. Raises StorageError, ForeignObjectError, ContentError.
    """
    moments, spans = BackupMoments(store), dict[int, Span]()
    for partition, one in read_backup(store, group, topic).partitions.items():
        start = one.start if window.since is None else moments.behind(one, window.since)
        end = one.end if window.until is None else moments.before(one, window.until)
        spans[partition.partition] = (start, end)

    def inside(name: ObjectName) -> bool:
        start, end = spans.get(name.partition, (0, 0))
        return start <= name.start < end

    return inside


def choose(store: ObjectStore, group: str, topic: str, listed: Iterable[Listed], inside: IsInside) -> Chosen:
    """Return the ranges that lie inside; asks about each object of them. Raises StorageError."""
    chosen = Chosen(topic)
    found: defaultdict[RangeName, list[Listed]] = defaultdict(list)
    outside, refused, newest = set[RangeName](), set[RangeName](), dict[tuple[int, int], int]()
    in_folders, taken = Counter[str](), Counter[str]()
    for name, one in listed:
        in_folders[name.path] += 1
        of = (name.generation, name.partition, name.start)
        newest[of[:2]] = max(newest.get(of[:2], 0), name.start)
        if name.path.split("/", 1)[0] == QUARANTINE:
            refused.add(of)
        elif inside(name):
            found[of].append((name, one))
        else:
            outside.add(of)
    kept_newest = {of for of in found if newest[of[:2]] == of[2]}
    chosen.newest, chosen.partly = len(kept_newest), len((outside & found.keys()) - kept_newest)
    chosen.quarantined = len((refused & found.keys()) - outside - kept_newest)
    whole = found.keys() - outside - refused - kept_newest
    candidates = [(of, *one) for of in sorted(whole) for one in found[of]]
    for candidate, metadata in ask_each(lambda one: (one, store.metadata(one[2].key)), candidates):
        of, name, listed_object = candidate
        taken[name.path] += _add(chosen, store.prefix, group, of, listed_object, metadata)
    chosen.staying = frozenset(in_folders - taken)
    return chosen


def choose_archives(
    store: ObjectStore, group: str, chosen: Chosen, layout: AnyFolders, window: Window
) -> Mapping[str, int]:
    """Return the archives of finished folders that lie in the window, with their bytes, and count the others.

    `choose` comes before, of the primary store. Raises StorageError.
    """
    archives = dict[str, int]()
    assert window.until is not None, "--to is required"
    root = names.topic_prefix(store.prefix, chosen.topic) + f"{ARCHIVES}/"
    until, below = window.until, f"{ARCHIVES}/"
    folders = existing_folders(store, chosen.topic, layout, after=window.since, until=until, below=below)
    staying = {folder.path for path in chosen.staying if (folder := layout.folder_of(path)) is not None}
    found = [
        (one.path, listed)
        for one in folders
        if window.holds(layout.begin_of(one), one.end)
        for listed in store.list_objects(f"{root}{one.path}/")
    ]
    for (path, listed), metadata in ask_each(lambda one: (one, store.metadata(one[1].key)), found):
        if metadata is None:
            continue
        if metadata.get("group") != group:
            chosen.foreign += 1
        elif path in staying:
            chosen.archives_kept += 1
        else:
            archives[listed.key] = listed.size
    return archives


def _add(
    chosen: Chosen, prefix: str, group: str, of: RangeName, listed: ListedObject, metadata: Mapping[str, str] | None
) -> bool:
    """Take in an object, if it is one of the group; return whether it stays no longer. Metadata None: it has gone."""
    if metadata is None:
        return True
    if metadata.get("group") != group or not _is_of(of, chosen.topic, metadata):
        chosen.foreign += 1
        return False
    topic_id = metadata["topic-id"] or None
    range_ = chosen.ranges.setdefault(of, WholeRange((of[2], int(metadata["end"])), topic_id))
    range_.objects.append(listed.key)
    range_.bytes += listed.size
    attempt = metadata.get("facts")
    if attempt and names.is_attempt(attempt):
        range_.facts.append(names.facts_key(prefix, group, listed.key, attempt))
    return True


def _is_of(of: RangeName, topic: str, metadata: Mapping[str, str]) -> bool:
    """Whether an object says of itself what its name says."""
    said: Sequence[str | None] = [metadata.get(name) for name in ("generation", "partition", "start")]
    end = metadata.get("end", "")
    known = metadata.get("topic") == topic and "topic-id" in metadata and end.isascii() and end.isdecimal()
    return known and said == [str(number) for number in of]
