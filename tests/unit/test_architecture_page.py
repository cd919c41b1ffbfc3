"""The pages for contributors name what is there: files, packages, design pages."""

import re
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

import pytest

from tests.pages import DOCS, ROOT, missing_paths

ARCHITECTURE = (DOCS / "architecture.md").read_text()
DESIGN = DOCS / "design"
PAGES = [DOCS / "architecture.md", DOCS / "glossary.md", DOCS / "debugging.md", DESIGN / "README.md"]
CODE = {"A member": ROOT / "spark-app" / "logpersister", "The operator": ROOT / "operator" / "logpersister_operator"}


def section(text: str, heading: str, level: str = "##") -> str:
    """Return what stands below a heading."""
    return text.partition(f"\n{level} {heading}\n")[2].partition(f"\n{level} ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables, without their headings."""
    lines = re.sub(r"^\|.*\n\| ---.*\n", "", text, flags=re.MULTILINE).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def pieces(heading: str) -> set[str]:
    """Return the packages and folders that the table below a heading is about."""
    first = [row[0] for row in rows(section(section(ARCHITECTURE, "The pieces"), heading, "###"))]
    return set(chain.from_iterable(re.findall(r"`([^`]+)`", cell) for cell in first))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing_paths(page.read_text()) == []


@pytest.mark.parametrize("heading", CODE)
def test_every_package_has_its_row(heading: str) -> None:
    root, named = CODE[heading], pieces(heading)
    packages = {str(marker.parent.relative_to(root)) for marker in root.glob("*/**/__init__.py")}
    assert {one for one in packages if not any(fnmatch(one, name) for name in named)} == set()


def test_every_other_folder_has_its_row() -> None:
    named = pieces("Around them")
    assert {"spark-app/native", "charts/logpersister", "scripts", "bench"} <= named
    folders = {str(one.relative_to(ROOT)) for one in (ROOT / "tests").iterdir() if (one / "__init__.py").exists()}
    assert folders - named == set()


def test_each_module_of_the_operator_has_a_name_of_its_own() -> None:
    names = [file.stem for file in (ROOT / "operator").rglob("*.py") if not file.stem.startswith("__")]
    assert len(names) > 50
    assert sorted(set(names)) == sorted(names)


def test_ten_changes() -> None:
    changes = rows(section(ARCHITECTURE, "Ten changes and where they go"))
    assert len({change for change, _ in changes}) == len(changes) == 10
    for change, files in changes:
        assert len(re.findall(r"`[\w./*-]+/[\w./*-]+`", files)) >= 3, change
        assert re.search(r"`(tests/[^`]*test_\w+|tests/unit/manifest/rich)\.py`", files), f"{change}: what tests it?"


def test_every_design_page_is_in_the_index() -> None:
    indexed = {re.sub(r".*\]\((.*)\)", r"\1", page) for page, _ in rows((DESIGN / "README.md").read_text())}
    assert indexed == {page.name for page in DESIGN.glob("*.md")} - {"README.md"}
