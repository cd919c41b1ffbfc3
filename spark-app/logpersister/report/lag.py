"""Lag: how far the group's stored position is behind the end of its partitions. Pure.

A member summarises the partitions that it owns, ``logpersister lag`` those of the whole group.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from logpersister.ranges import Offset, TopicPartition

WORST = 10
"""How many partitions a summary names, whatever their number."""


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Where one partition stands. Only what was observed: a partition that could not be read has no `PartitionLag`."""

    partition: TopicPartition
    position: Offset
    """Everything before it is stored and committed."""
    end: Offset
    """Log end offset; the last stable offset when reading committed records only."""
    age_seconds: float | None
    """Age of the oldest record that is not stored; 0 when there is none, None when it is not known."""

    @property
    def records(self) -> int:
        """Offsets not yet stored: what Kafka tools call lag, an upper bound of the records (offsets have gaps)."""
        return max(0, self.end - self.position)


@dataclass(frozen=True, slots=True)
class TopicLag:
    """The partitions of one topic taken together."""

    partitions: int
    behind: int
    records: int
    records_max: int
    seconds: float | None
    """Lag in seconds of the worst partition; None when unknown for every partition that is behind."""

    def with_topic(self, other: "TopicLag") -> "TopicLag":
        """Return the lag of two topics taken together."""
        # What is behind without a known age must not be pulled to 0 by what is not behind.
        ages = [one.seconds for one in (self, other) if one.behind] or [0.0]
        return TopicLag(
            self.partitions + other.partitions,
            self.behind + other.behind,
            self.records + other.records,
            max(self.records_max, other.records_max),
            _max(ages),
        )


@dataclass(frozen=True, slots=True)
class LagSummary:
    """All partitions taken together; its size depends on the number of topics, never on that of partitions."""

    observed_at: datetime
    topics: Mapping[str, TopicLag]
    worst: tuple[PartitionLag, ...]
    """Partitions that are behind, at most `WORST`: oldest unstored record first, then most records."""

    @property
    def partitions(self) -> int:
        return sum(topic.partitions for topic in self.topics.values())

    @property
    def behind(self) -> int:
        return sum(topic.behind for topic in self.topics.values())

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.topics.values())

    @property
    def seconds(self) -> float | None:
        return _max(topic.seconds for topic in self.topics.values())


@dataclass(frozen=True, slots=True)
class GenerationShare:
    """The partitions whose committed offset is of one generation."""

    generation: int
    partitions: int
    began: Mapping[TopicPartition, Offset]
    """Where partitions went over to it, of the first `WORST` that tell."""


def generations(offsets: Iterable[tuple[TopicPartition, int, Offset | None]]) -> tuple[GenerationShare, ...]:
    """Return, by rising number, the generations that partitions are in.

    Args:
        offsets: partition, generation and its beginning there (None: not known) of committed offsets that tell.
    """
    counts: Counter[int] = Counter()
    began: dict[int, dict[TopicPartition, Offset]] = {}
    for partition, generation, since in sorted(offsets, key=lambda entry: entry[0]):
        counts[generation] += 1
        known = began.setdefault(generation, {})
        if since is not None and len(known) < WORST:
            known[partition] = since
    return tuple(GenerationShare(number, counts[number], began[number]) for number in sorted(counts))


def summarise(partitions: Iterable[PartitionLag], observed_at: datetime, worst: int = WORST) -> LagSummary:
    """Summarise `partitions`, which are read once and not kept."""
    topics: dict[str, TopicLag] = {}
    heap: list[tuple[float, int, str, int, PartitionLag]] = []
    for lag in partitions:
        name = lag.partition.topic
        age = lag.age_seconds if lag.records else 0.0
        one = TopicLag(1, int(lag.records > 0), lag.records, lag.records, age)
        topics[name] = topics[name].with_topic(one) if name in topics else one
        if lag.records:
            # The topic and the partition end every tie, so that a PartitionLag is never compared.
            entry = (lag.age_seconds or 0.0, lag.records, name, lag.partition.partition, lag)
            if len(heap) < worst:
                heapq.heappush(heap, entry)
            elif worst:
                heapq.heappushpop(heap, entry)
    return LagSummary(observed_at, topics, tuple(entry[-1] for entry in sorted(heap, reverse=True)))


def _max(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
