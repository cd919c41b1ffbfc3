"""Which records came late, told once more from what docs/finish.md says: by the date in the name of their folder.

No code that tells late records for members is in it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logpersister.manifest.finish import Late
from logpersister.manifest.partition_rule import DateRule, PartitionRule
from logpersister.records.escaping import QUARANTINE
from logpersister.records.late import CAME_LATE
from logpersister.records.parsers import Refused
from logpersister.records.paths import Assignment
from logpersister.records.zones import load_zone

_LENGTHS: Final = {"day": timedelta(days=1), "hour": timedelta(hours=1), "minute": timedelta(minutes=1)}
_FORMS: Final = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H", "minute": "%Y-%m-%d-%H-%M"}
_LATEST: Final = timedelta(hours=14)
"""How much later than in UTC a clock on the wall shows a time for the last time, at most."""

Levels = tuple[Sequence[str], Sequence[PartitionRule]]
"""The segments of a path below the folder of its type, and the levels of folders that they stand for."""


@dataclass(frozen=True, slots=True)
class LateOracle:
    """Where late records belong, as `records.late.Lateness` has it, once more."""

    levels_at: Callable[[str], Levels]
    late: Late
    horizon: int

    def place(self, found: Assignment) -> Assignment:
        """Return the same with late records where they belong."""
        late = {path for path in found.paths if path != QUARANTINE and self._came_late(path)}
        if not late:
            return found
        if self.late == "folder":
            return replace(found, paths=[f"_late/{path}" if path in late else path for path in found.paths])
        return _refused(found, late)

    def _came_late(self, path: str) -> bool:
        end = _end(*self.levels_at(path))
        return end is not None and end <= self.horizon


def _end(segments: Sequence[str], rules: Sequence[PartitionRule]) -> int | None:
    """Return when a folder's time was over (milliseconds since the epoch); None: it says no time."""
    dated = [(rule.date, segment) for rule, segment in zip(rules, segments, strict=True) if rule.date is not None]
    if not dated:
        return None
    said = "-".join(segment.removeprefix(date.folder_prefix) for date, segment in dated)
    finest: DateRule = dated[-1][0]
    try:
        begin = datetime.strptime(said, _FORMS[finest.granularity]).replace(tzinfo=UTC)
    except ValueError:
        return None
    if finest.granularity in _LENGTHS:
        return _over(begin + _LENGTHS[finest.granularity], finest.timezone)
    is_last = finest.granularity == "year" or begin.month == 12
    end = begin.replace(year=begin.year + 1, month=1) if is_last else begin.replace(month=begin.month + 1)
    return _over(end, finest.timezone)


@lru_cache(maxsize=4096)
def _over(wall: datetime, timezone: str) -> int:
    """Return the first instant from which on a clock on the wall of a zone never again shows less, to the second."""
    zone, second, minute = load_zone(timezone), timedelta(seconds=1), timedelta(minutes=1)

    def shows_less(instant: datetime) -> bool:
        return instant.astimezone(zone).replace(tzinfo=UTC) < wall

    last = next(one for one in _back(wall + _LATEST, minute) if shows_less(one))
    last = next(one for one in _back(last + minute, second) if shows_less(one))
    return round((last + second).timestamp() * 1000)


def _back(instant: datetime, by: timedelta) -> Iterator[datetime]:
    while True:
        yield instant
        instant -= by


def _refused(found: Assignment, late: set[str]) -> Assignment:
    """Return an assignment whose late records are refused, too; row by row."""
    why: dict[int, tuple[str | None, str | None]] = {}
    first = CAME_LATE
    if found.refused is not None:
        of_rows: list[list[Any]] = [found.refused.reasons.to_pylist(), found.refused.fields.to_pylist()]
        why = dict(zip(found.refused.rows.tolist(), zip(*of_rows, strict=True), strict=True))
        first = found.refused.reason
    paths = [found.paths[index] for index in found.indices.tolist()]
    accepted = [row for row, path in enumerate(paths) if path != QUARANTINE]
    why |= {row: (CAME_LATE, None) for row in accepted if paths[row] in late}
    names = [*sorted({paths[row] for row in accepted if row not in why}), QUARANTINE]
    number = {name: place for place, name in enumerate(names)}
    indices = np.array([number[QUARANTINE if row in why else path] for row, path in enumerate(paths)], np.int32)
    reasons, fields = (pa.array([why[row][one] for row in sorted(why)], pa.string()) for one in (0, 1))
    refused = Refused(np.array(sorted(why), np.int64), first, reasons, fields)
    rows = None if found.rows is None else found.rows.filter(pa.array([row not in why for row in accepted]))
    return replace(found, paths=names, indices=indices, refused=refused, rows=rows)
