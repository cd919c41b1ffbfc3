"""Links of all pages lead somewhere, and members run what some of them show."""

import re
from pathlib import Path

import pytest

from tests.pages import DOCS, PAGES, broken_links, missing_paths

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


@pytest.mark.parametrize("page", ["finish", "tables", "hive"])
def test_manifests_of_the_page_are_run_by_members(page: str) -> None:
    """As `tests.integration.harness.examples` reads them."""
    shown = set(re.findall(r"examples/([\w-]+)\.yaml", (DOCS / f"{page}.md").read_text()))
    scenes = "".join(one.read_text() for one in (TESTS / "integration").rglob("*.py"))
    run = re.findall(r'(?:example\(\s*|manifest\(\s*|of: str = |of = )"([\w-]+)"', scenes)
    assert shown
    assert shown - set(run) == set()


def test_a_broken_link_is_found() -> None:
    text = "# Here\n[a](none.md) [b](#here) [c](#there) [d](manifest.md#units-and-notations) [e](manifest.md#none)"
    assert broken_links(DOCS / "here.md", text) == ["none.md", "#there", "manifest.md#none"]


def test_a_missing_file_is_found() -> None:
    text = (
        "`plan/planner.py` `rollout/step.py` `docs/design/` `tests/unit/test_*.py` `plan/none.py` `none/` `x` `/status`"
    )
    assert missing_paths(text) == ["plan/none.py", "none/"]
