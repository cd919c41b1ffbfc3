"""Frames: numbers at fixed places of values, and the body behind them, for whole batches at once."""

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.formats import binary
from logpersister.manifest.frame import LENGTH_BYTES, FrameSpec, NumberAt
from logpersister.records.keyed_rows import HEAD
from logpersister.records.parsers import Parsed, Refused

Int64s = npt.NDArray[np.int64]

NUMBER_RULES: Final = 1
"""Raise it when the numbers of frames become other columns than before."""
_FIRST_MS: Final = -62_135_596_800_000
_LAST_MS: Final = 253_402_300_799_999
"""Of the years 1 to 9999, as in all columns (``spark-app/native/src/rows/time.rs``)."""
_OVERFLOW: Final = "overflow"
"""Why others are refused, as that module has it."""


class _Values:
    """Binary values as numpy sees them."""

    def __init__(self, values: pa.BinaryArray) -> None:
        ends, data = binary.offsets(values), values.buffers()[2]
        self.starts, self.lengths = ends[:-1].astype(np.int64), binary.lengths(values)
        self._data = np.frombuffer(memoryview(data) if data is not None else b"", np.uint8)

    def numbers(self, at: int, size: int, rows: Int64s) -> Int64s:
        """Return the number at a place of some values, which are long enough."""
        found = self._data[(self.starts[rows] + at)[:, None] + np.arange(size)]
        return np.ascontiguousarray(found).view(f">i{size}").ravel().astype(np.int64)


def types_of(frame: FrameSpec, values: pa.BinaryArray) -> "pa.Array[Any]":
    """Return the type of each value as bytes of its decimal digits; null where the value is no frame."""
    found = _Values(values)
    rows = _frames(frame, values, found)
    numbers = found.numbers(frame.type.at, frame.type.bytes, rows)
    distinct, places = np.unique(numbers, return_inverse=True)
    names = pa.array([str(one).encode() for one in distinct.tolist()], pa.binary())
    indices = np.zeros(len(values), np.int32)
    indices[rows] = places
    is_none = np.ones(len(values), np.bool_)
    is_none[rows] = False
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32(), mask=is_none), names)


def timestamps_of(at: NumberAt, values: pa.BinaryArray) -> Int64s:
    """Return the timestamp in each of some values that are frames."""
    return _Values(values).numbers(at.at, at.bytes, np.arange(len(values)))


def _frames(frame: FrameSpec, values: pa.BinaryArray, found: _Values) -> Int64s:
    """Return the rows that are frames: the lengths in them say how long they are."""
    is_long = found.lengths >= frame.fixed
    if values.null_count:
        is_long &= values.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(is_long)
    header, body = _lengths(frame, found, rows)
    whole: Int64s = rows[(header >= 0) & (body >= 0) & (frame.fixed + header + body == found.lengths[rows])]
    return whole


def _lengths(frame: FrameSpec, found: _Values, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Return the lengths of header and body that values have."""
    body = found.numbers(frame.body.length_at, LENGTH_BYTES, rows)
    if frame.header is None:
        return np.zeros_like(body), body
    return found.numbers(frame.header.length_at, LENGTH_BYTES, rows), body


@dataclass(frozen=True, slots=True)
class FrameBodies:
    """The bodies of frames, their headers, and their timestamps where they have one."""

    frame: FrameSpec

    def inside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what is inside of values that are frames."""
        values = cast("pa.BinaryArray", batch.column("value"))
        found = _Values(values)
        rows = np.arange(len(values))
        header, body = _lengths(self.frame, found, rows)
        begins = self.frame.fixed + header
        columns: dict[str, Any] = {name: batch.column(name) for name in ("offset", "timestamp", "key")}
        if self.frame.timestamp is not None:
            columns["timestamp"] = pa.array(timestamps_of(self.frame.timestamp, values), pa.int64())
        if self.frame.type.column is not None:
            columns["type"] = pa.array(found.numbers(self.frame.type.at, self.frame.type.bytes, rows), pa.int64())
        columns["value"] = _parts(values, begins, begins + body)
        if self.frame.header is not None and self.frame.header.row_schema is not None:
            columns[HEAD] = _parts(values, np.full(len(values), self.frame.fixed), begins)
        return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, slots=True)
class NumberRows:
    """Rows of one column, of numbers that frames have. What is no instant of a calendar is refused."""

    type: Any
    """Of the column."""

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        numbers = batch.column("value").to_numpy(zero_copy_only=False)
        bad = np.zeros(len(numbers), np.bool_)
        if pa.types.is_timestamp(self.type):
            bad = (numbers < _FIRST_MS) | (numbers > _LAST_MS)
        column = pa.array(numbers[~bad], pa.int64()).cast(self.type)
        rows = pa.StructArray.from_arrays([column], names=["number"])
        if not bad.any():
            return Parsed(rows)
        refused = np.flatnonzero(bad)
        reasons, fields = pa.repeat(_OVERFLOW, len(refused)), pa.nulls(len(refused), pa.string())
        return Parsed(rows, Refused(refused, _OVERFLOW, reasons, fields))


def _parts(values: pa.BinaryArray, begins: Int64s, ends: Int64s) -> pa.BinaryArray:
    return native.parts(values, pa.array(begins, pa.int64()), pa.array(ends, pa.int64()))
