"""Pages of the operator: every group at a glance, those in trouble first, and each with its last hours."""

import gc
import time
import tracemalloc
from datetime import timedelta
from typing import Any

import pytest

from logpersister.pages.views import ROWS
from logpersister.report.document import status_document
from logpersister.report.facts import HeldPartition
from logpersister.report.server import ReportServer
from logpersister.report.status import StatusBoard
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.metrics import Metrics
from logpersister_operator.pages.endpoints import OperatorEndpoints
from tests.unit.pages.operator_world import OperatorWorld, Wrong
from tests.unit.pages.test_site import facts, row
from tests.unit.report.samples import IDENTITY, failed, partition, partly_refused, written
from tests.unit.report.test_server import ask

REFUSED: Wrong = {Aspect.UPLOADS_SUCCEEDING: ("False", "Unauthorized", "the bucket refuses; correct the Secret s3")}
LATE: Wrong = {Aspect.LAG_WITHIN_TARGET: ("False", "Behind", "clicks is 20m behind")}
ODD_REPORT = {
    "uploads": {"recent": [{"time": "today", "key": "a", "bytes": 1, "records": 1}, {"time": None}, 7]},
    "errors": {"recent": {"time": 1}},
    "quarantine": [],
    "heldPartitions": None,
}
"""What another program says, or another version."""
PAUSED: Wrong = {Aspect.READY: ("False", "Paused", "paused: no member runs")}


@pytest.fixture
def world() -> OperatorWorld:
    return OperatorWorld()


def report(world: OperatorWorld) -> dict[str, Any]:
    """Return what a member says that has stored, failed, refused and held something."""
    board = StatusBoard(IDENTITY, world.clock.now)
    board.range_written(written())
    for start in (500, 600):
        board.range_written(partly_refused(start))
    board.range_failed(failed("orders", message="the bucket is away", upload=True))
    board.held([HeldPartition(partition("payments", 3), "data-lost", "3 offsets are gone")])
    return status_document(board.snapshot())


def test_every_group_stands_on_the_first_page_the_worst_first(world: OperatorWorld) -> None:
    world.group("team-a/fine", stored=3)
    world.group("team-a/late", wrong=LATE, lag=(1_200, 1_500.0))
    world.group("team-b/later", wrong=LATE, lag=(90, 3_600.0))
    world.group("team-b/refused", wrong=REFUSED, uploads={"failures": 9, "failuresLastHour": 4})
    world.group("team-b/paused", wrong=PAUSED, summary={"state": "Paused", "members": "0/0"})
    page = world.page()
    names = [one.text for one in page.all("tbody")[0].all("a")]
    assert names == ["team-b/refused", "team-b/later", "team-a/late", "team-a/fine", "team-b/paused"]
    assert row(page, "team-b/refused", "All groups")["state"] == "uploads fail: Unauthorized"
    assert row(page, "team-b/refused", "All groups")["failed uploads"] == "4"
    late = row(page, "team-a/late", "All groups")
    assert (late["state"], late["lag"], late["oldest waits"]) == ("over its target lag: Behind", "1,200", "25m00s")
    assert row(page, "team-b/paused", "All groups")["state"] == "Paused"
    fine = row(page, "team-a/fine", "All groups")
    assert (fine["state"], fine["last upload"]) == ("MembersReady", "2026-11-21 12:00:00Z")
    assert "1 group in trouble, 2 warnings" in page.words()
    assert (facts(page)["Groups"], facts(page)["In trouble"], facts(page)["Warnings"]) == ("5", "1", "2")


def test_a_namespace_is_chosen_by_the_query(world: OperatorWorld) -> None:
    for name in ("team-a/one", "team-a/two", "team-b/one"):
        world.group(name)
    (parts,) = [one for one in world.page().all("nav") if one.attributes["aria-label"] == "Parts"]
    assert [one.text for one in parts.all("a")] == ["team-a (2)", "team-b (1)"]
    page = world.page(query=parts.all("a")[0].attributes["href"].removeprefix("?"))
    assert [one.text for one in page.all("tbody")[0].all("a")] == ["team-a/one", "team-a/two"]
    assert facts(page)["Groups"] == "2"
    assert facts(world.page(query="namespace=nobody"))["Groups"] == "0"
    home = facts(world.page("/groups/team-a/one"))
    assert home["Namespace"] == "team-a"


