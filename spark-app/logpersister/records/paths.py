"""Partition paths: which path of the bucket each record belongs to, for whole batches at once.

A path depends on the record alone (its timestamp, its offset), never on the clock, so that a range that is read again
gives the same objects. The layouts follow what query engines understand: ``dt=2026-11-21/hr=05``.

Timestamps that no calendar date can be made of become the value ``unknown``: -1 (the record has none), other
negative ones, and those from the year 9999 on (usually a producer that wrote micro- or nanoseconds).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.manifest.blocks.partition_rule import DateRule, PartitionRule, TimeField
from logpersister.records.escaping import MAX_SEGMENT_BYTES, escape, is_safe_path
from logpersister.records.field_paths import FieldStep, field_step
from logpersister.records.field_times import FIRST_UNUSABLE_MS, times_at
from logpersister.records.key_folders import KeyLevel
from logpersister.records.zones import day_offsets, load_zone
from logpersister.values.reading.adjusted import Adjusted, joined
from logpersister.values.reading.parsers import Refused

Int64s = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]

RULES = 1
"""Raise it when a record gets another path than before (except for rules of time zones, which tell of themselves)."""

UNKNOWN = "unknown"
"""The value of a path for records without a usable timestamp."""

_DAY_MS = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The paths of one batch: row ``i`` belongs to ``paths[indices[i]]``.

    Every path of `paths` has at least one row (none for an empty batch), and no path stands in it twice.
    """

    paths: list[str]
    indices: Indices
    refused: Refused | None = None
    """Records that the parser refused; they have the path of quarantine, the last of `paths`."""
    rows: pa.StructArray | None = None
    """Rows of accepted records, in their order; None: the parser makes no rows."""
    adjusted: Adjusted | None = None
    """Adjusted values of accepted records; None: none."""
    keeps_refused_values: bool = True
    """Whether value, key and headers of what the parser refused are stored."""
    kept: "npt.NDArray[np.int64] | None" = None
    """Kept rows of the batch, ascending; everything above counts only these. None: all rows."""


