"""Links of all pages lead somewhere."""

from pathlib import Path

import pytest

from tests.pages import DOCS, PAGES, broken_links, missing_paths


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_a_broken_link_is_found() -> None:
    text = "# Here\n[a](none.md) [b](#here) [c](#there) [d](manifest.md#units-and-notations) [e](manifest.md#none)"
    assert broken_links(DOCS / "here.md", text) == ["none.md", "#there", "manifest.md#none"]


def test_a_missing_file_is_found() -> None:
    text = (
        "`plan/planner.py` `rollout/step.py` `docs/design/` `tests/unit/test_*.py` `plan/none.py` `none/` `x` `/status`"
    )
    assert missing_paths(text) == ["plan/none.py", "none/"]
