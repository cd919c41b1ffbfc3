"""The browser, and pages in it whose faults are heard."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import worlds

CHROMIUM: Final = "/usr/bin/chromium"
WIDTHS: Final = {"desk": 1280, "image": 1240, "phone": 360}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave these tests to `make test-browser`, which sees to the browser."""
    return None if config.getoption("--browser") or not collection_path.name.startswith("test_") else True


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--hide-scrollbars"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Addresses of the pages of each process."""
    with ExitStack() as stack:
        served = {
            "member": worlds.member(),
            "starting": worlds.starting_member(),
            "crowded": worlds.crowded_member(),
            "collector": worlds.collector(tmp_path_factory.mktemp("collector")),
            "operator": worlds.operator(),
        }
        yield {name: stack.enter_context(one) for name, one in served.items()}


@dataclass
class Opened:
    """A page in the browser, and what it complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def hear(self) -> None:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, sites: Mapping[str, str]) -> Iterator[Open]:
    """Open a page of a process; at the end none may have complained."""
    with ExitStack() as stack:
        all_opened: list[Opened] = []

        def opened(site: str, path: str = "/", *, width: str = "desk", dark: bool = False, **options: Any) -> Opened:
            context = browser.new_context(
                viewport={"width": WIDTHS[width], "height": 760},
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
                **options,
            )
            stack.callback(context.close)
            found = Opened(context.new_page())
            found.hear()
            found.page.goto(sites[site] + path)
            all_opened.append(found)
            return found

        yield opened
        assert [one.complaints for one in all_opened] == [[] for _ in all_opened]