class Granularity(StrEnum):
    """Time span of one folder."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"

    @property
    def components(self) -> int:
        """How many of year, month, day, hour and minute say when such a folder begins."""
        return _COMPONENTS[self]

    def floor(self, local: int) -> int:
        """Return when the folder of a time begins; like it, milliseconds since 1970-01-01T00:00 on the wall."""
        if self in _SIZES:
            return local - local % _SIZES[self]
        time = _EPOCH + timedelta(days=local // _DAY_MS)
        begin = time.replace(month=1 if self is Granularity.YEAR else time.month, day=1)
        return (begin - _EPOCH).days * _DAY_MS

    def after(self, begin: int) -> int:
        """Return when the folder that begins then is over."""
        longest = {Granularity.YEAR: 366, Granularity.MONTH: 31}
        return begin + _SIZES[self] if self in _SIZES else self.floor(begin + longest[self] * _DAY_MS)


_SIZES = {Granularity.DAY: _DAY_MS, Granularity.HOUR: 3_600_000, Granularity.MINUTE: 60_000}
_COMPONENTS = {one: number for number, one in enumerate(Granularity, 1)}


class Layout(Protocol):
    """Gives each record its partition path. Picklable."""

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        """Return the path of each row of `batch` (columns of `records.schema`)."""


class Step(Protocol):
    """One or more levels of folders: gives each record as many path segments."""

    def assign(self, batch: pa.RecordBatch) -> Assignment: ...


@dataclass(frozen=True, slots=True)
class DateLevel:
    """One level of folders by time: `prefix` and then what the levels outside of it have not said yet."""

    granularity: Granularity
    prefix: str


@dataclass(frozen=True, slots=True)
class DateStep:
    """The local time of the record's timestamp, in one or more levels, each finer than the one outside of it.

    Day: ``dt=2026-11-21``. Day and hour: ``dt=2026-11-21/hr=05``. Hour alone: ``hr=2026-11-21-05``. When clocks are
    set back, the hour that comes twice is one folder.
    """

    timezone: str
    levels: tuple[DateLevel, ...]
    field: TimeField | None = None
    """Field whose time names the folders; None: the record's timestamp."""

    def __post_init__(self) -> None:
        load_zone(self.timezone)
        for level in self.levels:
            _check_prefix(level.prefix)

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        if self.field is None:
            return self._assign(_int64s(batch, "timestamp"))
        times = times_at(batch, self.field)
        return replace(self._assign(times.milliseconds), adjusted=times.unusable)

    def _assign(self, timestamps: Int64s) -> Assignment:
        if timestamps.min() >= 0 and timestamps.max() < FIRST_UNUSABLE_MS:
            return self._assign_usable(timestamps)
        usable = (timestamps >= 0) & (timestamps < FIRST_UNUSABLE_MS)
        unknown = "/".join(level.prefix + UNKNOWN for level in self.levels)
        if not usable.any():
            return Assignment([unknown], np.zeros(len(timestamps), np.int32))
        inner = self._assign_usable(timestamps[usable])
        indices = np.full(len(timestamps), len(inner.paths), np.int32)
        indices[usable] = inner.indices
        return Assignment([*inner.paths, unknown], indices)

    def _assign_usable(self, timestamps: Int64s) -> Assignment:
        local, finest = local_milliseconds(timestamps, self.timezone), self.levels[-1].granularity
        if finest in _SIZES:
            return _assign_floors(local, _SIZES[finest], self._path)
        days, of_day = _unique(local // _DAY_MS)
        begins, of_begin = np.unique([finest.floor(int(day) * _DAY_MS) for day in days], return_inverse=True)
        return Assignment([self._path(int(one)) for one in begins], of_begin.astype(np.int32)[of_day])

    def _path(self, floor: int) -> str:
        time = _EPOCH + timedelta(milliseconds=floor)
        components = f"{time.year:04d}", *(f"{one:02d}" for one in (time.month, time.day, time.hour, time.minute))
        segments, said = [], 0
        for level in self.levels:
            segments.append(level.prefix + "-".join(components[said : level.granularity.components]))
            said = level.granularity.components
        return "/".join(segments)


@dataclass(frozen=True, slots=True)
class OffsetStep:
    """The record's offset rounded down to a multiple of `every`: ``offset=120000000``."""

    every: int
    prefix: str = "offset="

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"cannot round offsets to multiples of {self.every}; the least is 1")
        _check_prefix(self.prefix)

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        offsets = _int64s(batch, "offset")
        return _assign_floors(offsets, self.every, self._path)

    def _path(self, floor: int) -> str:
        return f"{self.prefix}{floor}"


@dataclass(frozen=True, slots=True)
class ValueStep:
    """A level by a field of the rows, or by the key."""

    level: FieldStep | KeyLevel

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        return Assignment(*self.level.names(batch))


@dataclass(frozen=True, slots=True)
class PathLayout:
    """All steps of ``partitionBy``, joined with ``/``. No steps: all records have the path ``""``. Picklable."""

    steps: tuple[Step, ...] = ()

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        if batch.num_rows == 0:
            return Assignment([], np.zeros(0, np.int32))
        if not self.steps:
            return Assignment([""], np.zeros(batch.num_rows, np.int32))
        result = self.steps[0].assign(batch)
        for step in self.steps[1:]:
            result = _join(result, step.assign(batch))
        return result


