import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from logpersister.report.duties import DutyReport
from logpersister.report.facts import DataLoss, HeldPartition, PendingIntent, TypeCounts
from logpersister.report.finish import TellingReport
from logpersister.report.labels import OTHER
from logpersister.report.lag import PartitionLag, summarise
from logpersister.report.metrics import MAX_KINDS, MAX_TOPICS, Metrics
from logpersister.report.shadow import Both, Figures, ShadowReport
from logpersister.report.status import StatusBoard
from logpersister.report.tables import MAX_TABLES, TableReport, TablesReport
from logpersister.report.types import MAX_TYPES
from tests.unit.report.samples import IDENTITY, NOON, failed, partition, written

DOCUMENT = Path(__file__).parents[3] / "docs" / "monitoring.md"


@pytest.fixture
def board() -> StatusBoard:
    return StatusBoard(IDENTITY)


@pytest.fixture
def metrics(board: StatusBoard) -> Metrics:
    return Metrics(board, processes=False)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"logpersister_{name}", labels)


def names(metrics: Metrics) -> set[str]:
    """Of all metrics, as samples are called: counters with _total."""
    return {
        family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
        for family in metrics.registry.collect()
    }


def test_a_written_range_is_counted_by_topic(metrics: Metrics) -> None:
    metrics.range_written(written("clicks", records=10, objects=3))
    metrics.range_written(written("clicks", records=5))

    assert value(metrics, "ranges_total", topic="clicks") == 2
    assert value(metrics, "objects_total", topic="clicks") == 4
    assert value(metrics, "records_total", topic="clicks") == 35
    assert value(metrics, "object_bytes_total", topic="clicks") == 400
    assert value(metrics, "payload_bytes_total", topic="clicks") == 2_000
    assert value(metrics, "range_duration_seconds_count") == 2
    assert (value(metrics, "last_upload_timestamp_seconds") or 0) > 0


def test_a_range_without_records_is_no_upload(metrics: Metrics) -> None:
    metrics.range_written(written("clicks", objects=0))

    assert value(metrics, "ranges_total", topic="clicks") == 1
    assert value(metrics, "objects_total", topic="clicks") == 0
    assert value(metrics, "last_upload_timestamp_seconds") == 0


def test_only_the_buckets_failures_are_upload_failures(metrics: Metrics) -> None:
    metrics.range_failed(failed(upload=True))
    metrics.range_failed(failed(upload=False))

    assert value(metrics, "range_failures_total", kind="timeout") == 2
    assert value(metrics, "upload_failures_total", kind="timeout") == 1


def test_kinds_from_executors_cannot_make_series_without_end(metrics: Metrics) -> None:
    for number in range(MAX_KINDS + 50):
        metrics.range_failed(replace(failed(), kind=f"kind-{number}"))

    family = next(one for one in metrics.registry.collect() if one.name == "logpersister_range_failures")
    kinds = {sample.labels["kind"] for sample in family.samples}
    assert len(kinds) == MAX_KINDS + 1
    assert value(metrics, "range_failures_total", kind=OTHER) == 50


def test_tables_have_series_up_to_a_bound_that_go_with_their_topic(metrics: Metrics) -> None:
    of = {"topic": "clicks", "table": "lake.clicks"}
    assert value(metrics, "table_commit_interval_seconds") is None
    behind = TableReport("clicks", "lake.clicks", 3, NOON, NOON - timedelta(hours=1))
    metrics.tables.show(TablesReport(60, [behind]))
    metrics.tables.appended("clicks", "lake.clicks", 5)
    assert value(metrics, "table_waiting_receipts", **of) == 3
    assert value(metrics, "table_oldest_receipt_timestamp_seconds", **of) == NOON.timestamp()
    assert value(metrics, "table_last_snapshot_timestamp_seconds", **of) == NOON.timestamp() - 3600
    assert value(metrics, "table_commit_interval_seconds") == 60
    many = [TableReport("t", str(number), 1, NOON - timedelta(seconds=number)) for number in range(MAX_TABLES)]
    metrics.tables.show(TablesReport(60, [TableReport("clicks", "lake.clicks", 0, None, NOON), *many]))
    assert value(metrics, "table_waiting_receipts", **of) == 0
    assert value(metrics, "table_oldest_receipt_timestamp_seconds", **of) is None
    assert value(metrics, "table_waiting_receipts", topic=OTHER, table=OTHER) == 1
    metrics.tables.show(TablesReport(60))
    assert value(metrics, "table_waiting_receipts", **of) is None
    assert value(metrics, "table_rows_total", **of) == 5


