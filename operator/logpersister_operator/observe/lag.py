"""How far a group is behind, asked of Kafka itself with the resource's own settings: true when every member is down."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import structlog
from kafka.errors import KafkaError

from logpersister.group.answers import GroupDescription
from logpersister.group.observation import Observation, observe
from logpersister.group.offsets import OffsetReader
from logpersister.kafka_client import KafkaCheckError, check_broker, client_config
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.kafka import KafkaSpec
from logpersister.manifest.secrets import Secrets
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.lag import PartitionLag, summarise
from logpersister_operator.decide.lag_targets import due_seconds, target_lag_seconds
from logpersister_operator.observed_state import Flow, KnownLag, SecretsSeen, StuckPartition, UnknownLag

log = structlog.get_logger(__name__)

ASK_SECONDS: Final = 10.0
MOST_STUCK: Final = 10
MOST_TOPICS: Final = 10


@dataclass(frozen=True, slots=True)
class _Still:
    """A committed offset behind which records wait."""

    position: Offset
    since: float
    moved: bool
    """Whether it was seen to move before."""


class NoProgress:
    """Since when each committed offset has not moved although records wait. Pure, but for its memory."""

    def __init__(self) -> None:
        self._since: dict[TopicPartition, _Still] = {}
        self._began: float | None = None

    def observe(self, lags: Iterable[PartitionLag], now: float) -> dict[TopicPartition, float]:
        """Return for how many seconds each partition that is behind has stood still."""
        self._began = now if self._began is None else self._began
        behind = {lag.partition: lag for lag in lags if lag.records}
        self._since = {partition: self._seen(lag, now) for partition, lag in behind.items()}
        return {partition: now - still.since for partition, still in self._since.items()}

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
        still = self._since[lag.partition]
        return still.moved and (lag.age_seconds is None or now - still.since <= lag.age_seconds / 2)

    def _seen(self, lag: PartitionLag, now: float) -> _Still:
        known = self._since.get(lag.partition)
        if known is not None and known.position == lag.position:
            return known
        return _Still(lag.position, now, moved=known is not None)


def lag_depends_on(resource: LogPersister, secrets: SecretsSeen) -> object:
    """Return what the question is made of: equal values need no new connection.

    Of the metadata nothing counts: it changes with every write of the status.
    """
    spec = resource.spec
    return resource.group_id, spec.kafka, spec.upload, spec.cycle_interval, spec.target_lag, secrets.digest


class GroupLag:
    """Asks about one group; keeps its connections. Those who ask and close may be different threads."""

    def __init__(
        self,
        resource: LogPersister,
        secrets: Secrets,
        no_progress: NoProgress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to ask; ``standing_still`` is what was known of the group before its settings changed."""
        self.no_progress = no_progress or NoProgress()
        self._resource = resource
        self._secrets = secrets
        self._clock = clock
        self._offsets: OffsetReader | None = None
        self._missing: tuple[str, ...] = ()
        self._asking = threading.Lock()
        self._closed = False

    def ask(self) -> KnownLag | UnknownLag:
        """Ask Kafka; what goes wrong is the answer, in words that say what to do."""
        try:
            with self._asking:
                return self._ask()
        finally:
            if self._closed:
                self.close()

    def close(self) -> None:
        """Close the connections now, or as soon as who is asking has an answer. Never waits for Kafka."""
        self._closed = True
        if self._asking.acquire(blocking=False):
            try:
                self._disconnect()
            finally:
                self._asking.release()

    def _ask(self) -> KnownLag | UnknownLag:
        try:
            lag = self._known(self._observe())
            return replace(lag, group=self._describe()) if isinstance(lag, KnownLag) else lag
        except Exception as error:
            self._disconnect()
            return UnknownLag(self._explain(error))

    def _disconnect(self) -> None:
        if self._offsets is not None:
            with suppress(Exception):  # what is closed because it does not work may not close well
                self._offsets.close()
            self._offsets = None

    def _observe(self) -> Observation:
        kafka = self._resource.spec.kafka
        if self._offsets is None:
            limit = int(ASK_SECONDS * 1000)
            config: dict[str, Any] = client_config(kafka, self._secrets)
            config |= {"bootstrap_timeout_ms": limit, "request_timeout_ms": limit}
            self._offsets = OffsetReader(
                config, self._resource.group_id, read_committed=kafka.isolation_level == "read_committed"
            )
        topics = _partitions(self._offsets, kafka)
        self._missing = tuple(sorted(set(kafka.topics or ()) - topics.keys()))
        return observe(self._offsets, kafka, topics)

    def _describe(self) -> GroupDescription | None:
        assert self._offsets is not None
        try:
            return self._offsets.describe_group()
        except KafkaError as error:  # the lag is known all the same
            log.warning("group.not_described", group=self._resource.group_id, error=repr(error))
            return None

    def _known(self, observation: Observation) -> KnownLag | UnknownLag:
        if observation.errors:
            topic = min(observation.errors)
            more = f" (and {len(observation.errors) - 1} more topics)" if len(observation.errors) > 1 else ""
            return UnknownLag(f"topic {topic}: {observation.errors[topic]}{more}")
        spec = self._resource.spec
        lags = [state.lag for state in observation.partitions]
        now = self._clock()
        stuck_for = self.no_progress.observe(lags, now)
        stuck = [
            StuckPartition(lag.partition, lag.records, round(stuck_for[lag.partition]))
            for lag in lags
            if stuck_for.get(lag.partition, 0.0) > target_lag_seconds(spec, lag.partition.topic)
        ]
        overdue = {one: by for one, seconds in stuck_for.items() if (by := seconds - due_seconds(spec, one.topic)) > 0}
        summary = observation.summary
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
            self._missing,
            observation.generations,
            overdue=overdue,
            watched=self.no_progress.watched(now) > longest,
            flow=flow,
        )

    def _explain(self, error: Exception) -> str:
        """Return what a check of the brokers finds, which names address and remedy; else the error itself."""
        if isinstance(error, ManifestError):
            return str(error)
        try:
            check_broker(self._resource.spec.kafka, self._secrets, self._resource.group_id, seconds=ASK_SECONDS)
        except (KafkaCheckError, ManifestError) as found:
            return str(found)
        except Exception:
            return f"{type(error).__name__}: {error}"
        return f"{type(error).__name__}: {error}"


def _flow(lags: Sequence[PartitionLag], moving: Iterable[PartitionLag], at: datetime) -> Flow:
    ages = {name: topic.seconds for name, topic in summarise(moving, at, worst=0).topics.items()}
    return Flow(sum(lag.position for lag in lags), sum(max(lag.end, lag.position) for lag in lags), ages)


def _partitions(offsets: OffsetReader, kafka: KafkaSpec) -> Mapping[str, int]:
    """Return the topics that the manifest selects and that exist, with their numbers of partitions."""
    topics = kafka.topics if kafka.topics is not None else offsets.topics_matching(kafka.selects)
    return {name: len(topic.leaders) for name, topic in offsets.describe(topics).items()}
