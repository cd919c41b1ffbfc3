"""Arrow binary arrays as numpy sees them, and the few operations that encoders share: none loops over records."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]

SLICE_BYTES: Final = 2 * 1024 * 1024
"""Payload of the slices that encoders work on. Smaller ones cost more calls (a fifth more at half of it), larger ones
hardly less but memory: an encoder makes up to three copies of a slice. Has no influence on the bytes of objects."""

BYTES_PER_ROW: Final = 64
"""Added per record when slices are cut, so that a million empty records are not one slice."""


def column(batch: pa.RecordBatch, name: str) -> pa.BinaryArray:
    return cast("pa.BinaryArray", batch.column(name))


def integers(batch: pa.RecordBatch, name: str) -> Integers:
    """Return a column of integers, which has no nulls, without copying."""
    return cast("Integers", batch.column(name).to_numpy(zero_copy_only=True))


def empty_for_null(array: pa.BinaryArray) -> pa.BinaryArray:
    """Return ``array`` with nulls turned into empty values; the same array when it has none."""
    return cast("pa.BinaryArray", pc.fill_null(cast("Any", array), b"")) if array.null_count else array


def offsets(array: pa.BinaryArray) -> npt.NDArray[np.int32]:
    """Return the ``len(array) + 1`` positions in the data buffer between which the values lie."""
    buffer = array.buffers()[1]
    if buffer is None or buffer.size == 0:  # an empty array need not have offsets
        return np.zeros(1, np.int32)
    return np.frombuffer(memoryview(buffer), np.int32, len(array) + 1, array.offset * 4)


def lengths(array: pa.BinaryArray) -> Integers:
    """Return the length in bytes of each value."""
    ends = offsets(array)
    return (ends[1:] - ends[:-1]).astype(np.int64)  # np.diff is slower for few values


def data(array: pa.BinaryArray) -> pa.Buffer:
    """Return all values of ``array``, end to end, without copying. The array must have no nulls."""
    buffer = array.buffers()[2]
    if buffer is None:
        return pa.py_buffer(b"")
    positions = offsets(array)
    return buffer.slice(int(positions[0]), int(positions[-1] - positions[0]))


def from_numpy(positions: npt.NDArray[Any], content: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """Return the array whose value ``i`` is ``content[positions[i]:positions[i + 1]]``."""
    buffers = [None, *(pa.py_buffer(cast("Any", part)) for part in (positions.astype(np.int32, copy=False), content))]
    return cast("pa.BinaryArray", pa.Array.from_buffers(pa.binary(), len(positions) - 1, buffers))


def interleave(columns: Sequence[pa.BinaryArray]) -> pa.Buffer:
    """Return all rows end to end, a row being its values in all ``columns`` end to end. No column has nulls."""
    if len(columns) == 1:
        return data(columns[0])
    rows = len(columns[0])
    indices = np.empty((rows, len(columns)), np.int32)
    for index in range(len(columns)):
        indices[:, index] = np.arange(index * rows, (index + 1) * rows, dtype=np.int32)
    stacked = cast("Any", pa.concat_arrays(columns))
    return data(pc.take(stacked, cast("Any", pa.array(indices.ravel())), boundscheck=False))


def slices(batch: pa.RecordBatch, max_bytes: int = SLICE_BYTES) -> Iterator[pa.RecordBatch]:
    """Cut ``batch``, without copying, into slices of about ``max_bytes`` in binary columns or less, or one row."""
    rows = batch.num_rows
    binaries = [offsets(column(batch, field.name)) for field in batch.schema if pa.types.is_binary(field.type)]
    if rows and rows * BYTES_PER_ROW + sum(int(each[-1]) - int(each[0]) for each in binaries) <= max_bytes:
        yield batch
        return
    ends = np.arange(1, rows + 1, dtype=np.int64) * BYTES_PER_ROW
    for positions in binaries if rows else ():
        ends += positions[1:].astype(np.int64) - int(positions[0])
    start = 0
    while start < rows:
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + max_bytes, side="right")))
        yield batch.slice(start, stop - start)
        start = stop


def without_nulls(batch: pa.RecordBatch, tombstones: Literal["skip", "empty"]) -> pa.RecordBatch:
    """Return a batch whose values are not null; the same batch if none is.

    `skip` leaves records with a null value out. `empty` gives them an empty value.
    """
    value = column(batch, "value")
    if value.null_count == 0:
        return batch
    if tombstones == "skip":
        return batch.filter(value.is_valid())
    index = batch.schema.get_field_index("value")
    return batch.set_column(index, batch.schema.field(index), empty_for_null(value))
