import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from logpersister.report.facts import HeldPartition, TypeCounts
from logpersister.report.labels import OTHER
from logpersister.report.lag import PartitionLag, summarise
from logpersister.report.metrics import MAX_KINDS, MAX_TOPICS, Metrics
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


def test_the_exposition_is_valid_in_both_formats(metrics: Metrics) -> None:
    metrics.range_written(written('a"b\\c'))
    plain, plain_type = metrics.render("*/*")
    open_metrics, open_type = metrics.render("application/openmetrics-text; version=1.0.0")

    assert plain_type.startswith("text/plain")
    assert {family.name for family in text_string_to_metric_families(plain.decode())} >= {"logpersister_records"}
    assert open_type.startswith("application/openmetrics-text")
    assert open_metrics.endswith(b"# EOF\n")


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
