"""Common parts of the two SequenceFile layouts: file header, and where markers and blocks are due.

Source of the format: the class comment, ``Writer.writeFileHeader``, ``BlockCompressWriter.sync`` and ``Reader`` of
``org.apache.hadoop.io.SequenceFile``, version 6. `docs/formats.md` has the layout byte by byte.
"""

from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from logpersister.formats.base import Bytes
from logpersister.formats.binary import Integers
from logpersister.formats.sequencefile.keys import class_name
from logpersister.formats.sequencefile.settings import SequenceFileSpec

VALUE_CLASS: Final = "org.apache.hadoop.io.BytesWritable"
CODEC_CLASS: Final = "org.apache.hadoop.io.compress.DefaultCodec"

SYNC_ESCAPE: Final = b"\xff\xff\xff\xff"
"""Stands where the length of a record would, and announces a sync marker."""


class Body(Protocol):
    """Layout of the records behind the header."""

    def records(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        """Encode at least one record; no value is null."""

    def rest(self) -> Iterator[Bytes]:
        """Encode the records that are still held back."""


def header(settings: SequenceFileSpec, marker: bytes) -> bytes:
    """Return what a file begins with: version, class names, compression, no metadata, the sync marker."""
    return b"".join(
        [
            b"SEQ\x06",
            _text(class_name(settings.key)),
            _text(VALUE_CLASS),
            bytes([settings.compressed, settings.block_compressed]),
            _text(CODEC_CLASS) if settings.compressed else b"",
            bytes(4),  # number of metadata entries
            marker,
        ]
    )


def _text(ascii_name: str) -> bytes:
    """``Text.writeString``; lengths up to 127 are one byte."""
    return bytes([len(ascii_name)]) + ascii_name.encode("ascii")


class Boundaries:
    """Finds the records before which something is due: the first one at or after each multiple of ``interval``.

    Positions are counted in bytes of records from the first record of the object; nothing is due before that one.
    Hadoop's writer counts from the previous marker or block instead; this rule needs no loop over records, depends on
    the records alone, and keeps the distance within ``interval`` and one record.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._position = 0
        self._last = 0

    def find(self, lengths: Integers) -> list[int]:
        """Return the rows, ascending, among the next records, whose lengths are given; at least one."""
        ends = self._position + np.cumsum(lengths)
        multiple = (ends - lengths) // self._interval
        found = np.flatnonzero(np.diff(multiple, prepend=self._last))
        self._position, self._last = int(ends[-1]), int(multiple[-1])
        rows: list[int] = found.tolist()
        return rows
