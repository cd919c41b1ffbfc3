"""How far a group is behind, asked of Kafka itself with the resource's own settings: true when every member is down."""

import time
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from logpersister.group.answers import GroupDescription
from logpersister.group.observation import Observation
from logpersister.kafka_client import KafkaCheckError, check_broker
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.secrets import Secrets
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.lag import PartitionLag, summarise
from logpersister.report.lines import partitions_text
from logpersister_operator.decide.lag_targets import due_seconds, target_lag_seconds
from logpersister_operator.observed_state import Flow, KnownLag, SecretsSeen, StuckPartition, UnknownLag

_NEVER: Final = float("-inf")


class _Looks:
    """Looks at one topic, by the number of the partition: 32 bytes each, for an operator remembers 100,000."""

    def __init__(self) -> None:
        self._positions, self._ends = array("q"), array("q")
        self._looked_at, self._since = array("d"), array("d")

    def since(self, number: int, position: Offset, end: Offset, now: float) -> float:
        """Take in a look; return since when at most the record at the position has waited."""
        missing = number + 1 - len(self._positions)
        if missing > 0:
            self._positions.extend([-1] * missing)
            self._ends.extend([-1] * missing)
            self._looked_at.extend([_NEVER] * missing)
            self._since.extend([_NEVER] * missing)
        if position < self._positions[number]:
            self._looked_at[number] = self._since[number] = _NEVER
            self._ends[number] = end
        self._positions[number] = position
        if position >= self._ends[number]:
            self._since[number] = self._looked_at[number]
            self._ends[number], self._looked_at[number] = end, now
        return self._since[number]


class WaitBounds:
    """What is remembered of one group."""

    def __init__(self) -> None:
        self._topics: dict[str, _Looks] = {}

    def bounded(self, lags: Iterable[PartitionLag], now: float) -> list[PartitionLag]:
        """Return the lags with ages that can be, seen `now` (monotonic seconds); forget partitions that are gone."""
        topics: dict[str, _Looks] = {}
        found = []
        for lag in lags:
            name = lag.partition.topic
            looks = topics.setdefault(name, self._topics.get(name) or _Looks())
            most = now - looks.since(lag.partition.partition, lag.position, lag.end, now)
            too_old = lag.age_seconds is not None and lag.age_seconds > most
            found.append(replace(lag, age_seconds=most) if too_old else lag)
        self._topics = topics
        return found


ASK_SECONDS: Final = 10.0
MOST_STUCK: Final = 10
MOST_TOPICS: Final = 10
_UNKNOWN: Final = -1


class _Still(NamedTuple):
    """A committed offset behind which records wait."""

    position: Offset
    since: float
    moved: bool
    """Whether it was seen to move before."""


class _StillOffsets:
    """Offsets of one topic, by the number of the partition: 17 bytes each, for an operator remembers 100,000."""

    def __init__(self) -> None:
        self._positions, self._since, self._moved = array("q"), array("d"), bytearray()

    def get(self, number: int) -> _Still | None:
        if number >= len(self._positions) or self._positions[number] == _UNKNOWN:
            return None
        return _Still(self._positions[number], self._since[number], bool(self._moved[number]))

    def put(self, number: int, still: _Still) -> None:
        missing = number + 1 - len(self._positions)
        if missing > 0:
            self._positions.extend([_UNKNOWN] * missing)
            self._since.extend([0.0] * missing)
            self._moved.extend(bytes(missing))
        self._positions[number], self._since[number], self._moved[number] = still


class NoProgress:
    """Since when each committed offset has not moved although records wait. Pure, except for its memory."""

    def __init__(self) -> None:
        self._topics: dict[str, _StillOffsets] = {}
        self._began: float | None = None
        self.bounds = WaitBounds()

    def observe(self, lags: Iterable[PartitionLag], now: float) -> dict[TopicPartition, float]:
        """Return for how many seconds each partition that is behind has stood still."""
        self._began = now if self._began is None else self._began
        behind = {lag.partition: self._seen(lag, now) for lag in lags if lag.records}
        self._topics = {}
        for (topic, number), still in behind.items():
            self._topics.setdefault(topic, _StillOffsets()).put(number, still)
        return {partition: now - still.since for partition, still in behind.items()}

    def watched(self, now: float) -> float:
        """Return for how many seconds this has been observed."""
        return 0.0 if self._began is None else now - self._began

    def moving(self, lags: Iterable[PartitionLag], now: float) -> list[PartitionLag]:
        """Return those partitions of the last observation that go forward, as far as that is seen.

        One that stands still gets older all the time and is not helped by more members: it must not look like a group
        that cannot keep up.
        """
        return [lag for lag in lags if not lag.records or self._moves(lag, now)]

    def _moves(self, lag: PartitionLag, now: float) -> bool:
        still = self._known(lag.partition)
        if still is None or not still.moved:
            return False
        return lag.age_seconds is None or now - still.since <= lag.age_seconds / 2

    def _seen(self, lag: PartitionLag, now: float) -> _Still:
        known = self._known(lag.partition)
        if known is not None and known.position == lag.position:
            return known
        return _Still(lag.position, now, moved=known is not None)

    def _known(self, partition: TopicPartition) -> _Still | None:
        offsets = self._topics.get(partition.topic)
        return None if offsets is None else offsets.get(partition.partition)


