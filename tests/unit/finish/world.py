"""A topic in Kafka, a group that stores it, and its bucket, in memory; with clocks that a test moves."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

from logpersister.finish.look import Look, TopicFolders
from logpersister.group.answers import Answer, Registered, TopicDescription
from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.blocks.finish import FinishSpec
from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.pipeline.arrivals import ArrivalNotes
from logpersister.pipeline.work import RangeWork
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.ranges import NewestEvent, Offset, Range, TopicPartition
from logpersister.records.escaping import late_path
from logpersister.records.record_times import RecordTimes
from logpersister.records.time_folders import time_folders
from logpersister.records.type_folders import AnyFolders, TypeFolders
from logpersister.records.type_names import TypeNames
from logpersister.report.facts import WrittenObject
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.finished import horizon_of, list_arrivals
from logpersister.storage.names import object_key
from logpersister.storage.store import ListedObject, ObjectStore

TOPIC, GROUP, TOPIC_ID = "clicks", "g", "id"
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
MIDNIGHT = datetime(2026, 3, 28, tzinfo=UTC)
MIDNIGHT_MS = int(MIDNIGHT.timestamp() * 1000)
LEVELS = ("day", "hour")
RULES = [PartitionRule.model_validate({"date": {"granularity": one}}) for one in LEVELS]
OF_A_FIELD = [PartitionRule.model_validate({"date": {"granularity": one, "field": "happened.at"}}) for one in LEVELS]


def spec(**more: Any) -> FinishSpec:
    settings = {"policy": ["successFile", "manifest", "done"], "allowedLateness": "10m", "idleAfter": "1h"}
    return FinishSpec.model_validate(settings | more)


SPEC = spec()


def hour(number: int) -> str:
    return f"dt=2026-03-{28 + number // 24}/hr={number % 24:02d}"


def folder_of(time: int | None) -> str:
    if time is None:
        return "dt=unknown/hr=unknown"
    moment = datetime.fromtimestamp(time / 1000, UTC)
    return f"dt={moment:%Y-%m-%d}/hr={moment:%H}"


def type_of(offset: Offset) -> str:
    """Return the type of a record, where there are types: orders by hour, few refunds by day, others without time."""
    return {0: "refund", 1: "raw"}.get(offset % 7, "order")


def folders_of_types(rules: Sequence[PartitionRule]) -> TypeFolders:
    layouts = [time_folders(rules), time_folders(rules[:1]), None, None]
    entries = [{"names": [name]} for name in ("order", "refund", "raw")]
    types = TypesSpec.model_validate({"header": "type", "entries": entries})
    return TypeFolders(TypeNames(types), layouts, RecordTimes.of(rules, None))


class FakeStore:
    """A bucket; answers as `ObjectStore`."""

    prefix = "raw"
    storage = SimpleNamespace(bucket="logs")

    def __init__(self) -> None:
        self.objects: dict[str, ObjectFacts | None] = {}
        self.documents: dict[str, tuple[dict[str, Any], str]] = {}
        self.listings = 0
        self.tags = 0
        self.written: list[str] = []
        """Names of documents and markers, in the order in which they were written."""
        self.before_write: Callable[[], None] = lambda: None
        """A test may let something happen here."""

    def put_object(self, key: str, facts: ObjectFacts) -> None:
        self.objects[key] = facts

    def list_objects(self, prefix: str) -> Iterator[ListedObject]:
        self.listings += 1
        for key in sorted([*self.objects, *self.documents]):
            if key.startswith(prefix):
                facts = self.objects.get(key)
                yield ListedObject(key, 0 if facts is None else 10 * facts.records, MIDNIGHT)

    def folders(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        self.listings += 1
        inner = {key.removeprefix(prefix) for key in [*self.objects, *self.documents] if key.startswith(prefix)}
        yield from sorted({f"{prefix}{key.partition('/')[0]}/" for key in inner if "/" in key and key > behind})

    def facts(self, key: str) -> ObjectFacts | None:
        return self.objects.get(key)

    def get_tagged(self, key: str) -> tuple[dict[str, Any], str] | None:
        return self.documents.get(key)

    def get_json(self, key: str) -> dict[str, Any] | None:
        found = self.documents.get(key)
        return None if found is None else found[0]

    def put_json(self, key: str, document: Mapping[str, Any]) -> None:
        self.before_write()
        self._put(key, document)

    def replace_json(self, key: str, document: Mapping[str, Any], tag: str | None) -> bool:
        self.before_write()
        found = self.documents.get(key)
        if (None if found is None else found[1]) != tag:
            return False
        self._put(key, document)
        return True

    def put_marker(self, key: str) -> None:
        self.before_write()
        self._put(key, {})

    def delete(self, key: str) -> None:
        self.before_write()
        self.documents.pop(key, None)

    def _put(self, key: str, document: Mapping[str, Any]) -> None:
        self.tags += 1
        self.documents[key] = dict(document), f"tag {self.tags}"
        self.written.append(key)


@dataclass
class FakePartition:
    """A log, of which everything before `committed` is stored."""

    times: list[int | None] = field(default_factory=list)
    """Of its records, by which they have their folders: Kafka's, or those of the field; the place is the offset."""
    start: Offset = 0
    produced_at: list[float] = field(default_factory=list)
    """By what the clock showed, in seconds."""
    committed: CommittedOffset | None = None
    commits: list[tuple[float, CommittedOffset]] = field(default_factory=list)
    """All that was committed, with the time in seconds."""

    def kafka_times(self, *, of_a_field: bool) -> list[int]:
        """Return the times that Kafka has of its records."""
        return [round(at * 1000) for at in self.produced_at] if of_a_field else [time or 0 for time in self.times]


