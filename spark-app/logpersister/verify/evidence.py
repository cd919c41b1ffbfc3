"""What is known of one partition before it is judged. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from logpersister.plan.intents import CommittedOffset, same_topic
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.deletions import Deletion
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.left_out import LeftOutRange
from logpersister.storage.losses import Loss
from logpersister.storage.names import ObjectName
from logpersister.verify.replays import NotedReplay


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object under a name of ours, with what it says about itself."""

    key: str
    name: ObjectName
    size: int
    """Bytes as they are stored."""
    facts: ObjectFacts | None
    group: str | None
    """Whose it is by its metadata; None when the metadata names no group."""
    fault: str | None = None
    promised_end: Offset | None = None
    """End of the range by the metadata, when there are no facts."""

    @property
    def claimed_end(self) -> Offset:
        """Where its range ends as far as known; at least one offset behind its start."""
        end = self.facts.range.end if self.facts else self.promised_end
        return max(self.name.start + 1, end or 0)


@dataclass(frozen=True, slots=True)
class KafkaView:
    """What Kafka has of the partition now."""

    topic_id: str | None
    log_start: Offset
    end: Offset
    """High watermark, or last stable offset when reading committed."""


@dataclass(frozen=True, slots=True)
class ReplayedSpan:
    """Offsets of the partition that a replay of history stores again."""

    generation: int
    start: Offset
    end: Offset
    done: bool
    """Whether all of them are stored."""


@dataclass(frozen=True, slots=True)
class PartitionEvidence:
    """Everything that a judgement rests on."""

    partition: TopicPartition
    group: str
    generation: int
    before: CommittedOffset | None
    """The committed offset before the bucket was listed: what it covers must be in the listing."""
    after: CommittedOffset | None
    """The committed offset after the bucket was listed: what is in the listing was promised by then."""
    objects: Sequence[StoredObject]
    losses: Sequence[Loss] = ()
    replays: Sequence[NotedReplay] = ()
    """Replays of quarantine."""
    history: Sequence[ReplayedSpan] = ()
    """Replays of history."""
    left_out: Sequence[LeftOutRange] = ()
    """Ranges of which nothing was stored, because all of their records are left out."""
    deletions: Sequence[Deletion] = ()
    """What was deleted of the topic on purpose."""
    kafka: KafkaView | None = None
    """None: Kafka does not have the partition (any more)."""
    from_earliest: bool = False
    """Whether the manifest lets new partitions begin with Kafka's first record."""

    @property
    def current_generation(self) -> int:
        """The generation that the committed offset belongs to."""
        metadata = self.before.metadata if self.before else None
        return metadata.generation if metadata else self.generation

    @property
    def topic_id(self) -> str | None:
        """The topic that the committed offset belongs to, or else the one that Kafka has now."""
        metadata = self.before.metadata if self.before else None
        if metadata is not None and metadata.topic_id is not None:
            return metadata.topic_id
        return self.kafka.topic_id if self.kafka else None

    @property
    def readable(self) -> Range | None:
        """What can be read from Kafka of the topic that is judged."""
        kafka = self.kafka
        if kafka is None or kafka.log_start >= kafka.end or not same_topic(kafka.topic_id, self.topic_id):
            return None
        return Range(self.partition, kafka.log_start, kafka.end)

    @property
    def pending(self) -> int:
        """How many offsets are promised and not committed yet."""
        intent = None if self.after is None else self.after.intent(self.partition)
        return 0 if intent is None else intent.end - intent.start

    def promised(self) -> frozenset[tuple[Offset, Offset]]:
        """Return start and end of the ranges of the pending intents, before and after the listing."""
        intents = [entry.intent(self.partition) for entry in (self.before, self.after) if entry is not None]
        return frozenset((one.start, one.end) for intent in intents if intent for one in intent.ranges())
