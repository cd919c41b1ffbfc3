"""Answers of the group and the cluster. Pure, so that a simulated world can answer too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.ranges import TopicPartition

Registered = CommittedOffset | UnknownMetadataError | None
"""Register of a partition; None: it is empty."""

Value = TypeVar("Value")


@dataclass(slots=True)
class Answer(Generic[Value]):
    """Kafka's answers, for each partition that could be asked."""

    values: dict[TopicPartition, Value] = field(default_factory=dict)
    errors: dict[TopicPartition, Exception] = field(default_factory=dict)
    """Why not the others."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic as the cluster knows it now."""

    topic_id: str | None
    leaders: Mapping[int, int]
    """Broker id of the leader by partition; -1 when there is none."""


@dataclass(slots=True)
class CommitOutcome:
    """Outcome of a batch of commits."""

    committed: set[TopicPartition] = field(default_factory=set)
    refused: set[TopicPartition] = field(default_factory=set)
    """Not sent: the partition is no longer ours or is being revoked, or the group is just being shared out anew."""
    failed: dict[TopicPartition, Exception] = field(default_factory=dict)
    """The outcome is unknown; Kafka must be asked."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of the group."""

    name: str
    """Static name; else client id; else, where client ids repeat, the id that the group gave it."""
    host: str
    partitions: int
    is_static: bool = False
    """Whether the name is its own (``group.instance.id``): the group keeps its place when it is gone."""
    assignment: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """State and members of the group."""

    state: str
    """Kafka's word: ``Stable``, ``Empty``, ``PreparingRebalance``, ``CompletingRebalance``; ``Dead``: no such group."""
    members: tuple[GroupMember, ...]
    protocol: str = ""
    """Protocol of its members: type and assignor, as ``consumer: cooperative-sticky``. Empty: Kafka does not tell."""
