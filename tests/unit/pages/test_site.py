"""Pages over HTTP: well formed, escaped, without anything that runs or comes from elsewhere."""

import hashlib
import re
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator

import pytest

from logpersister.pages import site as site_module
from logpersister.pages.member import MemberSource
from logpersister.pages.site import Site
from logpersister.pages.views import ROWS
from logpersister.report import logs
from logpersister.report.document import status_of
from logpersister.report.facts import HeldPartition
from logpersister.report.health import Health
from logpersister.report.lag import PartitionLag, summarise
from logpersister.report.metrics import Metrics
from logpersister.report.server import Endpoints, ReportServer
from logpersister.report.status import StatusBoard
from tests.unit.pages.html import Element, read
from tests.unit.report.samples import IDENTITY, Clock, failed, partition, partly_refused, written
from tests.unit.report.test_server import ask

ODD = "<script>alert(1)</script>&\"'../ä"


class World:
    """A member's board and metrics, and its site."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.board = StatusBoard(IDENTITY, self.clock.now)
        self.metrics = Metrics(self.board, processes=False)
        self.site = Site(MemberSource(self.board, self.metrics, self.clock.now), clock=self.clock.seconds)

    def store(self, topic: str = "clicks", start: int = 0, records: int = 10) -> None:
        one = written(topic, start=start, records=records)
        self.board.range_written(one)
        self.metrics.range_written(one)

    def lag(self, **records: int) -> None:
        lags = [PartitionLag(partition(topic), 0, count, count / 10) for topic, count in records.items()]
        self.board.lag(summarise(lags, self.clock.now()))

    def page(self, path: str = "/", query: str = "") -> Element:
        answer = self.site.answer(path, query)
        assert answer is not None
        return read(answer.body.decode())


@pytest.fixture
def world() -> World:
    return World()


def row(page: Element, name: str, table: str = "Topics") -> dict[str, str]:
    """Return the cells of a row by their column."""
    (section,) = [one for one in page.all("section") if one.all("h2")[0].text == table]
    header = [one.text for one in section.all("thead")[0].all("th")]
    (found,) = [one for one in section.all("tbody")[0].all("tr") if one.children[0].words() == name]
    return dict(zip(header, (cell.words() for cell in found.children), strict=True))


def facts(page: Element) -> dict[str, str]:
    return {one.all("dt")[0].words(): one.all("dd")[0].words() for one in page.all("dl")[0].all("div")}


def test_home_has_every_topic_at_a_glance(world: World) -> None:
    world.lag(clicks=120, orders=0)
    world.store()
    world.board.range_failed(failed("clicks", upload=True))
    world.board.held([HeldPartition(partition("payments", 3), "data-lost", "3 offsets are gone")])
    world.board.assigned([partition("payments", 3)])
    world.site.look()
    page = world.page()
    clicks = row(page, "clicks")
    assert clicks["state"] == "records wait"
    assert (clicks["lag"], clicks["oldest waits"], clicks["stored"]) == ("120", "12s", "10")
    assert (clicks["last upload"], clicks["failures"]) == ("2026-11-21 12:00:00Z", "1")
    assert row(page, "orders")["state"] == "current"
    assert row(page, "payments")["state"] == "held"
    assert row(page, "payments-3", "Held partitions")["what it waits for"] == "3 offsets are gone"
    assert [one.text for one in page.all("tbody")[0].all("a")] == ["payments", "clicks", "orders"]
    assert facts(page)["Upload failures in the last hour"] == "1"


def test_a_topic_has_its_plots_uploads_quarantine_and_failures(world: World) -> None:
    for turn in range(3):
        world.lag(clicks=100 * turn, orders=1)
        world.store(start=100 * turn, records=30)
        world.site.look()
        world.clock.forward(30)
    for start in (500, 600):
        world.board.range_written(partly_refused(start))
    world.board.range_failed(failed("orders", message="of another topic"))
    page = world.page("/topics/clicks")
    titles = [one.all("strong")[0].text for one in page.all("figcaption")]
    assert titles[:2] == ["Lag in records", "Oldest record waits"]
    assert "least 0, most 200, at the end 200." in page.all("desc")[0].text
    assert "most 1/s" in page.all("desc")[2].text
    assert row(page, "EOF while parsing", "Quarantine by reason")["records"] == "4"
    assert row(page, "raw/clicks/200-0", "Newest objects")["records"] == "30"
    assert "of another topic" not in page.words()
    assert facts(page)["Records stored"] == "90"


def test_when_a_topic_was_uploaded_is_known_when_others_have_newer_objects(world: World) -> None:
    world.store("orders")
    world.site.look()
    world.clock.forward(60)
    for start in range(20):
        world.store("clicks", start)
    world.site.look()
    assert row(world.page(), "orders")["last upload"] == "2026-11-21 12:00:00Z"


def test_an_unknown_lag_is_not_shown_as_none(world: World) -> None:
    world.store()
    world.board.lag_unknown("not in the group")
    page = world.page()
    assert (row(page, "clicks")["lag"], row(page, "clicks")["state"]) == ("?", "not known")
    assert "not in the group" in page.words()


def test_odd_names_are_words_and_lead_to_their_page(world: World) -> None:
    world.store(ODD)
    world.board.range_failed(failed(ODD, message="<b>bold</b>"))
    world.site.look()
    (link,) = world.page().all("tbody")[0].all("a")
    assert link.text == ODD
    topic = world.page(f"/{link.attributes['href']}")
    assert topic.all("h1")[0].text == f"Topic {ODD}"
    assert "<b>bold</b>" in topic.words()


def test_many_topics_are_on_several_pages_and_what_has_no_plot_is_said(world: World) -> None:
    for number in range(ROWS + 50):
        world.store(f"topic-{number:03}")
    world.site.look()
    pages = [world.page(query=query) for query in ("", "page=2", "page=99", "page=-1", "page=x")]
    names = [[one.text for one in page.all("tbody")[0].all("a")] for page in pages]
    assert [len(found) for found in names] == [ROWS, 50, 50, ROWS, ROWS]
    assert len({*names[0], *names[1]}) == ROWS + 50
    assert "150 topics without plots" in pages[0].words()
    assert "Page 1 of 2." in pages[0].words()


def test_secrets_are_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs.redactor, "_values", ("s3cr3t-value",))
    world.board.range_failed(failed(message="refused s3cr3t-value, password=other"))
    text = world.page().words()
    assert "s3cr3t-value" not in text
    assert "password=other" not in text


@pytest.mark.parametrize(
    "path", ["/topics", "/topics/", "/topics/none", "/topics/clicks/more", "/feeds/clicks", "/etc"]
)
def test_there_is_nothing_else(world: World, path: str) -> None:
    world.store()
    assert world.site.answer(path, "") is None


def test_only_the_style_of_the_page_is_allowed(world: World) -> None:
    answer = world.site.answer("/", "")
    assert answer is not None
    policy = dict(answer.headers)["Content-Security-Policy"]
    style = answer.body.decode().partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    for part in ("default-src 'none'", "script-src 'none'", "form-action 'none'", "frame-ancestors 'none'"):
        assert part in policy
    assert not re.search(r"url\(|@import|https?:", style)


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_have_contrast(world: World) -> None:
    style = world.page().all("style")[0].text
    schemes = [dict(re.findall(r"--(\w+): (#\w{6})", one)) for one in re.findall(r":root \{(.*?)\}", style, re.DOTALL)]
    assert len(schemes) == 2
    used = set(re.findall(r"var\(--(\w+)\)", style))
    for colours in schemes:
        assert used == set(colours)
        back = luminance(colours["back"])
        for name in used - {"back", "line"}:
            light, dark = sorted((luminance(colours[name]), back), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, name


@pytest.fixture
def address(world: World) -> Iterator[tuple[str, int]]:
    server = ReportServer("127.0.0.1:0", Endpoints(world.metrics, status_of(world.board), Health(), world.site))
    yield server.start()
    server.stop()


def test_browsers_are_shown_pages_and_others_the_paths(world: World, address: tuple[str, int]) -> None:
    world.store()
    assert ask(address, "/")[2].startswith(b"/metrics\n")
    status, headers, body = ask(address, "/?page=1", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    assert headers["x-content-type-options"] == "nosniff"
    assert ask(address, "/topics/clicks")[0] == 200
    assert ask(address, "/topics/orders")[0] == 404
    assert ask(address, "/topics/clicks", "POST")[0] == 501
    assert read(body.decode()).all("h1")[0].text == "Group clicks-backup"


def test_the_history_is_taken_by_a_thread_that_survives_and_stops(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def look(_: Site) -> None:
        seen.append(1)
        raise RuntimeError("bug")

    monkeypatch.setattr(site_module.Site, "look", look)
    with Site(MemberSource(world.board, world.metrics, world.clock.now), every=0.01):
        deadline = time.monotonic() + 60
        while len(seen) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_start_imports_no_templates() -> None:
    script = "import sys, logpersister.pages.site, logpersister.pages.member; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"
