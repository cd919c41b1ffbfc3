"""The pages of the documentation: their links, the anchors that links lead to, and the files that they name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
PAGES: Final = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))

_BASES: Final = (ROOT, ROOT / "spark-app" / "logpersister", ROOT / "operator" / "logpersister_operator")
"""Paths in a page's text are from the root, or from the package that they are about."""
_PATH: Final = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*/?")
_SUFFIXES: Final = (".py", ".rs", ".md", ".yaml", ".yml", ".json", ".toml")
_ELSEWHERE: Final = (".cache", ".venv", "_logpersister", "logpersister.dev")
"""What set-up and tests make, folders of a bucket, and annotations."""


def without_code(text: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    """Return the links of a page to files or headings that do not exist. Other sites are not asked."""
    return [link for link in _links(text) if not _leads_somewhere(page, text, link)]


def missing_paths(text: str) -> list[str]:
    """Return the files and folders that a page names in code marks, and that do not exist; ``*`` stands for any."""
    return [path for path in _paths(text) if not any(_exists(base, path) for base in _BASES)]


def _links(text: str) -> list[str]:
    found: list[str] = re.findall(r"\]\(([^)\s]+)\)", without_code(text))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def _leads_somewhere(page: Path, text: str, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    if file and not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text() if file else text)


def _paths(text: str) -> Iterator[str]:
    for mark in re.findall(r"`([^`\n]+)`", without_code(text)):
        is_path = _PATH.fullmatch(mark) and ("/" in mark or mark.endswith(_SUFFIXES))
        if is_path and mark.split("/")[0] not in _ELSEWHERE:
            yield mark


def _exists(base: Path, path: str) -> bool:
    return any(base.glob(path.rstrip("/")))
