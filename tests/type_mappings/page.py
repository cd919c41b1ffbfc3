"""The tables as a page has them, between ``<!-- types from -->`` or ``<!-- types to -->`` and ``<!-- end -->``."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tests.type_mappings.sources import SOURCES
from tests.type_mappings.targets import TARGETS
from tests.type_mappings.types import TYPES

_TABLES: Final[Mapping[str, Mapping[str, Callable[[str], str]]]] = {"from": SOURCES, "to": TARGETS}
_MARKED: Final = re.compile(r"(<!-- types (from|to) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return a page with its tables as they should be."""
    return _MARKED.sub(lambda found: found[1] + "".join(f"{line}\n" for line in _table(found[2])) + found[3], page)


def _table(name: str) -> Iterator[str]:
    cells = _TABLES[name]
    yield f"| type | {' | '.join(cells)} |"
    yield "| --- " * (1 + len(cells)) + "|"
    before: list[str] = []
    names: list[str] = []
    for type_ in TYPES:
        row = [cell(type_) for cell in cells.values()]
        if names and row != before:
            yield _row(names, before)
            names = []
        names, before = [*names, type_], row
    yield _row(names, before)


def _row(names: list[str], cells: list[str]) -> str:
    return f"| {', '.join(f'`{name}`' for name in names)} | {' | '.join(cells)} |"
