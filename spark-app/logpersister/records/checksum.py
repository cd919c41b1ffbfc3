"""A checksum over the payloads of a range that does not depend on how the records are cut into batches.

Two streams per column: the payload bytes, and the lengths as little-endian int32 with -1 for null. With the lengths,
records that share their bytes differently, and null and empty payloads, have different checksums.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from isal import isal_zlib

_COLUMNS = ("value", "key")


class PayloadChecksum:
    """The running checksum of the batches seen so far; CRC-32 (of zlib, computed by ISA-L at memory speed)."""

    __slots__ = ("_crcs", "_sizes")

    def __init__(self) -> None:
        self._crcs = {(column, stream): 0 for column in _COLUMNS for stream in ("bytes", "lengths")}
        self._sizes = dict.fromkeys(_COLUMNS, 0)

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of `batch`, which follow those added before. Columns of `records.schema`."""
        for column in _COLUMNS:
            payloads, lengths = _streams(batch.column(column))
            self._sizes[column] += payloads.nbytes
            self._add(column, "bytes", payloads)
            self._add(column, "lengths", lengths)

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of all values and of all keys: what it takes to join this checksum to another (records.combination)."""
        return self._sizes["value"], self._sizes["key"]

    def text(self) -> str:
        """Return ``crc32:<value bytes>-<value lengths>-<key bytes>-<key lengths>``, 8 hex digits each."""
        return "crc32:" + "-".join(f"{crc:08x}" for crc in self._crcs.values())

    def _add(self, column: str, stream: str, data: memoryview) -> None:
        self._crcs[column, stream] = isal_zlib.crc32(data, self._crcs[column, stream])


def _streams(array: "pa.Array[Any]") -> tuple[memoryview, memoryview]:
    """Return the payload bytes and the lengths of a binary array, looking only at its own part of shared buffers."""
    if len(array) == 0:
        return memoryview(b""), memoryview(b"")
    if array.null_count == len(array):
        return memoryview(b""), _little_endian(np.full(len(array), -1, np.int32))
    ends = _ends(array)
    lengths = ends[1:] - ends[:-1]
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if np.any(lengths[~valid]):  # Arrow allows garbage bytes behind a null
            payloads, _ = _streams(pc.drop_null(array))
            return payloads, _little_endian(np.where(valid, lengths, -1))
        lengths = np.where(valid, lengths, -1)
    data = array.buffers()[2]
    payloads = memoryview(data)[int(ends[0]) : int(ends[-1])] if data is not None else memoryview(b"")
    return payloads, _little_endian(lengths)


def _ends(array: "pa.Array[Any]") -> npt.NDArray[np.int32]:
    """Return the len + 1 positions between the payloads of `array` in its data buffer."""
    offsets = array.buffers()[1]
    assert offsets is not None, "a binary array with rows has offsets"
    return np.frombuffer(memoryview(offsets), np.int32, count=len(array) + 1, offset=4 * array.offset)


def _little_endian(lengths: npt.NDArray[np.integer[Any]]) -> memoryview:
    return lengths.astype("<i4", copy=False).data.cast("B")