class World:
    """One topic with folders by hour, by Kafka's time or by that of a field."""

    def __init__(
        self,
        partitions: int = 1,
        spec: FinishSpec = SPEC,
        rules: list[PartitionRule] = RULES,
        *,
        has_types: bool = False,
    ) -> None:
        """Begin at midnight; `has_types`: with the folders of three types (`type_of`), by Kafka's time or the field."""
        self.seconds = MIDNIGHT_MS / 1000
        self.partitions = {number: FakePartition() for number in range(partitions)}
        self.store = FakeStore()
        self.spec = spec
        self.has_types = has_types
        layout = folders_of_types(rules) if has_types else time_folders(rules)
        assert layout is not None
        self.layout: AnyFolders = layout
        self.generation = 1
        self.aside: set[tuple[int, Offset]] = set()
        """Records that came late and stand elsewhere, by partition and offset."""
        self.finisher = self.new_finisher()

    def new_finisher(self, *, assume_idle: bool = False, **more: bool) -> TopicFolders:
        """Return what another process would have: nothing remembered."""
        store = cast("ObjectStore", self.store)
        return TopicFolders(
            TOPIC,
            self.layout,
            self.spec,
            self,
            store,
            GROUP,
            generation=self.generation,
            clock=lambda: self.seconds,
            now=lambda: self.seconds,
            assume_idle=assume_idle,
            **more,
        )

    def folder(self, offset: Offset, time: int | None) -> str:
        """Return the folder of a record."""
        if not self.has_types:
            return folder_of(time)
        type_ = type_of(offset)
        inside = {"order": folder_of(time), "refund": folder_of(time).partition("/")[0], "raw": ""}[type_]
        return f"type={type_}/{inside}".removesuffix("/")

    # time and records; in hours since midnight

    def at(self, hours: float) -> None:
        self.seconds = MIDNIGHT_MS / 1000 + hours * 3600

    def produce(self, partition: int, *hours: float | None) -> None:
        of = self.partitions[partition]
        of.times += [None if one is None else MIDNIGHT_MS + round(one * HOUR_MS) for one in hours]
        of.produced_at += [self.seconds] * len(hours)

    def horizon(self, generation: int | None = None) -> int | None:
        """Return up to when folders are finished, as promises have it."""
        store = cast("ObjectStore", self.store)
        return horizon_of(store, GROUP, TOPIC, self.generation if generation is None else generation)

    def store_range(
        self, partition: int, end: Offset | None = None, *, commit: bool = True, horizon: int | None = None
    ) -> None:
        """Store what a partition has, up to an offset, as one range that was promised by a horizon, and commit it."""
        of = self.partitions[partition]
        start = of.start if of.committed is None else of.committed.offset
        end = len(of.times) if end is None else end
        if end <= start:
            return
        self.write_objects(Range(TopicPartition(TOPIC, partition), start, end), horizon=horizon)
        if commit:
            self.commit(partition, end)

    def store_new(self, partition: int, *hours: float | None) -> None:
        """Produce records, and store all that the partition has."""
        self.produce(partition, *hours)
        self.store_range(partition)

    def write_objects(self, range_: Range, *, generation: int | None = None, horizon: int | None = None) -> None:
        """Do what a task does with a range: its objects, then the note of their arrival."""
        generation = self.generation if generation is None else generation
        number, times = range_.partition.partition, self.partitions[range_.partition.partition].times
        paths: dict[str, list[Offset]] = {}
        for offset in range(range_.start, range_.end):
            path = self.folder(offset, times[offset])
            folder = self.layout.folder_of(path)
            if folder is not None and horizon is not None and folder.end <= horizon:
                path = late_path(path)
                self.aside.add((number, offset))
            paths.setdefault(path, []).append(offset)
        written = []
        for path, offsets in paths.items():
            key = object_key("raw", TOPIC, path, generation, number, range_.start, ".txt.gz")
            facts = ObjectFacts(
                GROUP, generation, "abcdef", TOPIC_ID, range_, offsets[0], offsets[-1], len(offsets), 0, "c"
            )
            self.store.put_object(key, facts)
            written.append(WrittenObject(key, 10 * len(offsets), len(offsets)))
        store, lateness = cast("ObjectStore", self.store), self.spec.lateness_ms
        notes = ArrivalNotes(store, GROUP, self.layout, lateness, lambda: self.seconds)
        notes(RangeWork(range_, TOPIC_ID, generation, 0, range_.start), written)

    def commit(self, partition: int, offset: Offset) -> None:
        of = self.partitions[partition]
        metadata = OffsetMetadata(TOPIC_ID, self.generation, seen=self._seen(of, offset))
        of.committed = CommittedOffset(offset, metadata)
        of.commits.append((self.seconds, of.committed))

    def _seen(self, of: FakePartition, offset: Offset) -> NewestEvent | None:
        """Return what task and protocol say of the ranges that are committed now, and of those before."""
        start, seen = 0, None
        if of.committed is not None and of.committed.metadata is not None:
            start, seen = of.committed.offset, of.committed.metadata.seen
        counting = enumerate(of.times[start:offset], start)
        stored = [time for at, time in counting if not self.has_types or type_of(at) != "raw"]
        times = [time for time in stored if time is not None and time <= self.seconds * 1000]
        if not self.spec.watches_field(self.layout.field_name) or not times:
            return seen
        newest = NewestEvent(self.layout.field_digest, max(times))
        return newest if seen is None else seen.followed_by(newest)

    # looks

    def look(self, finisher: TopicFolders | None = None) -> Look:
        return (finisher or self.finisher).look(self.arrivals_of())

    def arrivals_of(self) -> Sequence[str]:
        """Return the names of the notes of arrivals."""
        return list_arrivals(cast("ObjectStore", self.store), GROUP).get(TOPIC, ())

    def finished(self) -> list[str]:
        """Return the folders with a success file, oldest first."""
        return [self._folder(key) for key in sorted(self.store.documents) if key.endswith("/_SUCCESS")]

    def done(self) -> set[tuple[str, int]]:
        """Return the folders with the partitions that are said to be done."""
        keys = [key for key in self.store.documents if key.endswith(".done")]
        return {(self._folder(key), int(key.rpartition("/")[2].split(".")[1])) for key in keys}

    def content(self, folder: str) -> dict[str, Any]:
        """Return the manifest of a folder."""
        found = self.store.documents[f"raw/{TOPIC}/{folder}/_manifest.json"][0]
        noted = self.store.documents[f"raw/_logpersister/{GROUP}/finished/{TOPIC}/{folder}.json"][0]
        assert found == {name: value for name, value in noted.items() if name != "told"}
        return found

    def arrivals(self) -> int:
        return sum("/arrivals/" in key for key in self.store.documents)

    def _folder(self, key: str) -> str:
        return key.removeprefix(f"raw/{TOPIC}/").rpartition("/")[0]

    # Kafka

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        return {TOPIC: TopicDescription(TOPIC_ID, dict.fromkeys(self.partitions, 1))}

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer({one: len(self.partitions[one.partition].times) for one in partitions})

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer({one: self.partitions[one.partition].start for one in partitions})

    def committed(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Registered]:
        return {one: self.partitions[one.partition].committed for one in partitions}

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        answer: Answer[tuple[Offset, int] | None] = Answer()
        for one, instant in timestamps.items():
            of = self.partitions[one.partition]
            times = of.kafka_times(of_a_field=bool(self.layout.field_name))
            found = ((at, time) for at, time in enumerate(times) if at >= of.start and time >= instant)
            answer.values[one] = next(found, None)
        return answer


class KilledError(Exception):
    """The process dies."""


def killed() -> None:
    raise KilledError


def before_write(world: World, number: int, happens: Callable[[], None]) -> None:
    """Let something happen before a write, by its number from now; only once."""
    numbers = count()

    def hook() -> None:
        if next(numbers) == number:
            world.store.before_write = lambda: None
            happens()

    world.store.before_write = hook
