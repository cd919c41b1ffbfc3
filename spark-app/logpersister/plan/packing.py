"""Packs ranges into Spark jobs and tasks.

A Python task costs about 45 ms of CPU whatever it does, so small ranges share tasks; a large range has its own.
A job is committed as a whole when it ends, so jobs are small, and several run at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from logpersister.ranges import Range

LARGE_BYTES = 16 << 20
"""A range estimated at this or more is a task of its own; small ranges share tasks up to this sum."""
MOST_RANGES_PER_TASK = 500
WORTH_A_TASK_BYTES = 1 << 20
"""Small ranges are spread over the cores only when each task still gets about this much."""


@dataclass(frozen=True, slots=True)
class Work:
    """A range to execute, and its estimated stored bytes."""

    range: Range
    estimated_bytes: int


Task = tuple[Work, ...]
Job = tuple[Task, ...]


def pack(work: Iterable[Work], cores: int) -> Iterator[Job]:
    """Yield jobs of at most ``cores`` tasks, in the order of the work (oldest first)."""
    tasks = _tasks(list(work), cores)
    for index in range(0, len(tasks), cores):
        yield tuple(tasks[index : index + cores])


def _tasks(work: Sequence[Work], cores: int) -> list[Task]:
    small = [item for item in work if item.estimated_bytes < LARGE_BYTES]
    large: list[Task] = [(item,) for item in work if item.estimated_bytes >= LARGE_BYTES]
    total = sum(item.estimated_bytes for item in small)
    fair_share = max(total // cores + 1, WORTH_A_TASK_BYTES)
    return _binned(small, min(fair_share, LARGE_BYTES)) + large


def _binned(work: Sequence[Work], most_bytes: int) -> list[Task]:
    tasks: list[Task] = []
    current: list[Work] = []
    current_bytes = 0
    for item in work:
        full = current_bytes + item.estimated_bytes > most_bytes or len(current) >= MOST_RANGES_PER_TASK
        if current and full:
            tasks.append(tuple(current))
            current, current_bytes = [], 0
        current.append(item)
        current_bytes += item.estimated_bytes
    if current:
        tasks.append(tuple(current))
    return tasks
