"""Folders by time: which folder of ``partitionBy`` a partition path is in, and when that folder is over. Pure.

A folder by time is a path down to the finest level by date: ``dt=2026-11-21/hr=05``, or ``country=DE/dt=2026-11-21``
where other levels stand above. It is over at the last instant at which a clock on the wall of its time zone shows its
time. So the hour that comes twice, when clocks are set back, is over after the second time, and a day on which an hour
is left out is an hour shorter.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from logpersister.manifest.blocks.partition_rule import PartitionRule, TimeField
from logpersister.records.escaping import is_aside
from logpersister.records.paths import DateStep, Granularity, make_layout
from logpersister.records.zones import SECONDS_PER_DAY, day_offsets

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS = SECONDS_PER_DAY * 1000
_FIRST_YEAR, _LAST_YEAR = 1969, 9998
"""Years that a record can have (`records.paths`), less a day. Other folders may have years that no time zone knows."""
_DIGEST_DIGITS = 8
_OF_A_DAY = 3
"""Components that say a day."""
_BEGIN = ("1970", "01", "01", "00", "00")
"""First value of each component of a time."""
_COMPONENT = (r"(\d{4})", *[r"(\d{2})"] * 4)


@dataclass(frozen=True, slots=True, order=True)
class TimeFolder:
    """A folder by time."""

    end: int
    """Milliseconds since the epoch: no record whose time is this or a later one belongs into the folder."""
    inside: int = field(default=0, kw_only=True)
    """How many levels by date are in it, whose folders are over by then. It stands behind these: so before `path`."""
    path: str
    """Below the topic's folder."""

    @property
    def is_outer(self) -> bool:
        """Whether it is of an outer level by date."""
        return self.inside > 0


