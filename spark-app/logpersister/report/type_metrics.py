"""The Prometheus metrics of types (``spec.types``); a part of `report.metrics`."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from logpersister.report.facts import RangeWritten, TypeCounts
from logpersister.report.types import BoundedTypes, TypeOfTopic

_LABELS: Final = ("topic", "type")


class TypeMetrics:
    """Five series for each type, from its first record on; `BoundedTypes` bounds them. For one thread at a time."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        def counter(name: str, text: str) -> Counter:
            return Counter(name, text, _LABELS, namespace=prefix, registry=registry)

        self._bounded = BoundedTypes()
        self._newest: dict[TypeOfTopic, int] = {}
        self._records = counter("type_records", "Records of a type stored and committed.")
        self._bytes = counter("type_payload_bytes", "Bytes of their keys and values, before encoding.")
        self._quarantined = counter("type_quarantined_records", "Those of them that are in quarantine.")
        self._dropped = counter("type_dropped_records", "Records of a type that were left out.")
        self._newest_time = Gauge(
            "type_newest_event_timestamp_seconds",
            "Time of the newest record of a type that is stored (Unix time).",
            _LABELS,
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