def test_a_group_has_plots_rollouts_objects_and_what_is_wrong(world: OperatorWorld) -> None:
    for turn in range(3):
        world.group(lag=(100 * turn, 300.0 * turn), stored=60 * turn)
        world.site.look()
        world.clock.forward(60)
    since = world.clock.now() - timedelta(minutes=2)
    failure = {"revision": "ffffffffffff", "attempt": 0, "cause": "uploads of the canary fail", "time": since}
    rollout = {"phase": "Rolling", "step": 1, "since": since, "stable": "0a1b2c3d4e5f", "candidate": "abcdefabcdef"}
    world.group(
        wrong=REFUSED, lag=(5, 1_000.0), reports={"one": report(world)}, rollout=rollout | {"failures": [failure]}
    )
    world.site.look()
    page = world.page("/groups/team-a/clicks-backup")
    captions = {one.all("title")[0].text: one.all("desc")[0].text for one in page.all("svg")}
    assert "least 0, most 200, at the end 5." in captions["Lag in records"]
    assert "Dashed: target 15m00s." in captions["Oldest record waits"]
    assert "most 1,000/s" in captions["Records stored"]
    assert "the bucket refuses; correct the Secret s3" in page.words()
    assert row(page, "raw/clicks/0-0", "Newest objects")["records"] == "10"
    assert row(page, "EOF while parsing", "Quarantine by reason")["records"] == "4"
    assert row(page, "payments-3", "Held partitions")["reason"] == "data-lost"
    (told,) = [one for one in page.all("tr") if "the bucket is away" in one.words()]
    assert "orders-0[0,10)" in told.words()
    assert [one.children[1].text for one in table(page, "Rollouts")] == ["Rolling, step 1", "Steady"]
    assert row(page, "ffffffffffff", "Revisions that failed")["cause"] == "uploads of the canary fail"
    assert facts(page)["Oldest record waits"] == "16m40s"


def test_what_is_not_known_is_not_shown_as_none(world: OperatorWorld) -> None:
    world.group(lag=None, reports={"clicks-backup-0a1b2c3d4e5f-0": "it did not answer in time", "x": ODD_REPORT})
    (key,) = world.glances
    assert facts(world.page())["Lag not known"] == "1"
    assert row(world.page(), str(key), "All groups")["lag"] == "?"
    page = world.page(f"/groups/{key}")
    assert row(page, "clicks-backup-0a1b2c3d4e5f-0", "Members")["state"] == "it did not answer in time"
    assert "No upload yet." in page.words()


def test_there_is_nothing_else(world: OperatorWorld) -> None:
    world.group()
    for path in ("/groups", "/groups/team-a", "/groups/team-a/", "/groups/team-a/no", "/groups/a/b/c", "/topics/x"):
        assert world.site.answer(path, "") is None, path


def test_plots_of_all_groups_together_have_no_peak_when_a_group_comes(world: OperatorWorld) -> None:
    for name in ("team-a/one", "team-a/two", "team-a/three"):
        world.group(name, stored=1_000_000)
        world.site.look()
        world.clock.forward(60)
    captions = {one.all("title")[0].text: one.all("desc")[0].text for one in world.page().all("svg")}
    assert "most 0 B/s" in captions["Bytes uploaded"]


def test_metrics_and_pages_share_a_port(world: OperatorWorld) -> None:
    world.group()
    with ReportServer("127.0.0.1:0", OperatorEndpoints(Metrics(), world.site)) as server:
        host, _, port = server.address.rpartition(":")
        address = host, int(port)
        for path in ("/metrics", "/metrics?x=1", "/"):
            assert b"logpersister_operator_reconciles_total" in ask(address, path)[2], path
        status, headers, _ = ask(address, "/?namespace=team-a", Accept="text/html,*/*;q=0.8")
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert ask(address, "/groups/team-a/clicks-backup")[0] == 200
        assert ask(address, "/groups/team-a/none")[0] == 404
        assert ask(address, "/", "POST")[0] == 501


@pytest.mark.slow
def test_a_thousand_groups_cost_bounded_memory_and_time(world: OperatorWorld) -> None:
    """docs/monitoring.md has the figures."""
    for number in range(1_000):
        world.group(f"team-{number % 10}/group-{number:04}", stored=number)
    world.site.look()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(3):
            world.clock.forward(60)
            world.site.look()
        before = tracemalloc.take_snapshot()
        for _ in range(3):
            world.clock.forward(60)
            world.site.look()
        grown = sum(one.size_diff for one in tracemalloc.take_snapshot().compare_to(before, "filename"))
    finally:
        tracemalloc.stop()
    assert grown < 1 << 20, "later readings take the places of earlier ones"
    began = time.process_time()
    page = world.page()
    assert time.process_time() - began < 5
    assert len(page.all("tbody")[0].children) == ROWS
    assert "500 resources without plots" in page.words()


def table(page: Any, caption: str) -> list[Any]:
    """Return the rows of a table."""
    (section,) = [one for one in page.all("section") if one.all("h2")[0].text == caption]
    rows: list[Any] = section.all("tbody")[0].children
    return rows
