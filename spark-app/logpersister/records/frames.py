"""Frames: numbers at fixed places of values, and the body behind them, for whole batches at once."""

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.formats import binary
from logpersister.manifest.blocks.frame import LENGTH_BYTES, FrameSpec, NumberAt
from logpersister.records.keyed_rows import HEAD
from logpersister.values.reading.parsers import Parsed, Refused

Int64s = npt.NDArray[np.int64]

NUMBER_RULES: Final = 1
"""Raise it when the numbers of frames become other columns than before."""
_FIRST_MS: Final = -62_135_596_800_000
_LAST_MS: Final = 253_402_300_799_999
"""Range of instants: the years 1 to 9999, as in all columns (``spark-app/native/src/rows/time.rs``)."""
_OVERFLOW: Final = "overflow"
"""Why others are refused, as that module has it."""


def types_of(frame: FrameSpec, values: pa.BinaryArray) -> "pa.Array[Any]":
    """Return the type of each value as bytes of its decimal digits; null where the value is no frame."""
    numbers = _numbers(values, frame.type.at, frame.type.bytes)
    encoded: Any = cast("Any", pa.array(numbers, pa.int64(), mask=~_are_frames(frame, values))).dictionary_encode()
    names = pa.array([str(one).encode() for one in encoded.dictionary.to_pylist()], pa.binary())
    return pa.DictionaryArray.from_arrays(encoded.indices, names)


def timestamps_of(at: NumberAt, values: pa.BinaryArray) -> Int64s:
    """Return the timestamp in each of some values that are frames."""
    return _numbers(values, at.at, at.bytes)


def _are_frames(frame: FrameSpec, values: pa.BinaryArray) -> npt.NDArray[np.bool_]:
    """Return which values are frames: the lengths in them say how long they are."""
    lengths = binary.lengths(values)
    header, body = _lengths(frame, values)
    are_frames: npt.NDArray[np.bool_] = lengths >= frame.fixed
    are_frames &= (header >= 0) & (body >= 0) & (frame.fixed + header + body == lengths)
    if values.null_count:
        are_frames &= values.is_valid().to_numpy(zero_copy_only=False)
    return are_frames


def _lengths(frame: FrameSpec, values: pa.BinaryArray) -> tuple[Int64s, Int64s]:
    body = _numbers(values, frame.body.length_at, LENGTH_BYTES)
    if frame.header is None:
        return np.zeros_like(body), body
    return _numbers(values, frame.header.length_at, LENGTH_BYTES), body


def _numbers(values: pa.BinaryArray, at: int, width: int) -> Int64s:
    return cast("Int64s", native.numbers(values, at=at, width=width).to_numpy(zero_copy_only=True))


@dataclass(frozen=True, slots=True)
class FrameBodies:
    """The bodies of frames, their headers, and their timestamps where they have one."""

    frame: FrameSpec

    def inside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what is inside of values that are frames."""
        values = cast("pa.BinaryArray", batch.column("value"))
        header, body = _lengths(self.frame, values)
        begins = self.frame.fixed + header
        columns: dict[str, Any] = {name: batch.column(name) for name in ("offset", "timestamp", "key")}
        if self.frame.timestamp is not None:
            columns["timestamp"] = pa.array(timestamps_of(self.frame.timestamp, values), pa.int64())
        if self.frame.type.column is not None:
            columns["type"] = pa.array(_numbers(values, self.frame.type.at, self.frame.type.bytes), pa.int64())
        columns["value"] = _parts(values, begins, begins + body)
        if self.frame.header is not None and self.frame.header.row_schema is not None:
            columns[HEAD] = _parts(values, np.full(len(values), self.frame.fixed), begins)
        return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, slots=True)
class NumberRows:
    """Rows of one column, of numbers that frames have. What is no instant of a calendar is refused."""

    type: Any

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