def test_types_have_series_of_their_own_up_to_a_bound(metrics: Metrics) -> None:
    both = {"order": TypeCounts(10, 500, 2, 0, 5_000), "noise": TypeCounts(dropped=4)}
    metrics.range_written(replace(written("clicks"), types=both))
    metrics.range_written(replace(written("clicks"), types={"order": TypeCounts(1, 5, newest=4_000)}))
    of = {"topic": "clicks", "type": "order"}
    assert value(metrics, "type_records_total", **of) == 11
    assert value(metrics, "type_payload_bytes_total", **of) == 505
    assert value(metrics, "type_quarantined_records_total", **of) == 2
    assert value(metrics, "type_newest_event_timestamp_seconds", **of) == 5, "it never goes back"
    assert value(metrics, "type_dropped_records_total", **of) is None
    assert value(metrics, "type_dropped_records_total", topic="clicks", type="noise") == 4
    for number in range(MAX_TYPES + 50):
        metrics.range_written(replace(written(f"topic-{number}"), types={"order": TypeCounts(1)}))
    family = next(one for one in metrics.registry.collect() if one.name == "logpersister_type_records")
    assert len({(one.labels["topic"], one.labels["type"]) for one in family.samples}) == MAX_TYPES
    assert value(metrics, "type_records_total", topic=OTHER, type=OTHER) == 52


def test_only_a_shadow_has_series_of_a_comparison(metrics: Metrics, board: StatusBoard) -> None:
    assert value(metrics, "shadow_differences") is None
    assert value(metrics, "shadow_records", side="shadow") is None
    board.shadow(ShadowReport(NOON, 2, Figures(30, 3, Both(30, 29), Both(), Both(), 2, 1, 4), (), "no broker"))

    assert (value(metrics, "shadow_ranges"), value(metrics, "shadow_differences")) == (3, 4)
    assert [value(metrics, "shadow_records", side=side) for side in ("stable", "shadow")] == [30, 29]
    assert [value(metrics, "shadow_checksums", result=result) for result in ("compared", "impossible")] == [2, 1]
    assert value(metrics, "shadow_failing") == 1


def test_lag_is_shown_by_topic(metrics: Metrics) -> None:
    lags = [PartitionLag(partition("clicks", 0), 0, 10, 5.0), PartitionLag(partition("clicks", 1), 0, 4, 9.0)]
    metrics.lag(summarise(lags, NOON))

    assert value(metrics, "lag_records", topic="clicks") == 14
    assert value(metrics, "lag_records_max", topic="clicks") == 10
    assert value(metrics, "lag_seconds", topic="clicks") == 9
    assert value(metrics, "lag_partitions", topic="clicks") == 2
    assert value(metrics, "lag_observed_timestamp_seconds") == NOON.timestamp()


def test_a_topic_that_is_gone_has_no_lag_series(metrics: Metrics) -> None:
    metrics.lag(summarise([PartitionLag(partition("old"), 0, 10, 5.0)], NOON))
    metrics.lag(summarise([PartitionLag(partition("new"), 0, 10, 5.0)], NOON))

    assert value(metrics, "lag_records", topic="old") is None


def test_unknown_lag_is_absent_and_never_zero(metrics: Metrics) -> None:
    metrics.lag(summarise([PartitionLag(partition("clicks"), 0, 10, None)], NOON))
    assert value(metrics, "lag_seconds", topic="clicks") is None
    metrics.lag_unknown()

    assert value(metrics, "lag_records", topic="clicks") is None
    assert value(metrics, "lag_observed_timestamp_seconds") == NOON.timestamp(), "tells since when"


def test_lag_of_topics_above_the_bound_is_added_up(metrics: Metrics) -> None:
    lags = [PartitionLag(partition(f"topic-{number}"), 0, 1, 1.0) for number in range(MAX_TOPICS + 3)]
    metrics.lag(summarise(lags, NOON))

    assert value(metrics, "lag_records", topic=OTHER) == 3


def test_held_partitions_go_back_to_zero(metrics: Metrics) -> None:
    metrics.held([HeldPartition(partition("clicks", number), "data-lost", "gone") for number in range(3)])
    assert value(metrics, "held_partitions", reason="data-lost") == 3
    metrics.held([])
    assert value(metrics, "held_partitions", reason="data-lost") == 0


def test_data_loss_counts_offsets(metrics: Metrics) -> None:
    metrics.data_lost(DataLoss(partition("clicks"), 100, 150, skipped=True))
    assert value(metrics, "data_loss_offsets_total", topic="clicks") == 50


