"""Log lines of what happens to many partitions at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

MOST_LINES: Final = 20

Level = Literal["info", "warning"]


def log_each(log: Any, event: str, facts: Sequence[Mapping[str, object]], level: Level = "info") -> None:
    """Log (to a structlog logger) a line of this level for each fact, but of a crowd only the first ones.

    The rest is logged at level debug and summed up as ``<event>.more``: how many lines, and the sums of their whole
    numbers but for offsets and partitions, which cannot be added. A member of thousands of slow partitions would
    otherwise fill its log with what its metrics count anyway.
    """
    for one in facts[:MOST_LINES]:
        getattr(log, level)(event, **one)
    rest = facts[MOST_LINES:]
    for one in rest:
        log.debug(event, **one)
    if rest:
        getattr(log, level)(f"{event}.more", lines=len(rest), **_sums(rest))


_NOT_ADDABLE: Final = frozenset({"partition", "start", "end", "position", "first_offset"})


def _sums(facts: Sequence[Mapping[str, object]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in facts:
        for name, value in one.items():
            if isinstance(value, int) and name not in _NOT_ADDABLE:
                sums[name] = sums.get(name, 0) + value
    return sums
