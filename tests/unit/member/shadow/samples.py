"""Two groups that store the same records, with a bucket and Kafka's answers in memory."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from logpersister.member.shadow.alignment import ComparedObject
from logpersister.member.shadow.comparer import ComparedGroup
from logpersister.member.shadow.stored_objects import StoredObjects
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.records.checksum import PayloadChecksum
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.losses import Loss
from logpersister.storage.names import ObjectName, object_key, parse_object_key, topic_prefix
from logpersister.storage.store import ListedObject
from tests.unit.records.batches import batch_of

CLICKS = TopicPartition("clicks", 0)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
Folder = Callable[["Row"], str]


class Row(NamedTuple):
    """A record."""

    offset: Offset
    value: bytes | None
    key: bytes | None = None


def rows(*offsets: Offset) -> list[Row]:
    return [Row(offset, b"value %d" % offset) for offset in offsets]


def facts_of(
    partition: TopicPartition,
    start: Offset,
    end: Offset,
    records: Sequence[Row],
    *,
    group: str,
    generation: int = 1,
) -> ObjectFacts:
    """Return what an object of these records says of itself."""
    checksum = PayloadChecksum()
    checksum.update(
        batch_of([0] * len(records), keys=[row.key for row in records], values=[row.value for row in records])
    )
    return ObjectFacts(
        group=group,
        generation=generation,
        revision="abcdef123456",
        topic_id="id",
        range=Range(partition, start, end),
        first=records[0].offset,
        last=records[-1].offset,
        records=len(records),
        tombstones=sum(row.value is None for row in records),
        checksum=checksum.text(),
        payload=checksum.sizes,
    )


def objects_of(
    records: Iterable[Row], start: Offset, end: Offset, *, folder: Folder = lambda _: "", group: str = "g"
) -> list[ComparedObject]:
    """Return the objects of one range, one for each folder."""
    found: dict[str, list[Row]] = {}
    for row in records:
        if start <= row.offset < end:
            found.setdefault(folder(row), []).append(row)
    return [
        ComparedObject(f"{path}/{start}", path, 10 * len(inside), facts_of(CLICKS, start, end, inside, group=group))
        for path, inside in found.items()
    ]


def ranges_of(records: Sequence[Row], bounds: Sequence[Offset], folder: Folder = lambda _: "") -> list[ComparedObject]:
    """Return the objects of the ranges between these boundaries."""
    return [one for start, end in pairwise(bounds) for one in objects_of(records, start, end, folder=folder)]


@dataclass
class FakeStore:
    """A bucket below one prefix, as far as `StoredObjects` asks it."""

    prefix: str
    found: dict[str, ObjectFacts] = field(default_factory=dict)
    listed: int = 0
    """Names that were listed."""

    def put(self, path: str, facts: ObjectFacts) -> str:
        where = facts.range
        key = object_key(
            self.prefix, where.partition.topic, path, facts.generation, where.partition.partition, where.start, ".txt"
        )
        self.found[key] = facts
        return key

    def list_objects(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        for key in sorted(self.found):
            if key.startswith(prefix) and key > start_after:
                self.listed += 1
                yield ListedObject(key, 10 * self.found[key].records, NOW)

    def folders(self, prefix: str) -> Iterator[str]:
        inside = [key[len(prefix) :].split("/") for key in self.found if key.startswith(prefix)]
        yield from sorted({f"{prefix}{first}/" for first, *rest in inside if rest})

    def inventory(self, topic: str) -> Iterator[tuple[ObjectName, ListedObject]]:
        for listed in self.list_objects(topic_prefix(self.prefix, topic)):
            name = parse_object_key(self.prefix, listed.key)
            assert name is not None
            yield name, listed

    def facts(self, key: str) -> ObjectFacts | None:
        facts = self.found.get(key)
        if facts is not None and facts.checksum == "damaged":
            raise ForeignObjectError(f"object {key!r} is not whole")
        return facts


@dataclass
class FakeProgress:
    """Committed offsets of one group."""

    offsets: dict[TopicPartition, CommittedOffset | None] = field(default_factory=dict)
    log_ends: dict[TopicPartition, Offset] = field(default_factory=dict)
    compacts: bool | None = False
    error: Exception | None = None

    def commit(
        self, partition: TopicPartition, offset: Offset, *, since: Offset | None = 0, generation: int = 1
    ) -> None:
        self.offsets[partition] = CommittedOffset(offset, OffsetMetadata("id", generation, "abcdef123456", (), since))

    def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, CommittedOffset | None]:
        if self.error is not None:
            raise self.error
        return {partition: self.offsets.get(partition) for partition in partitions}

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Offset]:
        return {partition: self.log_ends[partition] for partition in partitions if partition in self.log_ends}

    def compacted(self, topic: str) -> bool | None:
        return self.compacts


@dataclass
class FakeGroup:
    """One group: what it stores, and how far it has come."""

    name: str
    store: FakeStore
    progress: FakeProgress = field(default_factory=FakeProgress)
    losses: list[Loss] = field(default_factory=list)
    folder: Folder = lambda _: ""

    def persist(
        self,
        records: Sequence[Row],
        *bounds: Offset,
        partition: TopicPartition = CLICKS,
        since: Offset = 0,
        **facts: Any,
    ) -> list[str]:
        """Store the ranges between these boundaries, and commit the last one; return the names of the objects."""
        keys = []
        for start, end in pairwise(bounds):
            inside: dict[str, list[Row]] = {}
            for row in records:
                if start <= row.offset < end:
                    inside.setdefault(self.folder(row), []).append(row)
            for path, found in inside.items():
                said = facts_of(partition, start, end, found, group=self.name, **facts)
                keys.append(self.store.put(path, said))
        self.progress.commit(partition, bounds[-1], since=since, **facts)
        return keys


def compared_group(group: FakeGroup, *, in_folders: bool, most: int = 1_000, **found_in: bool) -> ComparedGroup:
    """Return a group as the comparison sees it, with real `StoredObjects` in front of the fake bucket."""
    store: Any = group.store
    stored_objects = StoredObjects(store, group.name, in_folders=in_folders, most=most, **found_in)
    return ComparedGroup(1, group.progress, stored_objects, lambda: group.losses)
