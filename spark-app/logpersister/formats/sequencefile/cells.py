"""Columns of short byte strings, built without a loop over records: fixed fields, and integers in their shortest form.

A `Cells` column is a matrix of bytes, a row per record; only the first ``lengths[i]`` bytes of row ``i`` count.
MessagePack integers, MessagePack binary headers and Hadoop's variable-length integers are all the same thing, a tag
byte that tells how many big-endian bytes follow, so one function with three tables writes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.binary import Integers


@dataclass(frozen=True, slots=True)
class Cells:
    """Row ``i`` holds the bytes ``matrix[i, :lengths[i]]``."""

    matrix: npt.NDArray[np.uint8]
    lengths: Integers | int
    """An `int` when all rows are equally long; the matrix is then exactly that wide."""

    def mask(self) -> npt.NDArray[np.uint8]:
        """Return 1 for the bytes of the matrix that count, 0 for the others."""
        rows, width = self.matrix.shape
        counts = np.arange(width) < np.reshape(self.lengths, (-1, 1))
        return np.broadcast_to(counts.view(np.uint8), (rows, width))

    def where(self, keep: npt.NDArray[np.bool_]) -> "Cells":
        """Return the cells, empty where ``keep`` is false."""
        return Cells(self.matrix, np.where(keep, self.lengths, 0))


@dataclass(frozen=True, slots=True)
class IntegerClass:
    """Integers up to ``upper`` (and above the class before) are written as ``tag`` and ``width`` big-endian bytes."""

    upper: int
    tag: int | None
    """None: no tag byte."""
    width: int

    @property
    def length(self) -> int:
        return self.width + (self.tag is not None)


IntegerClasses = Sequence[IntegerClass]

MESSAGEPACK_INTEGER: Final[IntegerClasses] = (
    IntegerClass(-(1 << 31) - 1, 0xD3, 8),
    IntegerClass(-(1 << 15) - 1, 0xD2, 4),
    IntegerClass(-(1 << 7) - 1, 0xD1, 2),
    IntegerClass(-33, 0xD0, 1),
    IntegerClass(127, None, 1),  # negative and positive fixint
    IntegerClass((1 << 8) - 1, 0xCC, 1),
    IntegerClass((1 << 16) - 1, 0xCD, 2),
    IntegerClass((1 << 32) - 1, 0xCE, 4),
    IntegerClass((1 << 63) - 1, 0xCF, 8),
)
"""https://github.com/msgpack/msgpack/blob/master/spec.md, "int format family", the shortest form of each integer."""

MESSAGEPACK_BINARY_HEADER: Final[IntegerClasses] = (
    IntegerClass((1 << 8) - 1, 0xC4, 1),
    IntegerClass((1 << 16) - 1, 0xC5, 2),
    IntegerClass((1 << 32) - 1, 0xC6, 4),
)
"""Header of MessagePack's "bin format family": the length of a byte array, 0 or more."""

HADOOP_VARIABLE_INTEGER: Final[IntegerClasses] = (
    IntegerClass(127, None, 1),
    IntegerClass((1 << 8) - 1, 0x8F, 1),
    IntegerClass((1 << 16) - 1, 0x8E, 2),
    IntegerClass((1 << 24) - 1, 0x8D, 3),
    IntegerClass((1 << 31) - 1, 0x8C, 4),
)
"""``WritableUtils.writeVInt`` of integers from 0: a first byte of -113 to -116 says that 1 to 4 bytes follow."""


def constant(content: bytes, rows: int) -> Cells:
    """Return ``content`` in each row."""
    return Cells(np.broadcast_to(np.frombuffer(content, np.uint8), (rows, len(content))), len(content))


def big_endian(integers: npt.NDArray[Any], width: int) -> Cells:
    """Return the integers as two's complement of ``width`` bytes (4 or 8)."""
    return Cells(integers.astype(f">i{width}").view(np.uint8).reshape(len(integers), width), width)


def shortest(integers: Integers, classes: IntegerClasses) -> Cells:
    """Return each integer in the form of its class. There must be at least one."""
    eight = big_endian(integers, 8).matrix
    uppers = [integer_class.upper for integer_class in classes]
    lowest, highest = (int(index) for index in np.searchsorted(uppers, [integers.min(), integers.max()]))
    if lowest == highest:  # offsets, times and lengths of neighbours are nearly always of one class
        return Cells(_tagged(eight, classes[lowest]), classes[lowest].length)
    class_of = np.searchsorted(uppers, integers)
    matrix = np.zeros((len(integers), max(c.length for c in classes[lowest : highest + 1])), np.uint8)
    for index in range(lowest, highest + 1):
        rows = class_of == index
        matrix[rows, : classes[index].length] = _tagged(eight[rows], classes[index])
    return Cells(matrix, np.array([c.length for c in classes], np.int64)[class_of])


def _tagged(eight: npt.NDArray[np.uint8], integer_class: IntegerClass) -> npt.NDArray[np.uint8]:
    digits = eight[:, 8 - integer_class.width :]
    if integer_class.tag is None:
        return digits
    matrix = np.empty((len(eight), integer_class.length), np.uint8)
    matrix[:, 0] = integer_class.tag
    _rows(matrix[:, 1:])[:] = _rows(digits)
    return matrix


def _rows(matrix: npt.NDArray[np.uint8]) -> npt.NDArray[np.void]:
    """Return each row as one item, which numpy copies many times faster than a few single bytes."""
    return matrix.view(f"V{matrix.shape[1]}")[:, 0]


def _side_by_side(matrices: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    whole = np.empty((len(matrices[0]), sum(matrix.shape[1] for matrix in matrices)), np.uint8)
    position = 0
    for matrix in matrices:
        end = position + matrix.shape[1]
        _rows(whole[:, position:end])[:] = _rows(matrix)
        position = end
    return whole


def joined(columns: Sequence[Cells]) -> pa.BinaryArray:
    """Return one binary value per row: its cells in all ``columns``, end to end."""
    matrix = _side_by_side([column.matrix for column in columns])
    rows = len(matrix)
    positions = np.zeros(rows + 1, np.int64)
    np.cumsum(total_lengths(columns, rows), out=positions[1:])
    if all(isinstance(column.lengths, int) for column in columns):
        return binary.from_numpy(positions, matrix.ravel())
    return binary.from_numpy(positions, matrix[_side_by_side([column.mask() for column in columns]).view(bool)])


def total_lengths(columns: Sequence[Cells], rows: int) -> Integers:
    """Return the length of each row over all ``columns``."""
    total = np.zeros(rows, np.int64)
    for column in columns:
        total += column.lengths
    return total
