from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs

from logpersister.member.cycle import Cycle
from logpersister.member.refusals import Refusals
from logpersister.member.reports import Reports
from logpersister.member.summary import Summary
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.ranges import Range, TopicPartition
from logpersister.report.document import status_document
from logpersister.report.facts import Identity, Quarantined, WrittenObject
from logpersister.report.metrics import Metrics
from logpersister.report.status import StatusBoard
from logpersister.storage.errors import StorageError
from logpersister.tables.errors import TableError
from tests.clock import Clock
from tests.unit.member.fakes import CLICKS, FakeDependencies, manifest

IDENTITY = Identity("backup", 1, "0123456789ab", "member-0", "1.0")


@dataclass
class MembershipState:
    joined: bool = True
    rebalances: int = 2
    lost_partitions: int = 3
    group_generation: int | None = 7


class Shown:
    """What metrics and status say."""

    def __init__(self) -> None:
        self.board = StatusBoard(IDENTITY)
        self.metrics = Metrics(self.board, processes=False)
        self.reports = Reports(self.metrics, self.board)

    def sample(self, name: str) -> list[str]:
        text = self.metrics.render()[0].decode()
        return [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.startswith(name)]

    @property
    def status(self) -> Any:
        return self.board.snapshot()


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_a_stored_range_counts_with_its_retries(shown: Shown) -> None:
    objects = (WrittenObject("a", 100, 3), WrittenObject("b", 50, 2))
    with capture_logs() as lines:
        shown.reports.stored(
            [
                RangeOutcome(Range(CLICKS, 0, 9), objects, 400, 1.5, retries={"timeout": 2}),
                RangeOutcome(Range(CLICKS, 9, 12)),
            ]
        )
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("range.written", "debug"),
        ("range.written", "debug"),
        ("commit.stored", "info"),
    ]
    assert lines[0]["keys"] == ["a", "b"]
    assert (lines[2]["ranges"], lines[2]["objects"], lines[2]["records"], lines[2]["bytes"]) == (2, 2, 5, 150)
    totals = shown.status.totals
    assert (totals.records, totals.bytes, totals.objects) == (5, 150, 2)
    assert any(line == "2.0" for line in shown.sample("logpersister_retries_total"))


def test_refused_records_are_counted_logged_and_shown_without_what_is_in_them(shown: Shown) -> None:
    key = "raw/clicks/_quarantine/1_0_00000000000000000000.txt"
    objects = (WrittenObject("raw/clicks/1_0_00000000000000000000.txt", 100, 3), WrittenObject(key, 50, 2))
    quarantined = Quarantined(key, 2, 4, "not JSON: expected value at line 1 column 1")
    with capture_logs() as lines:
        shown.reports.stored([RangeOutcome(Range(CLICKS, 0, 9), objects, 400, 1.5, quarantined=quarantined)])
    assert [line for line in lines if line["event"] == "records.quarantined"] == [
        {
            "event": "records.quarantined",
            "log_level": "warning",
            "topic": "clicks",
            "partition": 0,
            "start": 0,
            "end": 9,
            "records": 2,
            "first_offset": 4,
            "reason": "not JSON: expected value at line 1 column 1",
            "key": key,
        }
    ]
    assert shown.sample("logpersister_quarantined_records_total") == ["2.0"]
    assert shown.sample("logpersister_records_total") == ["5.0"]
    assert (shown.status.totals.records, shown.status.totals.quarantined) == (5, 2)


def test_a_bucket_that_refuses_our_own_documents_is_told_though_no_range_fails(shown: Shown) -> None:
    for _ in range(2):
        refused = StorageError("unauthorized", "bucket 'logs': AccessDenied while putting an object")
        shown.reports.bucket_failed(refused)
    document = status_document(shown.status)
    (told,) = document["errors"]["recent"]
    assert (told["kind"], told["upload"], told["topic"], told["start"]) == ("unauthorized", True, None, None)
    assert "AccessDenied" in told["message"]
    assert (document["uploads"]["failures"], document["uploads"]["failuresLastHour"]) == (2, 2)
    assert shown.sample('logpersister_upload_failures_total{kind="unauthorized"}') == ["2.0"]


def test_a_round_shows_holds_intents_and_rebalances(shown: Shown, fakes: FakeDependencies) -> None:
    resource, revision = manifest()
    cycle = Cycle(resource, revision, fakes.ports(), clock=fakes.clock, now=fakes.clock)
    cycle.turn()
    fakes.offsets.end[CLICKS] = 25
    cycle.end_offsets.refresh(ages=True)
    fakes.time += 2
    cycle.turn()
    for _ in range(2):
        shown.reports.show(cycle, MembershipState())
    assert shown.sample("logpersister_rebalances_total") == ["2.0"], "each counts once"
    assert shown.sample("logpersister_pending_intents") == ["1.0"]
    assert "ends=(10, 20, 25)" in str(shown.status)


def test_a_summary_a_minute_and_the_partitions_when_they_change(shown: Shown) -> None:
    clock = Clock()
    summary = Summary(clock)
    owned = [TopicPartition("clicks", number) for number in (0, 1, 2, 5)]

    def logged(after: float) -> list[Any]:
        clock.now += after
        with capture_logs() as lines:
            summary.show(owned, shown.status)
        return lines

    (assigned,) = logged(after=59)
    assert (assigned["event"], assigned["count"], assigned["partitions"]) == ("member.assignment", 4, "clicks 0-2,5")
    shown.reports.stored([RangeOutcome(Range(CLICKS, 0, 9), (WrittenObject("a", 6_000_000, 3),), 400, 1.5)])
    (told,) = logged(after=1)
    assert (told["event"], told["records"], told["objects"], told["mb_per_second"]) == ("member.summary", 3, 1, 0.1)
    (told,) = logged(after=60)
    assert (told["records"], told["mb_per_second"]) == (0, 0.0)
    owned.append(TopicPartition("orders", 0))
    (assigned,) = logged(after=0)
    assert assigned["partitions"] == "clicks 0-2,5; orders 0"


def test_a_catalog_that_is_of_no_use_for_a_minute_is_an_outage(shown: Shown) -> None:
    """Whoever has asked it: the duty for rows, or a topic for new columns."""
    clock = Clock()
    shown.reports.refusals = Refusals(clock)

    def outages_after(tell: Callable[[], None]) -> list[tuple[str, str]]:
        for _ in range(3):
            tell()
            clock.now += 31
        return [(one.server, one.reason) for one in shown.reports.refusals.outages()]

    clicks = Range(CLICKS, 0, 5)
    performed = partial(shown.reports.performed, "table", "clicks", 1)
    failed = partial(shown.reports.failed, clicks, WorkError("catalog", "it is away"))
    for fails, recovers in (
        (partial(performed, TableError("unavailable", "it is away")), partial(performed, None)),
        (failed, partial(shown.reports.stored, [RangeOutcome(clicks, ())])),
    ):
        assert outages_after(fails) == [("catalog", "it is away")]
        recovers()
        assert shown.reports.refusals.outages() == ()
    assert outages_after(partial(performed, TableError("schema", "no"))) == [], "it answers, and refuses one table"
