"""The Prometheus metrics of one member, as methods: callers state facts and never touch names or labels.

Every metric is explained in docs/monitoring.md; a test compares the page and this registry both ways.
Labels are bounded (`labels.BoundedValues`); partitions are never labels, the status document names the worst of them.
"""

import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Info
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logpersister.report.facts import (
    BucketFailed,
    DataLoss,
    HeldPartition,
    LateRecords,
    RangeFailed,
    RangeWritten,
)
from logpersister.report.instruments import Instruments
from logpersister.report.labels import BoundedValues
from logpersister.report.lag import LagSummary, TopicLag
from logpersister.report.plain import document
from logpersister.report.processes import ProcessCollector
from logpersister.report.state_metrics import StateMetrics, TableMetrics, TypeMetrics
from logpersister.report.status import StatusBoard

PREFIX: Final = "logpersister"
MAX_TOPICS: Final = 2_000
"""Topics with series of their own; the rest share ``other``. Fifteen series a topic, and one for each reason why
values are adjusted: 42,000 at the very most."""
MAX_KINDS: Final = 32

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)

CommitStep = Literal["promise", "keep"]
"""The two commits of a range: its intent before the first byte, its end after the last."""


class Metrics(Instruments):
    """One per process. Every method may be called from any thread."""

    def __init__(self, board: StatusBoard, *, processes: bool = True) -> None:
        """Show what is told, and what the board says.

        `processes`: also report CPU and memory of this process and its children (JVM, Python workers).
        """
        super().__init__(CollectorRegistry(auto_describe=True), PREFIX)
        self._topic = BoundedValues(MAX_TOPICS)
        self._kinds = BoundedValues(MAX_KINDS)
        self._reasons = BoundedValues(MAX_KINDS)
        self._held_reasons: set[str] = set()
        self._held_lock = threading.Lock()
        self._member = Info("member", "Who reports.", namespace=PREFIX, registry=self.registry)
        self._member.info({name: str(value) for name, value in document(board.snapshot().identity).items()})
        self._make_those_of_ranges()
        self._types = TypeMetrics(self.registry, PREFIX)
        self.tables: Final = TableMetrics(self.registry, PREFIX)
        self._make_those_of_commits()
        self._make_those_of_the_group()
        self._make_those_of_duties()
        self._lag = _LagCollector(self._topic)
        self.registry.register(self._lag)
        self.registry.register(StateMetrics(PREFIX, board, self._topic))
        if processes:
            self.registry.register(ProcessCollector(PREFIX))

    def _make_those_of_ranges(self) -> None:
        counter, gauge = self._counter, self._gauge
        self._records = counter("records", "Records stored and committed.", "topic")
        self._quarantined = counter("quarantined_records", "Records stored that the parser refused.", "topic")
        self._adjusted = counter("adjusted_values", "Values that the parser has adjusted.", "topic", "reason")
        self._dropped = counter("dropped_records", "Records left out by spec.keep or spec.types.", "topic")
        self._payload_bytes = counter("payload_bytes", "Bytes of keys and values stored, before encoding.", "topic")
        self._object_bytes = counter("object_bytes", "Bytes of the objects stored, as in the bucket.", "topic")
        self._objects = counter("objects", "Objects stored and committed.", "topic")
        self._ranges = counter("ranges", "Ranges stored and committed, also those without records.", "topic")
        self._empty_ranges = counter("empty_ranges", "Ranges stored and committed that held no record.", "topic")
        self._unexplained = counter(
            "unexplained_offsets", "Offsets at ends of ranges of which Kafka gave nothing, not even why.", "topic"
        )
        self._last_upload = gauge("last_upload_timestamp_seconds", "Time of the last object committed (Unix time).")

        self._upload_failures = counter(
            "upload_failures",
            "Attempts of ranges, and of our own documents, that the bucket failed.",
            "kind",
        )
        self._range_failures = counter("range_failures", "Attempts of ranges that failed for any reason.", "kind")
        self._retries = counter("retries", "Requests and ranges tried again.", "reason")
        self._data_loss = counter("data_loss_offsets", "Offsets deleted by Kafka before they were stored.", "topic")

    def _make_those_of_commits(self) -> None:
        counter, histogram = self._counter, self._histogram
        self._range_seconds = histogram("range_duration_seconds", "From first fetch to durable objects.", _LONG_SECONDS)
        self._commit_seconds = histogram("commit_duration_seconds", "Offset commits to Kafka.", _SECONDS, "step")
        self._commit_failures = counter("commit_failures", "Offset commits that Kafka refused or lost.", "step", "kind")
        self._cycle_seconds = histogram("cycle_duration_seconds", "Look, plan, promise and hand over.", _LONG_SECONDS)

    def _make_those_of_the_group(self) -> None:
        counter, gauge = self._counter, self._gauge
        self._rebalances = counter("rebalances", "Changes of this member's assignment.")
        self._lost_partitions = counter("lost_partitions", "Partitions taken away without a revocation.")
        self._jobs = gauge("jobs_in_flight", "Spark jobs that run now.")
        self._ranges_in_flight = gauge("ranges_in_flight", "Ranges in Spark jobs that run now.")
        self._held = gauge("held_partitions", "Partitions on which nothing is done until someone decides.", "reason")

    def _make_those_of_duties(self) -> None:
        counter, histogram = self._counter, self._histogram
        self._duty_failures = counter("duty_failures", "Attempts of a duty that failed, of one topic each.", "duty")
        self._finished = counter("finished_folders", "Folders by time that were finished.", "topic")
        self._guessed = counter("guessed_folders", "Of them, those with idle or hidden partitions.", "topic")
        self._late = counter("late_records", "Records that came when their folder was finished.", "topic", "to")
        self._told = counter("told_folders", "Finished folders that others were told of.", "topic", "policy")
        self._told_in_vain = counter("refused_folders", "Finished folders that others refused.", "topic", "policy")
        self._duty_seconds = histogram("duty_duration_seconds", "Attempts, of one topic each.", _SECONDS, "duty")

    # -- ranges

    def range_written(self, written: RangeWritten) -> None:
        """A range is stored and its end committed; call once for each range."""
        topic = self._topic(written.range.partition.topic)
        self._ranges.labels(topic).inc()
        if written.quarantined is not None:
            self._quarantined.labels(topic).inc(written.quarantined.records)
        for reason, values in written.adjusted.items():
            self._adjusted.labels(topic, reason).inc(values)
        if written.dropped:
            self._dropped.labels(topic).inc(written.dropped)
        if written.late is not None:
            self.late(written.range.partition.topic, written.late)
        if written.records == 0:
            self._empty_ranges.labels(topic).inc()
        if written.unexplained:
            self._unexplained.labels(topic).inc(written.unexplained)
        self._records.labels(topic).inc(written.records)
        self._payload_bytes.labels(topic).inc(written.payload_bytes)
        self._object_bytes.labels(topic).inc(written.bytes)
        self._objects.labels(topic).inc(len(written.objects))
        self._range_seconds.observe(written.seconds)
        if written.objects:
            self._last_upload.set_to_current_time()
        self._types.range_written(written)

    def range_failed(self, failed: RangeFailed) -> None:
        kind = self._kinds(failed.kind)
        self._range_failures.labels(kind).inc()
        if failed.upload:
            self._upload_failures.labels(kind).inc()

    def bucket_failed(self, failed: BucketFailed) -> None:
        self._upload_failures.labels(self._kinds(failed.kind)).inc()

    def retried(self, reason: str, count: int = 1) -> None:
        """Something was tried again: `reason` is a short stable word such as ``throttled`` or ``range``."""
        self._retries.labels(self._reasons(reason)).inc(count)

    def data_lost(self, loss: DataLoss) -> None:
        """Call once for each gap that is found, whether it was skipped or holds the partition."""
        self._data_loss.labels(self._topic(loss.partition.topic)).inc(loss.offsets)

    # -- commits, cycles, jobs

    def committed(self, step: CommitStep, seconds: float) -> None:
        """One request that committed offsets succeeded."""
        self._commit_seconds.labels(step).observe(seconds)

    def commit_failed(self, step: CommitStep, error: Exception) -> None:
        """One request that committed offsets was refused, or its outcome is unknown."""
        self._commit_failures.labels(step, self._kinds(type(error).__name__)).inc()

    def cycle(self, seconds: float) -> None:
        """One round of the member ended."""
        self._cycle_seconds.observe(seconds)

    def jobs(self, jobs: int, ranges: int) -> None:
        """Set the numbers of running Spark jobs and of the ranges in them."""
        self._jobs.set(jobs)
        self._ranges_in_flight.set(ranges)

    # -- group and partitions

    def rebalanced(self) -> None:
        self._rebalances.inc()

    def partitions_lost(self, count: int) -> None:
        self._lost_partitions.inc(count)

    def held(self, partitions: Iterable[HeldPartition]) -> None:
        """All partitions that are held now; a reason that no longer occurs goes to 0."""
        counts = Tally(self._reasons(held.reason) for held in partitions)
        with self._held_lock:
            self._held_reasons |= counts.keys()
            for reason in self._held_reasons:
                self._held.labels(reason).set(counts[reason])

    def duty_performed(self, duty: str, seconds: float, *, failed: bool) -> None:
        """One attempt for one topic has ended."""
        self._duty_seconds.labels(duty).observe(seconds)
        self._duty_failures.labels(duty).inc(int(failed))

    def folder_finished(self, topic: str, *, guessed: bool) -> None:
        self._finished.labels(self._topic(topic)).inc()
        self._guessed.labels(self._topic(topic)).inc(int(guessed))

    def late(self, topic: str, late: LateRecords) -> None:
        """Records came when their folder was finished."""
        self._late.labels(self._topic(topic), late.to).inc(late.records)

    def told(self, policy: str, topic: str, folders: int, refused: int) -> None:
        """Count notifications that were accepted and refused."""
        self._told.labels(self._topic(topic), policy).inc(folders)
        self._told_in_vain.labels(self._topic(topic), policy).inc(refused)

    def by_topic(self) -> dict[str, dict[str, float]]:
        """Return what is stored of each topic by now: `records`, `bytes`, `objects`, `quarantined`."""
        counters = {
            "records": self._records,
            "bytes": self._object_bytes,
            "objects": self._objects,
            "quarantined": self._quarantined,
        }
        found: dict[str, dict[str, float]] = {}
        for name, counter in counters.items():
            for sample in (sample for family in counter.collect() for sample in family.samples):
                if sample.name.endswith("_total"):
                    found.setdefault(sample.labels["topic"], {})[name] = sample.value
        return found

    def lag(self, summary: LagSummary) -> None:
        """The lag as just observed; topics that are gone lose their series."""
        self._lag.show(summary)

    def lag_unknown(self) -> None:
        """The lag could not be observed: its series vanish, because 0 or an old value would be a lie."""
        self._lag.show(None)


