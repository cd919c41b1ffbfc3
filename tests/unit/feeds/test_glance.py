"""Pages of a collector: every feed at a glance, those in trouble first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logpersister.feeds.glance import CollectorSource
from logpersister.feeds.reports import FeedMetrics, Parts
from logpersister.feeds.sender import SentCounts
from logpersister.feeds.spool import Spool
from logpersister.pages.site import Site
from tests.unit.feeds.test_polled_feed import NOON, answer, feed, taken
from tests.unit.pages.html import Element, read
from tests.unit.pages.test_site import facts, row


class World:
    def __init__(self, folder: Path) -> None:
        self.feeds = [feed(name) for name in ("a-fine", "b-refused", "c-silent", "d-unpolled")]
        self.spool = Spool(folder / "spool", 2**20, "dropOldest")
        self.now = 0.0
        parts = Parts(self.feeds, self.spool, SentCounts())
        self.metrics = FeedMetrics("prices", "one", parts)
        source = CollectorSource("prices", "one", self.metrics, parts, lambda: self.now, lambda: NOON + self.now)
        self.site = Site(source, clock=lambda: NOON + self.now)

    def page(self, path: str = "/") -> Element:
        found = self.site.answer(path, "")
        assert found is not None
        return read(found.body.decode())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    one = World(tmp_path)
    yield one
    one.spool.close()


def test_every_feed_stands_on_the_first_page_those_in_trouble_first(world: World) -> None:
    fine, refused, silent, _ = world.feeds
    taken(fine, answer())
    world.now = 90.0
    taken(fine, answer(), world.now)
    taken(refused, answer(status=404))
    taken(silent, answer())
    silent.is_silent = True
    world.metrics.missed(2)
    page = world.page()
    assert [one.text for one in page.all("tbody")[0].all("a")] == ["c-silent", "b-refused", "a-fine", "d-unpolled"]
    first = row(page, "a-fine", "Feeds")
    assert (first["state"], first["new"], first["unchanged"], first["failed"]) == ("working", "1", "1", "0")
    assert first["last poll took"] == "12 ms"
    assert first["newest content"] == "2026-11-28 12:00:00Z"
    assert row(page, "b-refused", "Feeds")["reason"] == "the server answers 404"
    assert row(page, "b-refused", "Feeds")["newest content"] == "never"
    assert row(page, "d-unpolled", "Feeds")["state"] == "not polled yet"
    assert (facts(page)["Silent"], facts(page)["Failing"], facts(page)["Polls missed"]) == ("1", "1", "2")


def test_a_feed_has_plots_of_its_duration_and_of_polls_by_result(world: World) -> None:
    for _ in range(3):
        taken(world.feeds[0], answer(), world.now)
        world.site.look()
        world.now += 30.0
    page = world.page("/feeds/a-fine")
    titles = [one.all("strong")[0].text for one in page.all("figcaption")]
    assert titles[:3] == ["Duration of polls", "New polls", "Unchanged polls"]
    assert "most 2 a minute" in page.all("desc")[2].text
    assert row(page, "unchanged", "Polls by result")["polls"] == "2"
    assert facts(page)["Server"] == "a-fine.example.com"
    assert "secret" not in page.words(), "the address may hold one that the manifest does not know as such"
    assert world.site.answer("/feeds/nobody", "") is None
