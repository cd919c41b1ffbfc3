"""The page of several members or collectors, from the documents that they serve."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from logpersister.feeds.polled_feed import PolledFeed
from logpersister.feeds.reports import FeedMetrics, Parts, status_document
from logpersister.feeds.sender import SentCounts
from logpersister.pages.reported import Report, collector_page, group_page
from logpersister.pages.views import Cell, Page, Table
from logpersister.ranges import Range, TopicPartition
from logpersister.report.document import status_of
from logpersister.report.facts import HeldPartition, Identity, RangeFailed, RangeWritten, WrittenObject
from logpersister.report.lag import LagSummary, TopicLag
from logpersister.report.status import MemberState, StatusBoard
from tests.unit.feeds.test_glance import World
from tests.unit.feeds.test_polled_feed import answer, taken

P = TopicPartition("clicks", 3)
NOW = datetime.now(UTC)
LAG = LagSummary(NOW, {"a-fine": TopicLag(2, 0, 0, 0, 0.0), "z-late": TopicLag(4, 2, 1500, 900, 75.0)}, ())


def member(name: str, revision: str = "abcdef123456", state: MemberState = MemberState.RUNNING) -> StatusBoard:
    board = StatusBoard(Identity("clicks-backup", 2, revision, name, "1.0"), lambda: NOW)
    board.state(state)
    return board


def report(board: StatusBoard) -> Report:
    return Report("http://one", status_of(board)())


def page(*reports: Report, lag: LagSummary | None = LAG, now: datetime = NOW) -> Page:
    return group_page("clicks-backup", reports, lag, now, ["a note"])


def table(of: Page, caption: str) -> list[dict[str, str]]:
    """Return the rows of a table as words by column."""
    (found,) = (one for one in of.tables if one.caption == caption)
    assert all(len(row) == len(found.header) for row in found.rows)
    return [dict(zip(found.header, map(words, row), strict=True)) for row in found.rows]


def words(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def captions(tables: Sequence[Table]) -> list[str]:
    return [one.caption for one in tables]


def test_a_group_at_a_glance() -> None:
    one, other = member("m-0"), member("m-1", "fedcba654321", MemberState.JOINING)
    one.range_written(RangeWritten(Range(P, 0, 50), (WrittenObject("key", 2048, 50),)))
    other.range_failed(RangeFailed(Range(P, 50, 60), "timeout", "the bucket is slow", upload=True))
    found = page(report(one), report(other), now=NOW + timedelta(minutes=2))
    assert found.state == Cell("1 of 2 members running", "warning")
    facts = {name: words(value) for name, value in found.facts}
    assert facts["Generation, revision"] == "2, abcdef123456; 2, fedcba654321"
    assert (facts["Lag in records"], facts["Oldest record waits"]) == ("1,500", "1m15s")
    assert (facts["Uploaded"], facts["Upload failures in the last hour"]) == ("1 objects, 2.0 KiB", "1")
    first, second = table(found, "Members")
    assert (first["member"], first["state"], first["uploaded"]) == ("m-0", "running", "2.0 KiB")
    assert first["last upload"] == "2m00s ago"
    assert (second["state"], second["last upload"], second["failures"]) == ("joining", "never", "1")
    assert [row["topic"] for row in table(found, "Topics")] == ["z-late", "a-fine"]
    (failure,) = table(found, "Newest failures")
    assert (failure["when"], failure["member"], failure["range"]) == ("2m00s ago", "m-1", "clicks-3 [50,60)")
    assert failure["message"] == "timeout: the bucket is slow"
    assert found.notes == ["a note"]


def test_members_of_one_revision_are_counted_and_what_is_held_is_named() -> None:
    boards = [member("m-0"), member("m-1")]
    boards[0].held([HeldPartition(P, "data-lost", "Kafka deleted [3,9)")])
    found = page(*map(report, boards))
    assert found.state == Cell("2 of 2 members running", "good")
    assert dict(found.facts)["Generation, revision"] == "2, abcdef123456 in 2 members"
    (held,) = table(found, "Held partitions")
    assert held == {"partition": "clicks-3", "reason": "data-lost", "what it waits for": "Kafka deleted [3,9)"}


def test_who_does_not_answer_or_is_of_another_group() -> None:
    other = StatusBoard(Identity("orders", 1, "abcdef123456", "m-0", "1.0"))
    found = page(Report("http://a:1", {}, "takes no connections"), report(other), lag=None)
    assert found.state == Cell("0 of 2 members running", "bad")
    first, second = table(found, "Members")
    assert (first["member"], first["state"], second["state"]) == ("http://a:1", "no answer", "another")
    assert found.notes == ["http://a:1 takes no connections.", "http://one is of group orders.", "a note"]
    assert captions(found.tables) == ["Members"]
    assert dict(found.facts)["Lag in records"] == "?"


def test_a_document_of_another_version_is_shown_as_far_as_it_goes() -> None:
    (row,) = table(page(Report("http://a:1", {"group": "clicks-backup", "state": "running"})), "Members")
    assert (row["state"], row["lag"], row["last upload"]) == ("running", "?", "never")


def test_a_document_that_is_not_what_it_should_be_ends_no_page() -> None:
    for last in ("soon", "2026-11-28T10:00:00", 7):
        page = group_page("g", [Report("a", {"group": "g", "uploads": {"last": last}})], None, datetime.now(UTC), [])
        assert dict(page.facts)["Last upload"] == "never"
    for worst in ([{"id": "prices"}, 7, {"id": "prices", "newAt": None}], "x"):
        document = {
            "collector": "c",
            "feeds": {"worst": worst},
            "polls": worst,
            "kafka": worst,
            "spool": {"records": "x"},
        }
        page = collector_page("c", [Report("a", document)], datetime.now(UTC), [])
        assert [row[0] for one in page.tables[1:] for row in one.rows] == ["prices"] * (2 * (worst != "x"))


def test_replicas_of_a_collector(tmp_path: Any) -> None:
    world = World(tmp_path)
    fine, refused, silent, _ = world.feeds
    taken(fine, answer())
    taken(refused, answer(status=404))
    silent.is_silent = True
    found = collector_page("prices", [replica(world, world.feeds), Report("http://b", {}, "gone")], NOW, ())
    world.spool.close()
    assert found.state == Cell("0 of 2 replicas write to Kafka", "bad")
    first, second = table(found, "Replicas")
    assert (first["replica"], first["state"]) == ("prices-0", "Kafka is away: not connected yet")
    assert (first["feeds"], first["silent"], first["failing"], first["in spool"]) == ("4", "1", "1", "0")
    assert (second["replica"], second["state"], found.notes) == ("http://b", "no answer", ["http://b gone."])
    trouble = {row["feed"]: (row["state"], row["reason"]) for row in table(found, "Feeds in trouble")}
    assert trouble == {"b-refused": ("failing", "the server answers 404"), "c-silent": ("silent", "nothing new")}


def replica(world: World, feeds: list[PolledFeed]) -> Report:
    parts = Parts(feeds, world.spool, SentCounts())
    metrics = FeedMetrics("prices", "prices-0", parts)
    return Report("http://a", status_document("prices", "prices-0", 0.0, metrics, parts))