class _LagCollector(Collector):
    """The lag of one summary, shown as it was observed: all series come from the same moment."""

    def __init__(self, topic_label: Callable[[str], str]) -> None:
        self._topic_label = topic_label
        self._summary: LagSummary | None = None
        self._seen: datetime | None = None

    def show(self, summary: LagSummary | None) -> None:
        self._summary = summary
        if summary is not None:
            self._seen = summary.observed_at

    def collect(self) -> Iterator[Metric]:
        records = _family(
            "lag_records", "Offsets not yet stored, sum over the topic's partitions of this member.", "topic"
        )
        records_max = _family("lag_records_max", "Offsets not yet stored of the worst partition of the topic.", "topic")
        seconds = _family("lag_seconds", "Age of the oldest record not yet stored of the topic.", "topic")
        behind = _family("lag_partitions", "Partitions of the topic that have records not yet stored.", "topic")
        for topic, lag in self._by_label().items():
            records.add_metric([topic], lag.records)
            records_max.add_metric([topic], lag.records_max)
            behind.add_metric([topic], lag.behind)
            if lag.seconds is not None:
                seconds.add_metric([topic], lag.seconds)
        yield from (records, records_max, seconds, behind)
        observed = GaugeMetricFamily(
            f"{PREFIX}_lag_observed_timestamp_seconds", "Time of the last successful look at the lag (Unix time)."
        )
        if self._seen is not None:
            observed.add_metric([], self._seen.timestamp())
        yield observed

    def _by_label(self) -> dict[str, TopicLag]:
        summary = self._summary
        shown: dict[str, TopicLag] = {}
        for topic, lag in summary.topics.items() if summary is not None else ():
            label = self._topic_label(topic)
            shown[label] = shown[label].with_topic(lag) if label in shown else lag
        return shown


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
