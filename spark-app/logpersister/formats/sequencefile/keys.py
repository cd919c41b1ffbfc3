"""The two key layouts of Secor's SequenceFiles, serialized as Hadoop's writables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.binary import Integers
from logpersister.formats.sequencefile import cells
from logpersister.formats.sequencefile.cells import Cells

_FIELD_OFFSET: Final = 0x01
_FIELD_KEY: Final = 0x02
_FIELD_TIMESTAMP: Final = 0x03
_MAP: Final = 0x80
"""A MessagePack map of up to 15 entries, the count in the low bits."""

KeyLayout = Literal["longwritable", "messagepack"]
_WRITABLES: Final[Mapping[KeyLayout, str]] = {"longwritable": "LongWritable", "messagepack": "BytesWritable"}


def class_name(key: KeyLayout) -> str:
    """Return the class of keys: the offset, or bytes of the MessagePack map ``{1: offset, 3: timestamp, 2: key}``."""
    return f"org.apache.hadoop.io.{_WRITABLES[key]}"


@dataclass(frozen=True, slots=True)
class SerializedKeys:
    """A serialized key is its cells in ``head``, then its value in ``tail``."""

    lengths: Integers
    head: tuple[Cells, ...]
    tail: pa.BinaryArray | None
    """Last cell of each key, without nulls. None: all are empty."""

    def data(self) -> pa.Buffer:
        """Return all keys end to end."""
        head = cells.joined(self.head)
        return binary.interleave([head] if self.tail is None else [head, self.tail])


def serialized(key: KeyLayout, batch: pa.RecordBatch) -> SerializedKeys:
    """Return the keys of a batch as they stand in the file."""
    if key == "messagepack":
        return _messagepack(batch)
    offset = binary.integers(batch, "offset")
    return SerializedKeys(np.full(len(offset), 8, np.int64), (cells.big_endian(offset, 8),), None)


def _messagepack(batch: pa.RecordBatch) -> SerializedKeys:
    rows = batch.num_rows
    offset = cells.shortest(binary.integers(batch, "offset"), cells.MESSAGEPACK_INTEGER)
    timestamp = cells.shortest(binary.integers(batch, "timestamp"), cells.MESSAGEPACK_INTEGER)
    key = binary.column(batch, "key")
    present = key.is_valid().to_numpy(zero_copy_only=False)
    packed: list[Cells] = [
        Cells((present.view(np.uint8) + np.uint8(_MAP | 2)).reshape(rows, 1), 1),
        cells.constant(bytes([_FIELD_OFFSET]), rows),
        offset,
        cells.constant(bytes([_FIELD_TIMESTAMP]), rows),
        timestamp,
    ]
    tail = None
    lengths = cells.total_lengths(packed, rows)
    if key.null_count < rows:
        tail = binary.empty_for_null(key)
        key_lengths = binary.lengths(tail)
        header = [
            cells.constant(bytes([_FIELD_KEY]), rows),
            cells.shortest(key_lengths, cells.MESSAGEPACK_BINARY_HEADER),
        ]
        if key.null_count:
            header = [column.where(present) for column in header]
        packed += header
        lengths += cells.total_lengths(header, rows) + key_lengths
    return SerializedKeys(lengths + 4, (cells.big_endian(lengths, 4), *packed), tail)
