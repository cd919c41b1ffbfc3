"""The objects of a group in the bucket, one after the other, and summed up by folder."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.ranges import Offset
from logpersister.records.escaping import QUARANTINE
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of records."""

    name: ObjectName
    listed: ListedObject
    facts: ObjectFacts | None = None
    """Only when they were asked for."""


@dataclass(slots=True)
class Folder:
    """Objects of one topic, partition path and generation that follow each other in the listing."""

    topic: str
    path: str
    generation: int
    objects: int
    bytes: int
    records: int | None
    """None when it was not asked for."""
    first_start: Offset
    last_start: Offset
    last_modified: datetime

    @classmethod
    def of(cls, entry: Entry) -> "Folder":
        """Begin with one object."""
        name, listed = entry.name, entry.listed
        records = entry.facts.records if entry.facts else None
        start, stored = name.start, listed.last_modified
        return cls(name.topic, name.path, name.generation, 1, listed.size, records, start, start, stored)

    def holds(self, name: ObjectName) -> bool:
        """Whether an object of this name belongs here."""
        return (self.topic, self.path, self.generation) == (name.topic, name.path, name.generation)

    def add(self, entry: Entry) -> None:
        self.objects += 1
        self.bytes += entry.listed.size
        if entry.facts is not None:
            self.records = (self.records or 0) + entry.facts.records
        self.first_start = min(self.first_start, entry.name.start)
        self.last_start = max(self.last_start, entry.name.start)
        self.last_modified = max(self.last_modified, entry.listed.last_modified)


@dataclass(slots=True)
class Totals:
    """Totals of everything that was listed."""

    objects: int = 0
    bytes: int = 0
    records: int = 0
    foreign: int = 0
    """Objects that look like ours and were written by another group or program."""

    def add(self, line: "Entry | Folder") -> None:
        """Add one line of the listing."""
        one = Folder.of(line) if isinstance(line, Entry) else line
        self.objects += one.objects
        self.bytes += one.bytes
        self.records += one.records or 0


def entries(store: ObjectStore, kafka: KafkaSpec, topic: str | None) -> Iterator[Entry]:
    """Yield the objects of a topic, or of all topics that the manifest selects (None)."""
    topics = kafka.topics if topic is None else [topic]
    if topics is not None:
        yield from (Entry(*found) for one in topics for found in store.inventory(one))
        return
    for listed in _without_own_folder(store):
        parsed = names.parse_object_key(store.prefix, listed.key)
        if parsed is not None and kafka.selects(parsed.topic):
            yield Entry(parsed, listed)


def in_quarantine(store: ObjectStore, kafka: KafkaSpec, topic: str | None) -> Iterator[Entry]:
    """Yield those of them that are in quarantine."""
    return (entry for entry in entries(store, kafka, topic) if entry.name.path == QUARANTINE)


def _without_own_folder(store: ObjectStore) -> Iterator[ListedObject]:
    """Jump over the folder where groups keep what they remember: it may have as many objects as there are files."""
    own = names.groups_prefix(store.prefix)
    for listed in store.list_objects():
        if listed.key.startswith(own):
            break
        yield listed
    else:
        return
    # "0" follows "/" in the order of names.
    yield from store.list_objects(start_after=own.removesuffix("/") + "0")


def folders(found: Iterable[Entry]) -> Iterator[Folder]:
    """Sum up neighbours: a listing is sorted, so a folder has its objects together. One folder is held at a time."""
    current: Folder | None = None
    for entry in found:
        if current is not None and current.holds(entry.name):
            current.add(entry)
            continue
        if current is not None:
            yield current
        current = Folder.of(entry)
    if current is not None:
        yield current


def with_facts(store: ObjectStore, found: Iterator[Entry], group_id: str, totals: Totals) -> Iterator[Entry]:
    """Ask the bucket about each object, a few at once; leave out those of other groups and count them."""

    def ask(entry: Entry) -> Entry:
        try:
            return replace(entry, facts=store.facts(entry.listed.key))
        except ForeignObjectError:
            return entry

    for entry in ask_each(ask, found):
        if entry.facts is not None and entry.facts.group == group_id:
            yield entry
        else:
            totals.foreign += 1
