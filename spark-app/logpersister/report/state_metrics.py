"""The Prometheus metrics of where a member stands now, of types and of Iceberg tables; a part of `report.metrics`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logpersister.report.facts import RangeWritten, TypeCounts
from logpersister.report.labels import OTHER, BoundedValues
from logpersister.report.shadow import ShadowReport
from logpersister.report.status import Status, StatusBoard
from logpersister.report.tables import MAX_TABLES, TablesReport
from logpersister.report.types import BoundedTypes, TypeOfTopic

_OF_TYPE: Final = ("topic", "type")
_OF_TABLE: Final = ("topic", "table")
Labels = tuple[str, str]
Samples = Mapping[str, float]
"""By the value of the label; by an empty one where there is no label."""


class StateMetrics(Collector):
    """Gauges of one look at the board. Those of a part that the member does not have are without samples."""

    def __init__(self, prefix: str, board: StatusBoard, topic_label: Callable[[str], str]) -> None:
        self._prefix = prefix
        self._board = board
        self._topic_label = topic_label

    def collect(self) -> Iterator[Metric]:
        status, gauge = self._board.snapshot(), self._gauge
        yield gauge("assigned_partitions", "Partitions that this member owns.", {"": status.assigned})
        yield gauge("pending_intents", "Partitions with an intent that is not yet kept.", {"": status.pending})
        yield gauge(
            "unreadable_partitions", "Owned partitions that Kafka does not let us read.", {"": status.unreadable}
        )
        topics, failing = ({one.duty: getattr(one, name) for one in status.duties} for name in ("topics", "failing"))
        yield gauge("duty_topics", "Topics for which this member has a duty.", topics, "duty")
        yield gauge("duty_failing_topics", "Topics of which the last attempt has failed.", failing, "duty")
        away: Samples = {one.server: 1.0 for one in status.outages}
        yield gauge("away_servers", "Servers that cannot be used now.", away, "server")
        untold = {one.policy: one.untold for one in status.telling}
        yield gauge("untold_folders", "Finished folders that others are still to be told of.", untold, "policy")
        yield gauge(
            "unfinished_folder_end_timestamp_seconds",
            "End of the oldest folder that waits.",
            self._waiting(status),
            "topic",
        )
        yield from self._of_shadow(status.shadow)

    def _waiting(self, status: Status) -> Samples:
        ends: dict[str, float] = {}
        for topic, waiting in ((status.finish and status.finish.waiting) or {}).items():
            label, end = self._topic_label(topic), waiting.end.timestamp()
            ends[label] = min(end, ends.get(label, end))
        return ends

    def _of_shadow(self, report: ShadowReport | None) -> Iterator[Metric]:
        """Yield the comparison of one report. Figures go with their partitions when those go to another member."""
        records, ranges, checksums, differences, failing = (dict[str, float]() for _ in range(5))
        if report is not None:
            figures = report.figures
            records = {"stable": figures.records.stable, "shadow": figures.records.shadow}
            checksums = {"compared": figures.checksums_compared, "impossible": figures.checksums_impossible}
            ranges, differences = {"": figures.ranges}, {"": figures.differences}
            failing = {"": float(report.error is not None)}
        gauge = self._gauge
        yield gauge("shadow_records", "Records that were compared, of either revision.", records, "side")
        yield gauge("shadow_ranges", "Ranges of the shadow that were compared.", ranges)
        yield gauge("shadow_checksums", "Payload checksums that were compared, or could not be.", checksums, "result")
        yield gauge(
            "shadow_differences", "Runs of offsets of which the revisions stored different records.", differences
        )
        yield gauge("shadow_failing", "Whether the comparison cannot go on.", failing)

    def _gauge(self, name: str, text: str, samples: Samples, *label: str) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"{self._prefix}_{name}", text, labels=label)
        for of, value in samples.items():
            family.add_metric([of] if label else [], value)
        return family


class TypeMetrics:
    """Five series for each type, from its first record on; `BoundedTypes` bounds them. For one thread at a time."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        def counter(name: str, text: str) -> Counter:
            return Counter(name, text, _OF_TYPE, namespace=prefix, registry=registry)

        self._bounded = BoundedTypes()
        self._newest: dict[TypeOfTopic, int] = {}
        self._records = counter("type_records", "Records of a type stored and committed.")
        self._bytes = counter("type_payload_bytes", "Bytes of their keys and values, before encoding.")
        self._quarantined = counter("type_quarantined_records", "Those of them that are in quarantine.")
        self._dropped = counter("type_dropped_records", "Records of a type that were left out.")
        self._newest_time = Gauge(
            "type_newest_event_timestamp_seconds",
            "Time of the newest record of a type that is stored (Unix time).",
            _OF_TYPE,
            namespace=prefix,
            registry=registry,
        )

    def range_written(self, written: RangeWritten) -> None:
        for type_, counts in written.types.items():
            self._count(self._bounded(written.range.partition.topic, type_), counts)

    def _count(self, of: TypeOfTopic, counts: TypeCounts) -> None:
        counters = [
            (self._records, counts.records),
            (self._bytes, counts.bytes),
            (self._quarantined, counts.quarantined),
            (self._dropped, counts.dropped),
        ]
        for counter, count in counters:
            if count:
                counter.labels(of.topic, of.type).inc(count)
        if counts.newest is not None and counts.newest > self._newest.get(of, -1):
            self._newest[of] = counts.newest
            self._newest_time.labels(of.topic, of.type).set(counts.newest / 1000)


class TableMetrics(Collector):
    """Four series for each table. Gauges go with their topic when it goes to another member."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        self._prefix = f"{prefix}_table"
        self._known = BoundedValues(MAX_TABLES)
        self._report: TablesReport | None = None
        self._rows = Counter("table_rows", "Rows appended.", _OF_TABLE, namespace=prefix, registry=registry)
        registry.register(self)

    def show(self, report: TablesReport) -> None:
        self._report = report

    def appended(self, topic: str, table: str, rows: int) -> None:
        self._rows.labels(*self._labels(topic, table)).inc(rows)

    def collect(self) -> Iterator[Metric]:
        waiting = self._family("waiting_receipts", "Stored ranges whose rows a table does not have.")
        oldest = self._family("oldest_receipt_timestamp_seconds", "When the first of them was stored (Unix time).")
        snapshot = self._family("last_snapshot_timestamp_seconds", "Time of the newest snapshot (Unix time).")
        counts: dict[Labels, int] = {}
        firsts: dict[Labels, float] = {}
        newest: dict[Labels, float] = {}
        for one in self._report.tables if self._report is not None else ():
            of = self._labels(one.topic, one.table)
            counts[of] = counts.get(of, 0) + one.receipts
            if one.oldest is not None:
                at = one.oldest.timestamp()
                firsts[of] = min(at, firsts.get(of, at))
            if one.last_snapshot is not None:
                newest[of] = max(one.last_snapshot.timestamp(), newest.get(of, 0.0))
        for family, values in ((waiting, counts), (oldest, firsts), (snapshot, newest)):
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family
        interval = GaugeMetricFamily(f"{self._prefix}_commit_interval_seconds", "spec.table.commitInterval.")
        if self._report is not None:
            interval.add_metric([], self._report.interval)
        yield interval

    def _family(self, name: str, text: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"{self._prefix}_{name}", text, labels=_OF_TABLE)

    def _labels(self, topic: str, table: str) -> Labels:
        return (topic, table) if self._known(f"{topic}/{table}") != OTHER else (OTHER, OTHER)
