"""Times of records by a field of their rows: timestamps, dates, texts and numbers as ``date.format`` says.

docs/schemas.md#folders-by-fields says which folder a time has. The value itself is stored as it is.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.forms.notation import epoch_unit
from logpersister.manifest.blocks.partition_rule import TimeField
from logpersister.records.field_paths import column_at
from logpersister.schemas.types import PER_SECOND
from logpersister.values.reading.adjusted import Adjusted

RULES: Final = 1
"""Raise it when a text, a number or a date has another time than before."""

NO_TIME: Final = "no_time"
"""Why a value counts as adjusted that has no usable time: its folder is that of unusable times."""

FIRST_UNUSABLE_MS: Final = 253_370_764_800_000
"""The start of the year 9999 in UTC: from here on a time zone may leave the years that a calendar date can have."""

_DAY_MS: Final = 86_400_000

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FieldTimes:
    """The times of a batch."""

    milliseconds: Int64s
    """Since 1970; -1 where there is none, and others may be unusable, too."""
    unusable: Adjusted | None
    """Texts and numbers that have no usable time; None: each has one. Nulls are not among them."""


def times_at(batch: pa.RecordBatch, field: TimeField) -> FieldTimes:
    """Return the times of a field of the rows of a batch (columns of `records.schema`, with their rows)."""
    column: Any = column_at(batch, field.path)
    is_null = column.is_null().to_numpy(zero_copy_only=False)
    if field.notation is None:
        return FieldTimes(np.where(is_null, np.int64(-1), _of_type(column)), None)
    found = _read(column, field.notation)
    bad = np.flatnonzero(~is_null & ((found < 0) | (found >= FIRST_UNUSABLE_MS)))
    kinds = [(NO_TIME, ".".join(field.path))]
    unusable = Adjusted(kinds, bad, np.zeros(len(bad), np.int32)) if len(bad) else None
    return FieldTimes(np.where(is_null, np.int64(-1), found), unusable)


def _of_type(column: Any) -> Int64s:
    if pa.types.is_date32(column.type):
        days: Int64s = column.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return days * _DAY_MS
    ticks: Int64s = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    # In the years 1 to 9999, so it does not overflow.
    return _milliseconds(ticks, column.type.unit)


def _read(column: Any, notation: str) -> Int64s:
    """Return what texts or whole numbers say; -1 where they say none."""
    if pa.types.is_string(column.type):
        found: Any = native.instants(column, notation)
        read: Int64s = found.fill_null(-1).to_numpy(zero_copy_only=False)
        return read
    unit = epoch_unit(notation)
    assert unit is not None, "the manifest was checked"
    ticks: Int64s = column.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return _milliseconds(np.clip(ticks, -1, 10**15) if unit == "s" else ticks, unit)  # which does not overflow


def _milliseconds(ticks: Int64s, unit: str) -> Int64s:
    return ticks * 1000 if unit == "s" else ticks // np.int64(PER_SECOND[unit] // 1000)
