"""What the group and the cluster answer. Pure, so that a simulated world can answer too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from logpersister.ranges import TopicPartition

Value = TypeVar("Value")


@dataclass(slots=True)
class Answer(Generic[Value]):
    """What Kafka said for each partition that could be asked."""

    values: dict[TopicPartition, Value] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    """By topic."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic as the cluster knows it now."""

    topic_id: str | None
    leaders: Mapping[int, int]
    """Broker id of the leader by partition; -1 when there is none."""


@dataclass(slots=True)
class CommitOutcome:
    """What became of a batch of commits."""

    committed: set[TopicPartition] = field(default_factory=set)
    refused: set[TopicPartition] = field(default_factory=set)
    """Not sent: the partition is no longer ours or is being revoked, or the group is just being shared out anew."""
    failed: dict[TopicPartition, Exception] = field(default_factory=dict)
    """The outcome is unknown; Kafka must be asked."""