def local_milliseconds(timestamps: Int64s, timezone: str) -> Int64s:
    """Return what a clock on the wall in `timezone` shows, as milliseconds since its 1970-01-01T00:00.

    `timestamps` are milliseconds since the epoch, at least one, all usable. The offset of a zone is constant except for
    a few instants a year, so it is looked up once for each UTC day that occurs, not for each row.
    """
    first, last = int(timestamps.min()) // _DAY_MS, int(timestamps.max()) // _DAY_MS
    if last - first < 366:
        offsets = {day_offsets(timezone, day) for day in range(first, last + 1)}
        values = {value for before, _, after in offsets for value in (before, after)}
        if len(values) == 1:
            shift = values.pop() * 1000
            return timestamps + np.int64(shift) if shift else timestamps
    days, day_of_row = _unique(timestamps // _DAY_MS)
    pieces = np.array([day_offsets(timezone, int(day)) for day in days], np.int64) * 1000
    before, change, after = pieces[day_of_row].T
    shifts: Int64s = np.where(timestamps < change, before, after)
    return timestamps + shifts


def _assign_floors(values: Int64s, size: int, path: Callable[[int], str]) -> Assignment:
    """Assign each value the path of its multiple of `size` below; `path` gets that multiple."""
    first, last = int(values.min()) // size, int(values.max()) // size
    if first == last:
        return Assignment([path(first * size)], np.zeros(len(values), np.int32))
    floors, indices = _unique(values // size)
    return Assignment([path(int(floor) * size) for floor in floors], indices)


def _unique(values: Int64s) -> tuple[Int64s, Indices]:
    """Return the distinct values, ascending, and for each row the index of its value.

    Offsets and timestamps mostly rise, so rows with the same value stand together; else the values at least lie close
    together. Both spare the sorting of all rows.
    """
    starts = np.flatnonzero(values[1:] != values[:-1]) + 1
    if len(starts) * 16 > len(values):
        return _unique_scattered(values)
    starts = np.concatenate([np.zeros(1, starts.dtype), starts])
    distinct, inverse = np.unique(values[starts], return_inverse=True)
    return distinct, np.repeat(inverse.astype(np.int32), np.diff(starts, append=len(values)))


def _unique_scattered(values: Int64s) -> tuple[Int64s, Indices]:
    """Do as `_unique`, with a table over the span of the values unless that is far larger than the rows."""
    least = int(values.min())
    span = int(values.max()) - least + 1
    if span > max(65_536, 4 * len(values)):
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct, inverse.astype(np.int32)
    positions = values - least
    occurs = np.zeros(span, np.bool_)
    occurs[positions] = True
    table = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(occurs) + np.int64(least), table[positions]


def _join(left: Assignment, right: Assignment) -> Assignment:
    width = len(right.paths)
    pairs, indices = _unique(left.indices.astype(np.int64) * width + right.indices)
    paths = [f"{left.paths[pair // width]}/{right.paths[pair % width]}" for pair in pairs.tolist()]
    return Assignment(paths, indices, adjusted=joined(left.adjusted, right.adjusted))


def _int64s(batch: pa.RecordBatch, column: str) -> Int64s:
    values: Int64s = batch.column(column).to_numpy(zero_copy_only=True)
    return values


def _check_prefix(prefix: str) -> None:
    """Raise ValueError unless `prefix` can stand before any value of a path segment."""
    allowed = prefix == "" or escape(prefix).replace("%3D", "=") == prefix
    if not allowed or not is_safe_path(f"{prefix}0") or len(prefix) > MAX_SEGMENT_BYTES // 2:
        raise ValueError(f"{prefix!r} cannot begin a path segment; use letters, digits, -, ., _ and =, for example dt=")


def make_layout(rules: Sequence[PartitionRule]) -> PathLayout:
    """Return the layout that ``spec.output.partitionBy`` asks for.

    Date rules of one time zone that stand side by side, each finer than the one before, are one step: together they
    cost one look at the timestamps.
    """
    steps: list[Step] = []
    for rule in rules:
        if rule.date is not None:
            _add_date(steps, rule.date)
        elif rule.offset is not None:
            steps.append(OffsetStep(rule.offset.every))
        elif rule.key is not None:
            steps.append(ValueStep(KeyLevel(rule.folder_prefix)))
        else:
            steps.append(ValueStep(field_step(rule)))
    return PathLayout(tuple(steps))


def _add_date(steps: list[Step], rule: DateRule) -> None:
    granularity = Granularity(rule.granularity)
    level = DateLevel(granularity, rule.folder_prefix)
    last = steps[-1] if steps else None
    if (
        isinstance(last, DateStep)
        and (last.timezone, last.field) == (rule.timezone, rule.time)
        and last.levels[-1].granularity.components < granularity.components
    ):
        steps[-1] = DateStep(rule.timezone, (*last.levels, level), rule.time)
    else:
        steps.append(DateStep(rule.timezone, (level,), rule.time))
