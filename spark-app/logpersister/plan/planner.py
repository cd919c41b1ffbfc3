"""Decides which ranges of a partition are due. Pure: offsets and sizes in, range ends out."""

from dataclasses import dataclass

from logpersister.plan.intents import PLANNED_RANGES
from logpersister.ranges import Offset

MERGE_BELOW = 0.1
"""A remainder smaller than this fraction of a full range joins the range before it instead of making a tiny object."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Unstored offsets ``[position, end)`` of a partition."""

    position: Offset
    end: Offset
    aged: bool
    """Whether the oldest record of the backlog has reached its age, or a caller wants everything now."""


def due(backlog: Backlog, max_bytes: int, bytes_per_offset: float, most: int = PLANNED_RANGES) -> tuple[Offset, ...]:
    """Return the rising ends of the ranges that must be written now; empty when none is due.

    Full ranges (estimated at ``max_bytes``) are due at once, oldest first; the rest is due when it has aged.

    Args:
        most: most ranges to return, 1 to `PLANNED_RANGES`.
    """
    left = backlog.end - backlog.position
    if left <= 0:
        return ()
    full = max(1, int(max_bytes / bytes_per_offset))
    count = min(left // full, most)
    ends = [backlog.position + full * (index + 1) for index in range(count)]
    rest = left - full * count
    if not backlog.aged or rest == 0:
        return tuple(ends)
    if ends and rest < full * MERGE_BELOW:
        ends[-1] = backlog.end
    elif count < most:
        ends.append(backlog.end)
    return tuple(ends)
