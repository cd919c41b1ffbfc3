"""Observes the positions of the whole group, asked of Kafka itself: true whether or not a member runs."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from logpersister.group.answers import Answer, Registered
from logpersister.kafka_client.causes import in_words
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.plan.intents import CommittedOffset, Intent, UnknownMetadataError
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.lag import GenerationShare, LagSummary, PartitionLag, generations, summarise

Milliseconds = int
Found = tuple[Offset, Milliseconds]
Ask = Callable[[Mapping[TopicPartition, Milliseconds]], Mapping[TopicPartition, Found | None]]
"""Returns for each partition the first record at or after a time; None: there is none. Partitions may be missing."""

ROUNDS: Final = 16
PRECISION: Final = 0.02
FINEST: Final = 500
"""Milliseconds below which a closer answer tells nobody anything."""


@dataclass(slots=True)
class _Search:
    position: Offset
    early: Milliseconds
    """The oldest unstored record is not older than this."""
    late: Milliseconds
    """The oldest unstored record is older than this."""

    def next(self, now: Milliseconds) -> Milliseconds:
        oldest, youngest = max(now - self.early, 1), max(now - self.late, 1)
        guess = now - round(math.sqrt(oldest * youngest))
        return min(max(guess, self.early + 1), self.late - 1)

    def precise(self, now: Milliseconds) -> bool:
        return self.late - self.early <= max(FINEST, PRECISION * (now - self.early))


def oldest_timestamps(
    positions: Mapping[TopicPartition, Offset], now: Milliseconds, ask: Ask
) -> dict[TopicPartition, Milliseconds]:
    """Return the timestamp (ms) of the first record at or after each position.

    Partitions whose records have no timestamps, or that could not be asked, are missing from the result.
    """
    found: dict[TopicPartition, Milliseconds] = {}
    searches: dict[TopicPartition, _Search] = {}
    for partition, first in ask(dict.fromkeys(positions, 0)).items():
        if first is None:
            continue  # no record has a timestamp
        offset, timestamp = first
        if offset >= positions[partition] or timestamp >= now:
            found[partition] = timestamp
        else:
            searches[partition] = _Search(positions[partition], early=timestamp, late=now + 1)
    for _ in range(ROUNDS):
        for partition in [one for one, search in searches.items() if search.precise(now)]:
            found[partition] = searches.pop(partition).early
        if not searches:
            break
        times = {partition: search.next(now) for partition, search in searches.items()}
        answers = ask(times)
        for partition, at in times.items():
            if partition not in answers:
                del searches[partition]
            elif exact := _narrow(searches[partition], at, answers[partition]):
                found[partition] = exact
                del searches[partition]
    # Out of rounds: an age that is a little too old is the safer one.
    return found | {partition: search.early for partition, search in searches.items()}


def _narrow(search: _Search, time: Milliseconds, answer: Found | None) -> Milliseconds | None:
    """Take in what the first record at or after `time` is; return the timestamp when it is the one looked for."""
    if answer is None or answer[0] > search.position:
        search.late = time
        return None
    offset, timestamp = answer
    if offset == search.position:
        return timestamp
    search.early = min(max(time, timestamp), search.late - 1)
    return None


class Positions(Protocol):
    """What is asked of Kafka about one group: `OffsetReader` asks at once, others may have asked before."""

    def committed(self, partitions: Iterable[TopicPartition], /) -> Mapping[TopicPartition, Registered]:
        """Return the group's committed offsets."""

    def log_starts(self, partitions: Iterable[TopicPartition], /) -> Answer[Offset]:
        """Return where the logs begin."""

    def ends(self, partitions: Iterable[TopicPartition], /) -> Answer[Offset]:
        """Return where the logs end, for this group."""

    def first_since(self, timestamps: Mapping[TopicPartition, int], /) -> Answer[tuple[Offset, int] | None]:
        """Return the first records not older than the given ms."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition, as Kafka shows it."""

    lag: PartitionLag
    committed: Offset | None
    """None: the group has not committed anything here; the position is where ``spec.kafka.startFrom`` would begin."""
    log_start: Offset
    intent: Intent | None
    generation: int | None = None
    """Generation in the commit's metadata; None when the commit is not ours."""
    since: Offset | None = None
    """Where the partition went over to that generation; None when it is not known."""

    @property
    def lost(self) -> int:
        """Offsets that Kafka deleted before they were stored."""
        return 0 if self.committed is None else max(0, self.log_start - self.committed)


