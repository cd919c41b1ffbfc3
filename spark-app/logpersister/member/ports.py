"""What a member's decisions need of the world. The real ones are Kafka, S3 and Spark; a model brings its own."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from logpersister.group.answers import Answer, CommitOutcome, TopicDescription
from logpersister.pipeline.work import RangeOutcome, TaskSpec
from logpersister.plan.book import Commit
from logpersister.plan.intents import Committed, UnknownMarkError
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.losses import Cause


class Group(Protocol):
    """Membership: which partitions are ours, and the only way to commit."""

    def ownership(self) -> dict[TopicPartition, int]: ...

    def hold_on_to(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]: ...

    def let_go(self, partitions: Iterable[TopicPartition]) -> None: ...

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome: ...


class Offsets(Protocol):
    """Where the offsets are."""

    def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed | UnknownMarkError | None]: ...

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]: ...

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]: ...


class Memory(Protocol):
    """What the group remembers in the bucket."""

    def tails(
        self, partitions: Iterable[TopicPartition], generation: int, most: int
    ) -> dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError]:
        """Return the last ``most`` stored ranges of each partition in this generation, by rising start."""

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        """Store a revision's snapshot; nothing happens when it is there."""

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        """Return the snapshot of a revision that stores in a place (bucket and prefix); None when it is not there."""

    def claim_topics(self, ids: Mapping[str, str], generation: int) -> Mapping[str, str | ForeignObjectError]:
        """Note for each topic (name to id) what the generation is about; return the ids that were noted first.

        A note that is damaged is an error in the place of the id.
        """

    def record_loss(
        self, partition: TopicPartition, topic_id: str | None, start: Offset, end: Offset, cause: Cause
    ) -> None:
        """Record durably that ``[start, end)`` will not be stored, and why. Repeating it changes nothing."""


class Jobs(Protocol):
    """Spark."""

    @property
    def cores(self) -> int: ...

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]": ...


class Sampler(Protocol):
    """Learns what one offset of a topic costs before anything is promised."""

    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        """Return offsets looked at and the bytes that they would be stored as; None when there was no record."""


@dataclass(frozen=True, slots=True)
class World:
    """All of it."""

    group: Group
    offsets: Offsets
    memory: Memory
    jobs: Jobs
    sampler: Sampler
