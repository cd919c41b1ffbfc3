"""Fakes of what a member depends on. Everything works, until a test says otherwise."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from kafka.errors import LeaderNotAvailableError

from logpersister.aside import Aside, at_once
from logpersister.group.answers import Answer, CommitOutcome, Registered, TopicDescription
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import OutputSchema, Revision, revision_of
from logpersister.member import ports
from logpersister.member.ports import NoteError
from logpersister.pipeline.work import RangeOutcome, TaskSpec, WorkError
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.plan.partitions import Commit
from logpersister.plan.recovery import StoredRange, StoredTail
from logpersister.ranges import Cause, Offset, Range, TopicPartition
from logpersister.report.facts import WrittenObject
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote
from tests.unit.manifest.documents import accepted

Value = TypeVar("Value")

CLICKS = TopicPartition("clicks", 0)
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
BYTES_PER_OFFSET = 1024
PLACE = "logs/"


def manifest(value: Mapping[str, Any] | None = None, **kafka: Any) -> tuple[LogPersister, Revision]:
    """Ranges of ten offsets; a backlog is due at once."""
    resource = accepted(
        {
            "metadata.name": "backup",
            "spec.kafka": {"bootstrapServers": "127.0.0.1:9092", "topics": ["clicks", "orders"], **kafka},
            "spec.upload": {"maxBytes": "64Ki", "maxAge": "1s"},
            "spec.cycleInterval": "1s",
            "spec.value": value or {"bytes": {}},
        }
    )
    return resource, revision_of(resource, "1.0")


class FakeGroup:
    def __init__(self) -> None:
        self.tokens = {CLICKS: 1}
        self.revoking: set[TopicPartition] = set()

    def ownership(self) -> dict[TopicPartition, int]:
        return dict(self.tokens)

    def retain(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        return {p for p, token in partitions.items() if self.tokens.get(p) == token and p not in self.revoking}

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Nobody asks who is busy."""


class FakeRegister:
    """Takes a promise only when the snapshot of its revision is in the bucket: whoever takes it over needs that."""

    def __init__(self, state_store: "FakeStateStore") -> None:
        self._state_store = state_store
        self.sent: list[tuple[TopicPartition, CommittedOffset, bool]] = []
        self.failing: set[TopicPartition] = set()
        self.kafka: dict[TopicPartition, CommittedOffset] = {}
        """What arrived."""
        self.unknown_metadata: set[TopicPartition] = set()
        self.stale: dict[TopicPartition, CommittedOffset | None] = {}
        """Answers of a broker that does not know what has happened since."""
        self.error: Exception | None = None

    def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Registered]:
        if self.error is not None:
            raise self.error
        found: dict[TopicPartition, Registered] = {}
        for p in partitions:
            unknown = p in self.unknown_metadata
            found[p] = UnknownMetadataError("of a newer release") if unknown else self.stale.get(p, self.kafka.get(p))
        return found

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        outcome = CommitOutcome()
        for partition, commit in commits.items():
            mark = commit.committed.metadata
            if mark is not None and mark.ends and mark.place in (None, PLACE):
                assert mark.revision in self._state_store.revisions, f"{partition}: nobody can read {mark}"
            self.sent.append((partition, commit.committed, promise))
            if partition in self.failing:
                outcome.failed[partition] = TimeoutError("no answer")
            else:
                outcome.committed.add(partition)
                self.kafka[partition] = commit.committed
        return outcome


class FakeOffsets:
    def __init__(self) -> None:
        self.start: dict[TopicPartition, Offset] = {}
        self.end: dict[TopicPartition, Offset] = {}
        self.ids = {"clicks": TOPIC_ID, "orders": TOPIC_ID}
        self.partitions = 1
        self.error: Exception | None = None
        self.asked = 0
        self.leaderless: set[TopicPartition] = set()
        self.why: Exception = LeaderNotAvailableError("it has no leader: start broker 2")
        self.since: dict[TopicPartition, tuple[Offset, int]] = {}
        """The first records since any time."""

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return self._answer({p: self.start.get(p, 0) for p in partitions})

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        self._ask()
        return self._answer({p: self.end.get(p, 0) for p in partitions})

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        return self._answer({p: self.since.get(p) for p in timestamps})

    def _answer(self, values: Mapping[TopicPartition, Value]) -> Answer[Value]:
        return Answer(
            {p: value for p, value in values.items() if p not in self.leaderless},
            {p: self.why for p in values if p in self.leaderless},
        )

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        self._ask()
        leaders = dict.fromkeys(range(self.partitions), 1)
        return {topic: TopicDescription(self.ids[topic], leaders) for topic in topics if topic in self.ids}

    def topics_matching(self, matches: Callable[[str], bool]) -> list[str]:
        return sorted(topic for topic in self.ids if matches(topic))

    def _ask(self) -> None:
        self.asked += 1
        if self.error is not None:
            raise self.error


