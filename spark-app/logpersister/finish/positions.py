"""Positions of a topic's partitions, as Kafka has them.

These reads are not fenced, and need not be (docs/design/duties.md): the ends are read before the committed offsets,
and an offset that is stale is only lower.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from logpersister.finish.watermark import FirstSince
from logpersister.group.answers import Answer, Registered, TopicDescription
from logpersister.kafka_client.causes import in_words
from logpersister.plan.intents import CommittedOffset, same_topic
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.facts import ObjectFacts

Value = TypeVar("Value")


class Kafka(Protocol):
    """Questions to Kafka that positions depend on."""

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]: ...

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...

    def committed(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Registered]: ...

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]: ...


class NotKnownError(Exception):
    """Kafka does not tell enough to decide anything about a topic; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Positions:
    """The partitions of a topic at one moment."""

    topic_id: str | None
    asked_at: int
    """Time of the questions, milliseconds since the epoch: the ends are those of then or later ones."""
    starts: Mapping[int, Offset]
    ends: Mapping[int, Offset]
    registered: Mapping[int, CommittedOffset]
    """The register of each partition, where it has metadata of ours; else the partition is missing."""

    def stored_to(self, partition: int) -> Offset | None:
        """Return before which offset everything is stored, lost or skipped; None: not known."""
        found = self.registered.get(partition)
        return None if found is None else found.offset

    def offsets(self) -> dict[int, Offset]:
        """Return the offset before which everything is stored, per partition where it is known."""
        return {partition: found.offset for partition, found in self.registered.items()}

    def generation(self, most: int) -> int:
        """Return in which generation, or in higher ones, all partitions are as far as they are; at most one of ours.

        One of which everything is stored is in any: a higher generation stores no record of it again.
        """
        stored = {number: self.stored_to(number) for number in self.ends}
        behind = [number for number, to in stored.items() if to is not None and to < self.ends[number]]
        found = [self.registered[number].metadata for number in behind]
        return min([most, *(metadata.generation for metadata in found if metadata is not None)])

    def newest(self, field: str) -> dict[int, int | None]:
        """Return the newest event of each partition, by a field; None where none of this field is known."""
        return {partition: self._newest(partition, field) for partition in self.ends}

    def _newest(self, partition: int, field: str) -> int | None:
        found = self.registered.get(partition)
        seen = None if found is None or found.metadata is None else found.metadata.seen
        return None if seen is None or seen.field != field else seen.time

    def is_final(self, facts: ObjectFacts) -> bool:
        """Whether the range of an object is committed, so that the object stays as it is.

        A lower generation than that in the register promises nothing more in its partition. A higher one has begun
        since the register was read.
        """
        found = self.registered.get(facts.range.partition.partition)
        if not same_topic(facts.topic_id, self.topic_id):
            return True  # of a topic of this name that is no more
        if found is None or found.metadata is None:
            return False
        if facts.generation != found.metadata.generation:
            return facts.generation < found.metadata.generation
        return facts.range.end <= found.offset


def positions_of(kafka: Kafka, topic: str, now: int) -> Positions:
    """Ask Kafka about all partitions of a topic, now (ms since the epoch). Raises NotKnownError, KafkaError."""
    described = kafka.describe([topic]).get(topic)
    if described is None:
        raise NotKnownError(f"topic {topic} does not exist, or may not be described")
    partitions = [TopicPartition(topic, number) for number in sorted(described.leaders)]
    starts, ends = _asked(kafka.log_starts, partitions), _asked(kafka.ends, partitions)
    committed = kafka.committed(partitions)  # last: what it says is stored is compared with an end that is not newer
    registered = {
        partition.partition: found
        for partition, found in committed.items()
        if isinstance(found, CommittedOffset)
        and found.metadata is not None
        and same_topic(found.metadata.topic_id, described.topic_id)
    }
    return Positions(described.topic_id, now, starts, ends, registered)


def first_since(kafka: Kafka, topic: str, partitions: Iterable[int], instant: int) -> dict[int, FirstSince | None]:
    """Return the first record of each partition that is not older than an instant (milliseconds since the epoch).

    Raises NotKnownError.
    """
    asked = [TopicPartition(topic, number) for number in partitions]
    found = _asked(lambda some: kafka.first_since(dict.fromkeys(some, instant)), asked)
    return {partition: None if first is None else FirstSince(*first) for partition, first in found.items()}


def _asked(
    ask: Callable[[Sequence[TopicPartition]], Answer[Value]], partitions: Sequence[TopicPartition]
) -> dict[int, Value]:
    answer = ask(partitions)
    for partition, error in sorted(answer.errors.items()):
        raise NotKnownError(f"the offsets of {partition} cannot be read: {in_words(error)}") from error
    missing = [partition for partition in partitions if partition not in answer.values]
    if missing:
        raise NotKnownError(f"Kafka does not tell the offsets of {missing[0]}")
    return {partition.partition: value for partition, value in answer.values.items()}
