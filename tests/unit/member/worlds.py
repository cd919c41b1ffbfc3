"""A world around a member's parts in which everything works, until a test says otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from logpersister.group.answers import Answer, CommitOutcome, TopicDescription
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.revision import Revision, revision_of
from logpersister.member import ports
from logpersister.pipeline.work import ObjectWritten, RangeOutcome, TaskSpec, WorkError
from logpersister.plan.book import Commit
from logpersister.plan.intents import Committed, UnknownMarkError
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError

CLICKS = TopicPartition("clicks", 0)
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
BYTES_PER_OFFSET = 1024
PLACE = "logs/"


def manifest(**kafka: Any) -> tuple[LogPersister, Revision]:
    """Ranges of ten offsets; a backlog is due at once."""
    resource = parse(
        {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": "backup"},
            "spec": {
                "kafka": {"bootstrapServers": "127.0.0.1:9092", "topics": ["clicks", "orders"], **kafka},
                "storage": {"bucket": "logs"},
                "upload": {"maxBytes": "64Ki", "maxAge": "1s"},
                "cycleInterval": "1s",
            },
        }
    )
    return resource, revision_of(resource, "1.0")


class FakeGroup:
    def __init__(self) -> None:
        self.tokens = {CLICKS: 1}
        self.revoking: set[TopicPartition] = set()
        self.busy: set[TopicPartition] = set()
        self.sent: list[tuple[TopicPartition, Committed, bool]] = []
        self.failing: set[TopicPartition] = set()
        self.kafka: dict[TopicPartition, Committed] = {}
        """What arrived."""

    def ownership(self) -> dict[TopicPartition, int]:
        return dict(self.tokens)

    def hold_on_to(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        allowed = {p for p, token in partitions.items() if self.tokens.get(p) == token and p not in self.revoking}
        self.busy |= allowed
        return allowed

    def let_go(self, partitions: Iterable[TopicPartition]) -> None:
        self.busy -= set(partitions)

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        outcome = CommitOutcome()
        for partition, commit in commits.items():
            self.sent.append((partition, commit.committed, promise))
            if partition in self.failing:
                outcome.failed[partition] = TimeoutError("no answer")
            else:
                outcome.committed.add(partition)
                self.kafka[partition] = commit.committed
        return outcome


class FakeOffsets:
    def __init__(self, group: FakeGroup) -> None:
        self._group = group
        self.start: dict[TopicPartition, Offset] = {}
        self.end: dict[TopicPartition, Offset] = {}
        self.ids = {"clicks": TOPIC_ID, "orders": TOPIC_ID}
        self.unknown_mark: set[TopicPartition] = set()
        self.error: Exception | None = None
        self.asked = 0

    def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed | UnknownMarkError | None]:
        self._ask()
        return {
            p: UnknownMarkError("of a newer release") if p in self.unknown_mark else self._group.kafka.get(p)
            for p in partitions
        }

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer({p: self.start.get(p, 0) for p in partitions})

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        self._ask()
        return Answer({p: self.end.get(p, 0) for p in partitions})

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        return Answer(dict.fromkeys(timestamps))

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        self._ask()
        return {topic: TopicDescription(self.ids[topic], {0: 1}) for topic in topics if topic in self.ids}

    def _ask(self) -> None:
        self.asked += 1
        if self.error is not None:
            raise self.error


class FakeMemory:
    def __init__(self) -> None:
        self.stored: dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError] = {}
        self.revisions: dict[str, Mapping[str, Any]] = {}
        self.elsewhere: dict[str, Mapping[str, Any] | StorageError] = {}
        """What one finds of a revision in any other place."""
        self.asked_elsewhere = 0
        self.losses: list[tuple[TopicPartition, Offset, Offset, str]] = []
        self.error: StorageError | None = None
        self.topics: dict[tuple[str, int], str | ForeignObjectError] = {}

    def claim_topics(self, ids: Mapping[str, str], generation: int) -> Mapping[str, str | ForeignObjectError]:
        self._ask()
        return {topic: self.topics.setdefault((topic, generation), topic_id) for topic, topic_id in ids.items()}

    def tails(
        self, partitions: Iterable[TopicPartition], generation: int, most: int
    ) -> dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError]:
        self._ask()
        return {p: self.stored.get(p, ()) for p in partitions}

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        self._ask()
        self.revisions[revision] = document

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        self._ask()
        if place == PLACE:
            return self.revisions.get(revision)
        self.asked_elsewhere += 1
        found = self.elsewhere.get(revision)
        if isinstance(found, StorageError):
            raise found
        return found

    def record_loss(
        self, partition: TopicPartition, topic_id: str | None, start: Offset, end: Offset, cause: str
    ) -> None:
        self._ask()
        self.losses.append((partition, start, end, cause))

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
            else RangeOutcome(work.range, (ObjectWritten("key", work.range.offsets * BYTES_PER_OFFSET, 1),))
            for task in tasks
            for work in task.work
        ]
        future.set_result(outcomes)


class FakeSampler:
    def __init__(self) -> None:
        self.asked: list[TopicPartition] = []
        self.answer: tuple[int, int] | None = (1, 64 * 1024 // 10)
        self.error: Exception | None = None

    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        self.asked.append(partition)
        if self.error is not None:
            raise self.error
        return self.answer


class FakeWorld:
    """All of it, and a clock that tests turn."""

    def __init__(self) -> None:
        self.group = FakeGroup()
        self.offsets = FakeOffsets(self.group)
        self.memory = FakeMemory()
        self.jobs = FakeJobs()
        self.sampler = FakeSampler()
        self.time = 1000.0

    def clock(self) -> float:
        return self.time

    def ports(self) -> ports.World:
        return ports.World(self.group, self.offsets, self.memory, self.jobs, self.sampler)
