"""Notes of finished folders, below ``_logpersister/``.

They say up to when a topic is finished and by which generation, what is in each folder, and which ranges have come into
folders that may have been finished before. The first two are replaced only by whoever has read them before
(compare-and-set by entity tag). So a process that has slept meanwhile cannot take anything back. A note of an arrival
has a name by its content, and is never changed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from pydantic import Field

from logpersister.ranges import Offset, Range
from logpersister.storage import names
from logpersister.storage.errors import StorageError
from logpersister.storage.notes import MOST_ATTEMPTS, Notes, contended, written
from logpersister.storage.store import ObjectStore

DIGEST_DIGITS = 12
_ARRIVALS: Final = "arrivals"


@dataclass(frozen=True, slots=True, order=True)
class FolderObject:
    """An object in a finished folder."""

    name: str
    """Below the folder."""
    partition: int
    generation: int
    start: Offset
    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FolderContent:
    """Content of a folder by time."""

    topic: str
    path: Annotated[str, Field(alias="folder")]
    """Folder path below the topic."""
    end: str
    """End of its time (RFC 3339)."""
    number: int
    """Version of the content: starts at 1, grows by one with each change."""
    offsets: Mapping[int, Offset]
    """Offset per partition before which every record of this folder is in one of the objects."""
    objects: tuple[FolderObject, ...]
    late_records: int = 0
    """Number of its records that came after it was finished."""
    told: Mapping[str, int] = field(default_factory=dict)
    """Last number notified per policy, as far as it is noted."""

    def note(self) -> dict[str, Any]:
        """Return the folder's own note, as JSON."""
        return self.document() | ({"told": dict(sorted(self.told.items()))} if self.told else {})

    def document(self) -> dict[str, Any]:
        """Return what the manifest of the folder says, too (docs/finish.md)."""
        sums = {"records": sum(one.records for one in self.objects), "bytes": sum(one.bytes for one in self.objects)}
        return {"lateRecords": 0} | written(replace(self, told={})) | sums


@dataclass(frozen=True, slots=True)
class Arrival:
    """A range with objects in folders that may have been finished before it was committed."""

    range: Range
    generation: int
    folders: tuple[str, ...]
    """Their paths below that of the topic, sorted."""

    def key(self, prefix: str, group: str) -> str:
        """Return the name of its note."""
        digest = hashlib.sha256("\n".join(self.folders).encode()).hexdigest()[:DIGEST_DIGITS]
        partition = self.range.partition
        file = f"{names.range_file(self.generation, partition.partition, self.range.start)}_{digest}.json"
        return names.note_key(prefix, group, _ARRIVALS, partition.topic, file)


@dataclass(frozen=True, slots=True)
class FinishedTo:
    """Watermark of a topic: its folders are finished up to here."""

    end: int
    """No folder that ends at this instant or before it is left to be finished (milliseconds since the epoch)."""
    generation: int = 0
    """Lowest generation in which every partition had passed this instant. 0: not known."""

    def horizon(self, generation: int) -> int | None:
        """Return the watermark for records that a generation stores; None: no folder is finished for them.

        A generation that stores records again, which a lower one has stored before, begins without any: what it stores
        does not come late.
        """
        return self.end if self.generation >= generation else None

    def followed_by(self, later: "FinishedTo") -> "FinishedTo":
        """Return both: nothing that is finished is taken back."""
        if later.end != self.end:
            return max(self, later, key=lambda one: one.end)
        return max(self, later, key=lambda one: one.generation)


_CONTENTS: Final = Notes(FolderContent, "what a folder has in it")
_NOTED_ARRIVALS: Final = Notes(Arrival, "the note of an arrival")


def finished_to(store: ObjectStore, group: str, topic: str) -> FinishedTo | None:
    """Return the watermark of a topic; None: no folder is finished. Raises StorageError."""
    found = _finished(store, group, topic)
    return None if found is None else found[0]


def horizon_of(store: ObjectStore, group: str, topic: str, generation: int) -> int | None:
    """Return the watermark of a topic for what a generation stores; None: none applies. Raises StorageError."""
    found = finished_to(store, group, topic)
    return None if found is None else found.horizon(generation)


