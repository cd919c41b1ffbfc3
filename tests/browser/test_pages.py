"""Pages of members, collectors and the operator in Chromium: readable by everybody, true, and silent."""

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from tests.browser.conftest import Open
from tests.browser.worlds import LONG, PEAK, TIMEOUT
from tests.stack.artifacts import ROOT

PAGES: Final = {
    "member": ("member", "/"),
    "topic": ("member", "/topics/clicks"),
    "long name": ("member", f"/topics/{quote(LONG)}"),
    "starting member": ("starting", "/"),
    "many topics": ("crowded", "/?page=6"),
    "collector": ("collector", "/"),
    "feed": ("collector", "/feeds/prices-eu"),
    "unpolled feed": ("collector", "/feeds/not-polled-yet"),
    "operator": ("operator", "/"),
    "namespace": ("operator", "/?namespace=web"),
    "group": ("operator", "/groups/payments/ledger"),
    "rollout": ("operator", "/groups/web/access-logs"),
    "collector of an operator": ("operator", "/collectors/shop/prices"),
}
IMAGES: Final = ROOT / "docs" / "images"
SHOWN: Final = {"member": "topic", "collector": "feed", "operator": "operator", "group": "group"}
"""Screenshots of the docs, and the pages that they show."""
MOST_BYTES: Final = 120_000


@pytest.mark.parametrize("name", PAGES)
def test_nobody_is_kept_out(open_page: Open, name: str) -> None:
    site, path = PAGES[name]
    phone, dark = open_page(site, path, width="phone"), open_page(site, path, dark=True)
    for opened, rules in ((phone, None), (dark, {"runOnly": ["color-contrast"]})):
        found = Axe().run(opened.page, options=rules)
        assert found.violations_count == 0, found.generate_report()
        size = opened.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert size[0] <= size[1], "the page is not wider than the screen; only its tables may be"
        assert {urlsplit(one).path for one in opened.requests} == {urlsplit(path).path}, "nothing else is loaded"
    background = "getComputedStyle(document.body).backgroundColor"
    assert phone.page.evaluate(background) != dark.page.evaluate(background)


def drawn(opened: Any, title: str) -> Mapping[str, Any]:
    """Return a plot as the browser has it: its words, the ends and the middle of its line, the height of its mark."""
    figure = opened.page.locator("figure", has_text=title)
    drawing = figure.locator("svg")
    found: Mapping[str, Any] = drawing.evaluate(
        """svg => {
            const line = svg.querySelector('path:not(.mark)'), mark = svg.querySelector('.mark');
            const at = share => line.getPointAtLength(share * line.getTotalLength());
            const points = [0, 0.5, 1].map(share => [at(share).x, at(share).y]);
            return {points, height: svg.viewBox.baseVal.height, width: svg.viewBox.baseVal.width,
                    mark: mark && mark.getBBox().y, words: svg.querySelector('desc').textContent,
                    seen: svg.getBoundingClientRect().width};
        }"""
    )
    assert figure.locator("figcaption").inner_text().startswith(title)
    return found


def test_plots_are_of_the_data(open_page: Open) -> None:
    ramp = drawn(open_page("member", "/topics/ramp"), "Lag in records")
    (left, bottom), (x, y), (right, top) = ramp["points"]
    assert (left, right) == (pytest.approx(2, abs=3), pytest.approx(ramp["width"] - 2, abs=3))
    assert (bottom, top) == (pytest.approx(ramp["height"] - 2, abs=2), pytest.approx(2, abs=2))
    assert (x, y) == (pytest.approx(ramp["width"] / 2, abs=4), pytest.approx(ramp["height"] / 2, abs=3))
    assert f"least 0, most {PEAK:,}, at the end {PEAK:,}." in ramp["words"]
    assert ramp["seen"] > 250


def test_a_target_is_drawn_at_its_height(open_page: Open) -> None:
    feed = drawn(open_page("collector", "/feeds/prices-eu"), "Duration of polls")
    assert feed["mark"] == pytest.approx(2, abs=1), "the timeout is above all of the line"
    assert f"Dashed: timeout {TIMEOUT:.0f}s." in feed["words"]
    group = drawn(open_page("operator", "/groups/payments/ledger"), "Oldest record waits")
    highest, target = 30 * 60.0, 900.0
    assert group["mark"] == pytest.approx(2 + (group["height"] - 4) * (1 - target / highest), abs=2)


@pytest.mark.parametrize(
    ("site", "worst", "state", "tone"),
    [
        ("member", "payments", "held", "bad"),
        ("collector", "status-page", "silent", "bad"),
        ("operator", "payments/ledger", "uploads fail: Unreachable", "bad"),
    ],
)
def test_the_worst_comes_first(open_page: Open, site: str, worst: str, state: str, tone: str) -> None:
    first = open_page(site).page.locator("main tbody tr").first
    assert first.locator("th").inner_text() == worst
    assert first.locator("td").first.inner_text() == state
    assert first.locator(f"td .{tone}").first.is_visible()


def heading(page: Page, words: str) -> Locator:
    return page.get_by_role("heading", level=1, name=words, exact=True)


def test_everything_is_reached_by_keyboard_in_the_order_of_the_page(open_page: Open) -> None:
    opened = open_page("operator")
    page, seen = opened.page, []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText.split('\\n')[0] || document.activeElement.tagName"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", f"one does not see that {seen[-1]} has the focus"
    assert seen[:6] == [
        "Skip to the content",
        "LogPersister operator",
        "Metrics",
        "payments (1)",
        "shop (2)",
        "web (2)",
    ]
    assert seen[7:9] == ["payments/ledger", "web/access-logs"]
    page.locator("a", has_text="payments/ledger").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/groups/payments/ledger")
    heading(page, "Group payments/ledger").wait_for()


def test_the_first_link_skips_what_all_pages_have(open_page: Open) -> None:
    page = open_page("member").page
    page.keyboard.press("Tab")
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_pages_are_whole_without_scripts(open_page: Open) -> None:
    with_scripts = open_page("operator").page.locator("main").inner_text()
    opened = open_page("operator", java_script_enabled=False)
    assert opened.page.locator("main").inner_text() == with_scripts
    opened.page.get_by_role("link", name="web (2)").click()
    opened.page.get_by_role("link", name="web/access-logs").click()
    heading(opened.page, "Group web/access-logs").wait_for()
    opened.page.get_by_role("link", name="LogPersister operator").click()
    heading(opened.page, "Groups").wait_for()
    opened.page.get_by_role("link", name="shop/prices").click()
    heading(opened.page, "Collector shop/prices").wait_for()
    opened.page.get_by_role("link", name="shop", exact=True).click()
    heading(opened.page, "Groups in shop").wait_for()


def test_further_topics_are_on_further_pages(open_page: Open) -> None:
    page = open_page("crowded").page
    assert page.locator("tbody tr").count() == 200
    page.get_by_role("link", name="Next topics").click()
    page.get_by_text("Page 2 of 6.").wait_for()


@pytest.mark.parametrize("name", SHOWN)
def test_docs_show_pages_as_they_are(open_page: Open, tmp_path: Path, name: str) -> None:
    site, path = PAGES[SHOWN[name]]
    image = tmp_path / f"{name}.png"
    open_page(site, path, width="image").page.screenshot(path=image)
    kept = IMAGES / image.name
    if os.environ.get("UPDATE_GOLDEN"):
        kept.write_bytes(image.read_bytes())
    assert _size(kept) == _size(image), "UPDATE_GOLDEN=1 make test-browser"
    assert kept.stat().st_size < MOST_BYTES


def _size(image: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", image.read_bytes()[16:24])
    return width, height
