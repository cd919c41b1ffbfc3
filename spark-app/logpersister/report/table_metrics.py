"""The Prometheus metrics of Iceberg tables (``spec.table``); a part of `report.metrics`."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logpersister.report.labels import OTHER, BoundedValues
from logpersister.report.tables import MAX_TABLES, TablesReport

_LABELS: Final = ("topic", "table")
Labels = tuple[str, str]


class TableMetrics(Collector):
    """Four series for each table. Gauges go with their topic when it goes to another member."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        self._prefix = f"{prefix}_table"
        self._known = BoundedValues(MAX_TABLES)
        self._report: TablesReport | None = None
        self._rows = Counter("table_rows", "Rows appended.", _LABELS, namespace=prefix, registry=registry)
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
        return GaugeMetricFamily(f"{self._prefix}_{name}", text, labels=_LABELS)

    def _labels(self, topic: str, table: str) -> Labels:
        return (topic, table) if self._known(f"{topic}/{table}") != OTHER else (OTHER, OTHER)
