"""Frames: numbers at fixed places of values, and the body behind them, for whole batches at once."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.formats import binary
from logpersister.manifest.frame import LENGTH_BYTES, FrameSpec, NumberAt
from logpersister.records.keyed_rows import HEAD

Int64s = npt.NDArray[np.int64]


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
    """Return the lengths of header and body that values have."""
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
        columns["value"] = _parts(values, begins, begins + body)
        if self.frame.header is not None and self.frame.header.row_schema is not None:
            columns[HEAD] = _parts(values, np.full(len(values), self.frame.fixed), begins)
        return pa.RecordBatch.from_pydict(columns)


def _parts(values: pa.BinaryArray, begins: Int64s, ends: Int64s) -> pa.BinaryArray:
    return native.parts(values, pa.array(begins, pa.int64()), pa.array(ends, pa.int64()))