def lag_depends_on(resource: LogPersister, secrets: SecretsSeen) -> object:
    """Return what the question is made of: equal values need no new connection.

    Of the metadata nothing counts: it changes with every write of the status.
    """
    spec = resource.spec
    limits = spec.upload, [(one.topics, one.topic_pattern, one.upload) for one in spec.overrides]
    return resource.group_id, spec.kafka, limits, spec.cycle_interval, spec.target_lag, secrets.digest


class GroupLag:
    """What is asked about one group, and what is remembered of its answers."""

    def __init__(
        self,
        resource: LogPersister,
        secrets: Secrets,
        no_progress: NoProgress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to ask; ``no_progress`` is what was known of the group before its settings changed."""
        self.no_progress = no_progress or NoProgress()
        self.secrets = secrets
        self._resource = resource
        self._clock = clock
        self._explained = ("", "")
        """The last error and what a check of the brokers found then."""

    @property
    def group_id(self) -> str:
        return self._resource.group_id

    @property
    def kafka(self) -> KafkaSpec:
        return self._resource.spec.kafka

    def known(
        self, observation: Observation, described: GroupDescription | None, topics: Collection[str]
    ) -> KnownLag | UnknownLag:
        """Return what was observed, as far as somebody may act on it; ``topics`` are those of the group that exist."""
        unreadable = "; ".join(f"{partitions_text(some)}: {why}" for why, some in observation.unread.items())
        if unreadable and not observation.partitions:
            return UnknownLag(unreadable)
        missing = tuple(sorted(set(self.kafka.topics or ()) - set(topics)))
        return replace(self._known(observation), group=described, missing_topics=missing, unreadable=unreadable)

    def unknown(self, error: Exception, *, check: bool) -> UnknownLag:
        """Return why the lag is not known: what a check of the brokers finds, which names address and remedy.

        Args:
            error: what went wrong.
            check: whether there is time for a check, at most `ASK_SECONDS`; else it is what the last check found, if
                that was about the same error, and the error itself otherwise.
        """
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, ManifestError):
            return UnknownLag(str(error))
        if check:
            self._explained = (text, self._explain(text))
        return UnknownLag(self._explained[1] if self._explained[0] == text else text)

    def _known(self, observation: Observation) -> KnownLag:
        spec = self._resource.spec
        now = self._clock()
        lags = self.no_progress.bounds.bounded((state.lag for state in observation.partitions), now)
        stuck_for = self.no_progress.observe(lags, now)
        stuck = [
            StuckPartition(lag.partition, lag.records, round(stuck_for[lag.partition]))
            for lag in lags
            if stuck_for.get(lag.partition, 0.0) > target_lag_seconds(spec, lag.partition.topic)
        ]
        overdue = {one: by for one, seconds in stuck_for.items() if (by := seconds - due_seconds(spec, one.topic)) > 0}
        summary = summarise(lags, observation.observed_at)
        over = sorted(
            name
            for name, topic in summary.topics.items()
            if topic.seconds is not None and topic.seconds > target_lag_seconds(spec, name)
        )
        stuck.sort(key=lambda one: (-one.seconds, one.partition))
        most_stuck, most_over = tuple(stuck[:MOST_STUCK]), tuple(over[:MOST_TOPICS])
        flow = _flow(lags, self.no_progress.moving(lags, now), summary.observed_at)
        longest = max((due_seconds(spec, name) for name in summary.topics), default=0.0)
        return KnownLag(
            summary,
            most_stuck,
            most_over,
            generations=observation.generations,
            overdue=overdue,
            watched=self.no_progress.watched(now) > longest,
            flow=flow,
        )

    def _explain(self, text: str) -> str:
        try:
            check_broker(self.kafka, self.secrets, self.group_id, seconds=ASK_SECONDS)
        except (KafkaCheckError, ManifestError) as found:
            return str(found)
        except Exception:
            return text
        return text


def _flow(lags: Sequence[PartitionLag], moving: Iterable[PartitionLag], at: datetime) -> Flow:
    ages = {name: topic.seconds for name, topic in summarise(moving, at, worst=0).topics.items()}
    return Flow(sum(lag.position for lag in lags), sum(max(lag.end, lag.position) for lag in lags), ages)
