"""Ports that the decisions of a member depend on: Kafka, S3 and Spark. The model has its own (tests/model)."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from logpersister.aside import Aside, at_once
from logpersister.group.answers import Answer, CommitOutcome, Registered, TopicDescription
from logpersister.manifest.revisions.revision import OutputSchema, Revision
from logpersister.pipeline.work import RangeOutcome, TaskSpec
from logpersister.plan.partitions import Commit
from logpersister.plan.recovery import StoredTail
from logpersister.ranges import Cause, Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote

NoteError = ForeignObjectError | StorageError
"""Why a note cannot be read: somebody has changed it, or the bucket fails."""


class Group(Protocol):
    """Membership: which partitions are ours."""

    def ownership(self) -> dict[TopicPartition, int]: ...

    def retain(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]: ...

    def release(self, partitions: Iterable[TopicPartition]) -> None: ...


class Register(Protocol):
    """The committed offsets, through our membership: the only way to read and to write them."""

    def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Registered]:
        """Return what stands there, fenced; topics that cannot be asked are missing. Raises when nothing is sure."""

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome: ...


class Offsets(Protocol):
    """Where the log is."""

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]: ...

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]: ...

    def topics_matching(self, matches: Callable[[str], bool]) -> list[str]: ...


class StateStore(Protocol):
    """The state that the group keeps in the bucket."""

    def stored_tails(
        self, partitions: Iterable[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        """Return what is stored last of each partition, in the highest generation up to this one that has anything."""

    def ahead(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError | None]:
        """Return the start of an object of this generation at or behind each position; None: there is none."""

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        """Store a revision's snapshot; nothing happens when it is there."""

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        """Return the snapshot of a revision that stores in a place (bucket and prefix); None when it is not there."""

    def bind_topics(self, notes: Mapping[str, TopicNote], generation: int) -> Mapping[str, TopicNote | NoteError]:
        """Note what the generation is about, by topic name; return what was noted first."""

    def first_note(self, topic: str, topic_id: str) -> TopicNote | None:
        """Return the note of the first generation that was about a topic."""

    def note_selection(self, selection: Mapping[str, Any], topics: Sequence[str]) -> Sequence[str]:
        """Note which topics there are when the group begins to select them in this way; return the first such note."""

    def record_loss(self, lost: Range, topic_id: str | None, cause: Cause) -> None:
        """Record durably that a range will not be stored, and why. Repeating it changes nothing."""


class Jobs(Protocol):
    """Port to Spark."""

    @property
    def cores(self) -> int: ...

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]": ...


class Sampler(Protocol):
    """Learns what one offset of a topic costs before anything is promised."""

    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        """Return offsets looked at and the bytes that they would be stored as; None when there was no record."""


class Schemas(Protocol):
    """The schema registries of a group."""

    def of(self, topic: str) -> "SchemasOfTopic | None":
        """Return the registry that declares the columns of a topic; None: nothing is asked about it."""


class SchemasOfTopic(Protocol):
    """A schema registry that declares columns."""

    @property
    def place(self) -> Hashable:
        """Which of the registries it is."""

    def current(self, topic: str) -> OutputSchema:
        """Return the schema by which rows of a topic are made: the latest now, or the one that the manifest names.

        Raises RegistryError.
        """

    def unreadable(self, topic: str, now: OutputSchema, before: OutputSchema) -> str | None:
        """Return why rows cannot be made by `now` of what was made rows by `before`, or between them; None: they can.

        Raises RegistryError.
        """


class Tables(Protocol):
    """The tables of topics, or of their types, as far as their columns decide what files are like."""

    def bound(self, topic: str, revision: Revision) -> Revision | None:
        """Return a revision with the numbers by which tables know its columns; None: not known yet."""

    def take_errors(self) -> Mapping[str, Exception]:
        """Return by topic what went wrong since the last call."""

    @property
    def refused(self) -> set[str]:
        """Topics whose table waits for a person."""


class Horizons(Protocol):
    """Watermarks of finished folders, for topics whose late records go elsewhere."""

    def now(self, topics: Collection[str]) -> Mapping[str, int | None]:
        """Return known watermarks, at most the true ones (`Intent.horizon`); topics that have to wait are missing."""


class NoHorizons:
    """Late records of all topics stand where others do."""

    def now(self, topics: Collection[str]) -> Mapping[str, int | None]:
        return dict.fromkeys(topics)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """All ports of a member."""

    group: Group
    register: Register
    offsets: Offsets
    state_store: StateStore
    jobs: Jobs
    sampler: Sampler
    schemas: Schemas | None = None
    """None: no registry declares columns."""
    tables: Tables | None = None
    """None: topics have no tables."""
    horizons: Horizons = field(default_factory=NoHorizons)
    aside: Aside = at_once
    """How servers are asked that only some topics need: the others do not wait for them."""
