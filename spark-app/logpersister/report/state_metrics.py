"""The Prometheus metrics of where a member stands now, as its status says it; a part of `report.metrics`."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logpersister.report.shadow import ShadowReport
from logpersister.report.status import Status, StatusBoard

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
