"""What a collector tells: its metrics, and its status as one JSON document of bounded size (docs/feeds.md)."""

import heapq
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Info
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector as MetricCollector

from logpersister import __version__
from logpersister.feeds.polled_feed import RESULTS, Outcome, PolledFeed
from logpersister.feeds.record import timestamp_of
from logpersister.feeds.sender import SentCounts
from logpersister.feeds.spool import Spool
from logpersister.report import logs
from logpersister.report.instruments import Instruments
from logpersister.report.plain import rfc3339
from logpersister.report.processes import ProcessCollector

PREFIX: Final = "logpersister"
WORST: Final = 20
"""Feeds that the status names."""
_LATENESS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class Parts:
    """What is looked at when somebody asks."""

    feeds: Sequence[PolledFeed]
    spool: Spool
    sent: SentCounts

    @property
    def silent(self) -> int:
        return sum(feed.is_silent for feed in self.feeds)

    @property
    def failing(self) -> int:
        return sum(bool(feed.reason) for feed in self.feeds)


class FeedMetrics(Instruments):
    """Metrics of a collector; counts polls (`feeds.collector.Noting`)."""

    def __init__(self, name: str, replica: str, parts: Parts) -> None:
        super().__init__(CollectorRegistry(auto_describe=True), PREFIX)
        info = Info("collector", "Who reports.", namespace=PREFIX, registry=self.registry)
        info.info({"collector": name, "replica": replica, "version": __version__})
        self._polls = self._counter("feed_polls", "Polls that have ended.", "result")
        for result in RESULTS:
            self._polls.labels(result)
        self._missed = self._counter("feed_missed_polls", "Slots that began while a poll of the feed still ran.")
        self._late = self._histogram("feed_lateness_seconds", "From when a poll was due to when it began.", _LATENESS)
        self._seconds = self._histogram("feed_duration_seconds", "Requests, redirects included.", _SECONDS)
        self._bytes = self._counter("feed_bytes", "Bytes of bodies, decompressed.")
        self._running = self._gauge("feed_running_polls", "Polls that have begun and have not ended.")
        self.totals: Counter[str] = Counter()
        """Polls by result, and `missed`."""
        self.registry.register(_NowCollector(parts))
        self.registry.register(ProcessCollector(PREFIX))

    def began(self, late: float) -> None:
        self._running.inc()
        self._late.observe(max(0.0, late))

    def missed(self, slots: int) -> None:
        if slots:
            self._missed.inc(slots)
            self.totals["missed"] += slots

    def ended(self, outcome: Outcome, seconds: float, size: int) -> None:
        self._running.dec()
        self._polls.labels(outcome.result).inc()
        self._seconds.observe(seconds)
        self._bytes.inc(size)
        self.totals[outcome.result] += 1


class _NowCollector(MetricCollector):
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        parts, fill = self._parts, self._parts.spool.fill
        gauges = {
            ("feeds", "Feeds of the manifest."): len(parts.feeds),
            ("feeds_silent", "Feeds that have given nothing new for longer than silentAfter."): parts.silent,
            ("feeds_failing", "Feeds whose last poll failed or was refused."): parts.failing,
            ("kafka_away", "Whether records cannot be written to Kafka."): int(parts.sent.away is not None),
            ("spool_records", "Records on the local disk that Kafka does not have yet."): fill.entries,
            ("spool_bytes", "Bytes on the local disk."): fill.bytes,
            ("spool_oldest_timestamp_seconds", "When the oldest of them was received; 0: there is none."): _oldest(
                parts.spool
            ),
        }
        counters = {
            ("feed_records", "Records that Kafka has."): parts.sent.sent,
            ("feed_refused_records", "Records that brokers never take, such as too large ones."): parts.sent.refused,
            ("spool_dropped_records", "Records that were dropped because the disk was full or failed."): fill.dropped,
        }
        for (name, text), value in gauges.items():
            yield GaugeMetricFamily(f"{PREFIX}_{name}", text, value=value)
        for (name, text), value in counters.items():
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, value=value)


def status_document(name: str, replica: str, started: float, metrics: FeedMetrics, parts: Parts) -> dict[str, Any]:
    """Return the status; feeds that are silent come first, then those that fail, each the longest first."""
    now, wall = time.monotonic(), time.time()
    fill, totals = parts.spool.fill, metrics.totals
    troubled = [feed for feed in parts.feeds if feed.is_silent or feed.reason]
    worst = heapq.nsmallest(WORST, troubled, key=lambda feed: (not feed.is_silent, feed.new_since))
    return {
        "collector": name,
        "replica": replica,
        "version": __version__,
        "startedAt": _time(started),
        "kafka": {
            "away": parts.sent.away,
            "awaySince": None if parts.sent.away is None else _time(parts.sent.away_since),
        },
        "polls": {**{result: totals[result] for result in RESULTS}, "missed": totals["missed"]},
        "records": {"sent": parts.sent.sent, "refused": parts.sent.refused},
        "spool": {
            "records": fill.entries,
            "bytes": fill.bytes,
            "dropped": fill.dropped,
            "oldest": _time(_oldest(parts.spool)) if fill.entries else None,
        },
        "feeds": {
            "total": len(parts.feeds),
            "silent": parts.silent,
            "failing": parts.failing,
            "worst": [
                {
                    "id": feed.spec.id,
                    "silent": feed.is_silent,
                    "newAt": None if (new_at := feed.new_at(now, wall)) is None else _time(new_at),
                    "reason": logs.redactor.text(feed.reason) or "nothing new",
                }
                for feed in worst
            ],
        },
    }


def _oldest(spool: Spool) -> float:
    payload = spool.oldest
    return 0.0 if payload is None else timestamp_of(payload) / 1000


def _time(seconds: float) -> str | None:
    return rfc3339(datetime.fromtimestamp(seconds, UTC))