def test_commits_are_timed_and_failures_counted_by_class(metrics: Metrics) -> None:
    metrics.committed("promise", 0.2)
    metrics.commit_failed("keep", TimeoutError())

    assert value(metrics, "commit_duration_seconds_count", step="promise") == 1
    assert value(metrics, "commit_duration_seconds_sum", step="promise") == 0.2
    assert value(metrics, "commit_duration_seconds_count", step="keep") is None
    assert value(metrics, "commit_failures_total", step="keep", kind="TimeoutError") == 1


def test_gauges_and_counters_of_the_group(metrics: Metrics, board: StatusBoard) -> None:
    metrics.rebalanced()
    metrics.partitions_lost(4)
    board.assigned([partition("clicks", number) for number in range(12)])
    board.pending([PendingIntent(partition("clicks"), 0, (9,), "r", 1)] * 3)
    metrics.retried("throttled", 5)
    metrics.cycle(1.5)
    metrics.jobs(2, ranges=70)

    assert value(metrics, "rebalances_total") == 1
    assert value(metrics, "lost_partitions_total") == 4
    assert value(metrics, "assigned_partitions") == 12
    assert value(metrics, "pending_intents") == 3
    assert value(metrics, "retries_total", reason="throttled") == 5
    assert value(metrics, "cycle_duration_seconds_sum") == 1.5
    assert value(metrics, "jobs_in_flight") == 2
    assert value(metrics, "ranges_in_flight") == 70


def test_the_exposition_is_valid_in_both_formats(metrics: Metrics) -> None:
    metrics.range_written(written('a"b\\c'))
    plain, plain_type = metrics.render("*/*")
    open_metrics, open_type = metrics.render("application/openmetrics-text; version=1.0.0")

    assert plain_type.startswith("text/plain")
    assert {family.name for family in text_string_to_metric_families(plain.decode())} >= {"logpersister_records"}
    assert open_type.startswith("application/openmetrics-text")
    assert open_metrics.endswith(b"# EOF\n")


def test_names_follow_the_conventions_of_prometheus() -> None:
    for family in Metrics(StatusBoard(IDENTITY)).registry.collect():
        assert re.fullmatch(r"logpersister(_[a-z]+)+", family.name), family.name
        assert not re.search(r"_(ms|millis|minutes|kb|mb)(_|$)", family.name), "base units: seconds and bytes"
        assert family.documentation.endswith("."), family.name


def test_every_metric_is_documented_and_every_documented_metric_exists() -> None:
    documented = set(re.findall(r"^\| `(logpersister_[a-z_]+)", DOCUMENT.read_text(), re.MULTILINE))
    assert documented == names(Metrics(StatusBoard(IDENTITY)))


def test_alerts_in_the_documentation_name_real_metrics() -> None:
    samples = {sample.name for family in Metrics(StatusBoard(IDENTITY)).registry.collect() for sample in family.samples}
    known = names(Metrics(StatusBoard(IDENTITY))) | samples
    histograms = {name for name in known if name.endswith("_seconds")}
    known |= {f"{name}_{suffix}" for name in histograms for suffix in ("bucket", "sum", "count")}
    used = set(re.findall(r"\blogpersister_(?!operator_)[a-z_]+\b", DOCUMENT.read_text()))  # not the operator's
    assert used <= known, used - known


def test_duties_are_counted_and_timed(metrics: Metrics, board: StatusBoard) -> None:
    assert value(metrics, "duty_topics", duty="finish") is None, "only of duties that there are"
    board.duty(DutyReport("finish", topics=3, failing=1))
    metrics.duty_performed("finish", 0.5, failed=True)
    metrics.duty_performed("finish", 1.5, failed=False)

    assert value(metrics, "duty_topics", duty="finish") == 3
    assert value(metrics, "duty_failing_topics", duty="finish") == 1
    assert value(metrics, "duty_failures_total", duty="finish") == 1
    assert value(metrics, "duty_duration_seconds_sum", duty="finish") == 2


def test_who_is_told_of_folders(metrics: Metrics, board: StatusBoard) -> None:
    assert value(metrics, "untold_folders", policy="webhook") is None
    board.telling(TellingReport("webhook", untold=3))
    metrics.told("webhook", "clicks", 2, 1)
    assert value(metrics, "untold_folders", policy="webhook") == 3
    assert value(metrics, "told_folders_total", topic="clicks", policy="webhook") == 2
    assert value(metrics, "refused_folders_total", topic="clicks", policy="webhook") == 1