@dataclass(frozen=True, slots=True)
class Observation:
    """All partitions of the group's topics at one moment."""

    observed_at: datetime
    partitions: tuple[PartitionState, ...]
    """Sorted; only those that could be asked."""
    errors: Mapping[TopicPartition, str]
    """Why not the others."""

    @property
    def summary(self) -> LagSummary:
        return summarise((state.lag for state in self.partitions), self.observed_at)

    @property
    def unread(self) -> Mapping[str, Sequence[TopicPartition]]:
        """Partitions that could not be asked, by the reason."""
        found: dict[str, list[TopicPartition]] = {}
        for partition, error in sorted(self.errors.items()):
            found.setdefault(error, []).append(partition)
        return found

    @property
    def intents(self) -> list[Intent]:
        return [state.intent for state in self.partitions if state.intent is not None]

    @property
    def generations(self) -> tuple[GenerationShare, ...]:
        """The generations that partitions are in: two while one takes over from the other."""
        found = ((state.lag.partition, state.generation, state.since) for state in self.partitions)
        return generations((partition, number, since) for partition, number, since in found if number is not None)


def observe(
    offsets: Positions, kafka: KafkaSpec, topics: Mapping[str, int], clock: Callable[[], float] = time.time
) -> Observation:
    """Ask Kafka about the partitions of `topics` (name to number of partitions); raises KafkaError."""
    return _Observer(offsets, kafka, clock).observe(topics)


class _Observer:
    def __init__(self, offsets: Positions, kafka: KafkaSpec, clock: Callable[[], float]) -> None:
        self._offsets = offsets
        self._kafka = kafka
        self._now = clock()
        self._errors: dict[TopicPartition, str] = {}

    def observe(self, topics: Mapping[str, int]) -> Observation:
        asked = [TopicPartition(topic, number) for topic, count in sorted(topics.items()) for number in range(count)]
        # Committed offsets first, ends last: a member that commits in between makes the lag too large, never too small.
        committed = self._committed(asked)
        asked = [partition for partition in asked if partition in committed]
        starts = self._known(self._offsets.log_starts(asked))
        ends = self._known(self._offsets.ends(asked))
        asked = [partition for partition in asked if partition in starts and partition in ends]
        firsts = self._first_positions([p for p in asked if committed[p] is None], starts, ends)
        positions = {
            p: found.offset if (found := committed[p]) else firsts[p] for p in asked if committed[p] or p in firsts
        }
        ages = self._ages({p: max(at, starts[p]) for p, at in positions.items() if at < ends[p]})
        states = []
        for partition, position in positions.items():
            age = ages.get(partition) if position < ends[partition] else 0.0
            found = committed[partition]
            metadata = found.metadata if found else None
            states.append(
                PartitionState(
                    lag=PartitionLag(partition, position, ends[partition], age),
                    committed=found.offset if found else None,
                    log_start=starts[partition],
                    intent=found.intent(partition) if found else None,
                    generation=metadata.generation if metadata else None,
                    since=metadata.since if metadata else None,
                )
            )
        return Observation(datetime.fromtimestamp(self._now, UTC), tuple(states), self._errors)

    def _committed(self, partitions: list[TopicPartition]) -> dict[TopicPartition, CommittedOffset | None]:
        known: dict[TopicPartition, CommittedOffset | None] = {}
        for partition, committed in self._offsets.committed(partitions).items():
            if isinstance(committed, UnknownMetadataError):
                self._errors[partition] = str(committed)
            else:
                known[partition] = committed
        return known

    def _first_positions(
        self,
        partitions: list[TopicPartition],
        starts: Mapping[TopicPartition, Offset],
        ends: Mapping[TopicPartition, Offset],
    ) -> dict[TopicPartition, Offset]:
        """Return where partitions without a committed offset would begin."""
        start_time = self._kafka.start_time
        if start_time is None:
            at = ends if self._kafka.start_from == "latest" else starts
            return {partition: at[partition] for partition in partitions}
        milliseconds = int(start_time.timestamp() * 1000)
        found = self._known(self._offsets.first_since(dict.fromkeys(partitions, milliseconds)))
        return {partition: first[0] if first else ends[partition] for partition, first in found.items()}

    def _ages(self, positions: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, float]:
        def ask(times: Mapping[TopicPartition, Milliseconds]) -> Mapping[TopicPartition, Found | None]:
            return self._offsets.first_since(times).values if times else {}

        oldest = oldest_timestamps(positions, int(self._now * 1000), ask)
        return {partition: max(0.0, self._now - timestamp / 1000) for partition, timestamp in oldest.items()}

    def _known(self, answer: Any) -> dict[TopicPartition, Any]:
        self._errors |= {partition: in_words(error) for partition, error in answer.errors.items()}
        values: dict[TopicPartition, Any] = answer.values
        return values