@dataclass(frozen=True, slots=True)
class TimeFolders:
    """Names of the folders by time of a layout."""

    timezone: str
    granularity: Granularity
    above: int
    """Levels above the first level by date."""
    levels: tuple[re.Pattern[str], ...]
    """One for each level by date; their groups together are the components of a time."""
    field: TimeField | None
    """Field whose time it is; None: the record's timestamp."""
    first_prefix: str
    """Prefix of the names of the first level by date."""
    inside: int = 0
    """Number of further levels by date in its folders."""

    @property
    def field_name(self) -> str:
        """Name of the field whose time counts; empty: the record's timestamp."""
        return str(self.field or "")

    @property
    def field_digest(self) -> str:
        """What stands for the field, in few characters."""
        return digest_of(self.field_name)

    @property
    def outer(self) -> "tuple[TimeFolders, ...]":
        """The folders of each outer level by date, the outermost first."""
        return tuple(self._cut(count) for count in range(1, len(self.levels)))

    def _cut(self, count: int) -> "TimeFolders":
        """Return the folders of a level by date, by how many there are down to it."""
        levels = self.levels[:count]
        said = sum(level.groups for level in levels)
        granularity = next(one for one in Granularity if one.components == said)
        return replace(self, granularity=granularity, levels=levels, inside=len(self.levels) - count)

    def outer_of(self, folder: TimeFolder) -> Iterator[TimeFolder]:
        """Yield the folders of outer levels around a folder."""
        for layout in self.outer:
            if (found := layout.folder_of(folder.path)) is not None:
                yield found

    @property
    def depth(self) -> int:
        """Number of segments in the path of a folder."""
        return self.above + len(self.levels)

    def folder_of(self, path: str) -> TimeFolder | None:
        """Return the folder that a partition path, or its first `depth` segments, stands for; None: none by time.

        Quarantine is none, nor are folders of late records, nor is that of records without a usable time.
        """
        segments = path.split("/")[: self.depth]
        if len(segments) < self.depth or is_aside(path):
            return None
        local = _local(self._components(segments))
        if local is None:
            return None
        end = over_at(self.granularity.after(local), self.timezone)
        return TimeFolder(end, "/".join(segments), inside=self.inside)

    def _components(self, segments: Sequence[str]) -> Sequence[str]:
        """Return the components of the time that the segments of a path say; none: they say no time."""
        found = [level.fullmatch(segment) for level, segment in zip(self.levels, segments[self.above :], strict=True)]
        return [one for match in found if match is not None for one in match.groups()] if all(found) else []

    def may_hold(self, path: str, after: int | None, until: int) -> bool:
        """Whether a folder that ends in ``(after, until]`` may be in a folder or be the folder itself, by its date."""
        segments = path.split("/")
        if is_aside(path):
            return False
        if len(segments) <= self.above:
            return True
        first = self.levels[0].fullmatch(segments[self.above])
        said = () if first is None else first.groups()[:_OF_A_DAY]
        begin = _local(said)
        if begin is None:
            return False
        end = next(one for one in Granularity if one.components == len(said)).after(begin)
        ends_too_early = after is not None and over_at(end, self.timezone) <= after
        return not ends_too_early and over_at(begin, self.timezone) < until

    def before_all(self, after: int) -> str:
        """Return a name before those of all folders of the first level that may hold one which ends behind an instant.

        Names of dates are in the order of time. Three days: zones differ by one, and listings in whether they begin
        with the name that they are told.
        """
        said = min(self.levels[0].groups, _OF_A_DAY)
        date = _EPOCH + timedelta(days=max(0, after // _DAY_MS - (3, 34, 369)[_OF_A_DAY - said]))
        return self.first_prefix + "-".join(f"{date:%Y %m %d}".split()[:said])

    def last_end(self, instant: int) -> int:
        """Return when the last folder was over of those that are over at an instant (milliseconds since the epoch)."""
        floor = self.granularity.floor(instant + _offset(instant, self.timezone))
        while (end := over_at(floor, self.timezone)) > instant:
            floor = self.granularity.floor(floor - 1)
        return end

    def begin_of(self, folder: TimeFolder) -> int:
        """Return the first instant at which a record belongs into a folder.

        Where clocks are set back, an earlier folder may be over later: all minutes of the hour that comes twice.
        """
        local = _local(self._components(folder.path.split("/")))
        assert local is not None, "it is a folder by time"
        return _reached(local, self.timezone)

    def all_over(self, instant: int) -> int:
        """Return an instant by which all folders are over that have begun before another one; not the first of them."""
        return instant + self.granularity.after(0) + 2 * _DAY_MS  # leap years have a day more, time zones some hours


def digest_of(field: str) -> str:
    """Return what stands for a field, in few characters."""
    return hashlib.sha256(field.encode()).hexdigest()[:_DIGEST_DIGITS]


def time_folders(rules: Sequence[PartitionRule]) -> TimeFolders | None:
    """Return the folders by time of ``partitionBy``; None: its levels by date do not stand together, or are none."""
    steps = make_layout(rules).steps
    dates = [place for place, step in enumerate(steps) if isinstance(step, DateStep)]
    if len(dates) != 1:
        return None
    step = steps[dates[0]]
    assert isinstance(step, DateStep)
    patterns, said = [], 0
    for level in step.levels:
        components = "-".join(_COMPONENT[said : level.granularity.components])
        patterns.append(re.compile(re.escape(level.prefix) + components, re.ASCII))
        said = level.granularity.components
    granularity = step.levels[-1].granularity
    return TimeFolders(step.timezone, granularity, dates[0], tuple(patterns), step.field, step.levels[0].prefix)


@lru_cache(maxsize=4096)
def over_at(local: int, timezone: str) -> int:
    """Return the first instant from which on a clock on the wall never again shows a time before `local`.

    `local` and what is returned are milliseconds, since 1970-01-01T00:00 on the wall and since the epoch.
    """
    day = local // _DAY_MS
    latest = 0
    for utc_day in range(day - 2, day + 3):
        before, change, after = day_offsets(timezone, utc_day)
        starts = utc_day * _DAY_MS, change * 1000
        ends = change * 1000, (utc_day + 1) * _DAY_MS
        for start, end, offset in zip(starts, ends, (before, after), strict=True):
            last = min(end, local - offset * 1000)  # before this instant the wall shows less than `local`
            if last > start:
                latest = max(latest, last)
    return latest


def _reached(local: int, timezone: str) -> int:
    """Return the first instant at which a clock on the wall shows `local` or a later time; both as in `over_at`."""
    day = local // _DAY_MS
    for utc_day in range(day - 2, day + 3):
        before, change, after = day_offsets(timezone, utc_day)
        starts = utc_day * _DAY_MS, change * 1000
        ends = change * 1000, (utc_day + 1) * _DAY_MS
        for start, end, offset in zip(starts, ends, (before, after), strict=True):
            first = max(start, local - offset * 1000)
            if first < end:
                return first
    raise AssertionError("no time zone is days away from another one")


def _offset(instant: int, timezone: str) -> int:
    before, change, after = day_offsets(timezone, instant // _DAY_MS)
    return (before if instant < change * 1000 else after) * 1000


def _local(components: Sequence[str]) -> int | None:
    """Return the time on the wall that the components of a path say; None: no record has it, or no calendar."""
    if not components:
        return None
    year, month, day, hour, minute = (int(one) for one in [*components, *_BEGIN[len(components) :]])
    try:
        time = datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
    return (time - _EPOCH) // timedelta(milliseconds=1) if _FIRST_YEAR <= year <= _LAST_YEAR else None