def finish_to(store: ObjectStore, group: str, topic: str, finished: FinishedTo) -> None:
    """Raise the noted watermark of a topic; a higher one stays. Raises StorageError."""
    key = names.finished_key(store.prefix, group, topic)
    for _ in range(MOST_ATTEMPTS):
        found = _finished(store, group, topic)
        now = finished if found is None else found[0].followed_by(finished)
        if found is not None and now == found[0]:
            return
        document = {"topic": topic, "finishedTo": now.end, "generation": now.generation}
        if store.replace_json(key, document, None if found is None else found[1]):
            return
    raise contended(key)


def _finished(store: ObjectStore, group: str, topic: str) -> tuple[FinishedTo, str] | None:
    key = names.finished_key(store.prefix, group, topic)
    found = store.get_tagged(key)
    if found is None:
        return None
    document, tag = found
    end, generation = document.get("finishedTo"), document.get("generation", 0)  # which earlier releases did not note
    if document.get("topic") != topic or not isinstance(end, int) or not isinstance(generation, int):
        told = "does not say up to when folders are finished; see who changed it, or delete it to have it made again"
        raise StorageError("damaged", f"object {key!r} {told}")
    return FinishedTo(end, generation), tag


def folder_content(store: ObjectStore, group: str, topic: str, path: str) -> tuple[FolderContent, str] | None:
    """Return what is noted of a folder, with its entity tag; None: nothing. Raises StorageError."""
    key = names.folder_key(store.prefix, group, topic, path)
    found = store.get_tagged(key)
    return None if found is None else (_CONTENTS.parsed(key, found[0]), found[1])


def list_folders(store: ObjectStore, group: str, topic: str) -> Iterator[str]:
    """Yield the paths of all folders of a topic of which something is noted. Raises StorageError."""
    prefix = names.notes_prefix(store.prefix, group, names.FINISHED, topic)
    for listed in store.list_objects(prefix):
        path = listed.key.removeprefix(prefix).removesuffix(".json")
        if path != names.WATERMARK:
            yield path


def put_folder_content(store: ObjectStore, group: str, content: FolderContent, tag: str | None) -> bool:
    """Note what a folder has in the place of the note with an entity tag, or of none; False: another stands there."""
    key = names.folder_key(store.prefix, group, content.topic, content.path)
    return store.replace_json(key, content.note(), tag)


def note_told(store: ObjectStore, group: str, told: FolderContent, policy: str) -> None:
    """Note that a policy has notified of this content of a folder; a higher number stays. Raises StorageError.

    A process that is stopped before this has notified all the same, and the notification is repeated.
    """
    for _ in range(MOST_ATTEMPTS):
        found = folder_content(store, group, told.topic, told.path)
        if found is None or found[0].told.get(policy, 0) >= told.number:
            return
        content, tag = found
        if put_folder_content(store, group, replace(content, told={**content.told, policy: told.number}), tag):
            return
    raise contended(names.folder_key(store.prefix, group, told.topic, told.path))


def note_arrival(store: ObjectStore, group: str, arrival: Arrival) -> None:
    """Note an arrival; the same note again replaces itself. Raises StorageError."""
    store.put_json(arrival.key(store.prefix, group), written(arrival))


def list_arrivals(store: ObjectStore, group: str) -> Mapping[str, Sequence[str]]:
    """Return the names of the notes of all arrivals, by topic. Raises StorageError."""
    found: dict[str, list[str]] = {}
    prefix = names.notes_prefix(store.prefix, group, _ARRIVALS)
    for listed in store.list_objects(prefix):
        segments = listed.key.removeprefix(prefix).split("/")
        topic = names.unescape_topic(segments[0]) if len(segments) == 2 else None
        if topic is not None:
            found.setdefault(topic, []).append(listed.key)
    return found


def read_arrivals(store: ObjectStore, keys: Iterable[str]) -> Iterator[tuple[str, Arrival]]:
    """Yield arrivals with the names of their notes; those that are gone are left out. Raises StorageError."""
    return _NOTED_ARRIVALS.read(store, keys)
