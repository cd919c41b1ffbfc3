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
    names: list[str] = []
    cells_of_names: list[str] = []
    for type_ in TYPES:
        row = [cell(type_) for cell in cells.values()]
        if names and all(map(_are_alike, cells_of_names, row)):
            names, cells_of_names = [*names, type_], list(map(_joined, cells_of_names, row))
            continue
        if names:
            yield _row(names, cells_of_names)
        names, cells_of_names = [type_], row
    yield _row(names, cells_of_names)


def _are_alike(one: str, other: str) -> bool:
    """Whether one row can have both cells: they differ in bold marks only, or one is empty."""
    return "" in (one, other) or one.replace("**", "") == other.replace("**", "")


def _joined(one: str, other: str) -> str:
    """Return a cell with the bold marks of both."""
    if "" in (one, other):
        return one or other
    return ", ".join(max(pair, key=len) for pair in zip(one.split(", "), other.split(", "), strict=True))


def _row(names: list[str], cells: list[str]) -> str:
    return f"| {', '.join(f'`{name}`' for name in names)} | {' | '.join(cells)} |"