class FakeStateStore:
    def __init__(self) -> None:
        self.stored: dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError] = {}
        self.revisions: dict[str, Mapping[str, Any]] = {}
        self.elsewhere: dict[str, Mapping[str, Any] | StorageError] = {}
        """What one finds of a revision in any other place."""
        self.losses: list[tuple[TopicPartition, Offset, Offset, str]] = []
        self.error: StorageError | None = None
        self.topics: dict[tuple[str, int], TopicNote | NoteError] = {}
        self.selection: Sequence[str] | None = None
        self.behind: dict[TopicPartition, Offset | StorageError] = {}
        """What stands behind the offset of partitions."""
        self.looked_at: list[TopicPartition] = []

    def bind_topics(self, notes: Mapping[str, TopicNote], generation: int) -> Mapping[str, TopicNote | NoteError]:
        if self.error is not None:
            return dict.fromkeys(notes, self.error)
        found = {topic: self.topics.setdefault((topic, generation), note) for topic, note in notes.items()}
        for topic, note in found.items():
            if isinstance(note, StorageError):
                del self.topics[topic, generation]
        return found

    def first_note(self, topic: str, topic_id: str) -> TopicNote | None:
        self._ask()
        noted = [(generation, note) for (name, generation), note in self.topics.items() if name == topic]
        found = [note for _, note in sorted(noted, key=lambda it: it[0]) if isinstance(note, TopicNote)]
        return next((note for note in found if note.topic_id == topic_id), None)

    def note_selection(self, selection: Mapping[str, Any], topics: Sequence[str]) -> Sequence[str]:
        self._ask()
        self.selection = topics if self.selection is None else self.selection
        return self.selection

    def stored_tails(
        self, partitions: Iterable[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        self._ask()
        found = {p: self.stored.get(p, ()) for p in partitions}
        return {
            p: it if isinstance(it, ForeignObjectError) else StoredTail(generation, tuple(it))
            for p, it in found.items()
        }

    def ahead(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError | None]:
        self.looked_at += positions
        return {p: self.behind.get(p) for p in positions}

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        self._ask()
        self.revisions[revision] = document

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        self._ask()
        if place == PLACE:
            return self.revisions.get(revision)
        found = self.elsewhere.get(revision)
        if isinstance(found, StorageError):
            raise found
        return found

    def record_loss(self, lost: Range, topic_id: str | None, cause: Cause) -> None:
        self._ask()
        self.losses.append((lost.partition, lost.start, lost.end, cause))

    def _ask(self) -> None:
        if self.error is not None:
            raise self.error


class FakeJobs:
    cores = 2

    def __init__(self) -> None:
        self.submitted: list[tuple[Sequence[TaskSpec], Future[list[RangeOutcome]]]] = []
        self.error: Exception | None = None

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]":
        if self.error is not None:
            raise self.error
        future: Future[list[RangeOutcome]] = Future()
        self.submitted.append((tasks, future))
        return future

    def ranges(self, job: int = -1) -> list[Range]:
        return [work.range for task in self.submitted[job][0] for work in task.work]

    def end(self, job: int = -1, errors: Mapping[Range, WorkError] | None = None) -> None:
        """End a job; ranges without an error are stored."""
        tasks, future = self.submitted[job]
        failed = errors or {}
        outcomes = [
            RangeOutcome(work.range, error=failed[work.range])
            if work.range in failed
            else RangeOutcome(work.range, (WrittenObject("key", work.range.offsets * BYTES_PER_OFFSET, 1),))
            for task in tasks
            for work in task.work
        ]
        future.set_result(outcomes)


class FakeSchemas:
    """A registry with one version for each topic, until a test registers more."""

    place = "a registry"

    def __init__(self) -> None:
        self.version = 1
        self.error: Exception | None = None
        self.problem: str | None = None
        """Why a version cannot read the one before."""
        self.asked: list[str] = []
        self.on_asked: Callable[[], None] = lambda: None

    def of(self, topic: str) -> "FakeSchemas":
        return self

    def current(self, topic: str) -> OutputSchema:
        self.asked.append(topic)
        self.on_asked()
        if self.error is not None:
            raise self.error
        return OutputSchema(self.version, f'"{topic} {self.version}"')

    def unreadable(self, topic: str, now: OutputSchema, before: OutputSchema) -> str | None:
        return self.problem


class FakeSampler:
    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        return 1, 64 * 1024 // 10


class FakeDependencies:
    """All of it, and a clock that tests turn."""

    def __init__(self) -> None:
        self.group = FakeGroup()
        self.state_store = FakeStateStore()
        self.register = FakeRegister(self.state_store)
        self.offsets = FakeOffsets()
        self.jobs = FakeJobs()
        self.sampler = FakeSampler()
        self.schemas: FakeSchemas | None = None
        self.tables: ports.Tables | None = None
        """Where a test is about a registry."""
        self.horizons: ports.Horizons = ports.NoHorizons()
        self.aside: Aside = at_once
        self.time = 1000.0

    def clock(self) -> float:
        return self.time

    def ports(self) -> ports.Dependencies:
        return ports.Dependencies(
            self.group,
            self.register,
            self.offsets,
            self.state_store,
            self.jobs,
            self.sampler,
            self.schemas,
            self.tables,
            self.horizons,
            self.aside,
        )
