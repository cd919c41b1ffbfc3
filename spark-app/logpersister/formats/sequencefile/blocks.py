"""SequenceFiles in compressed blocks.

A block is a sync marker, the number of records, and four buffers, each compressed by itself and preceded by its
compressed length: the lengths of the keys, the keys, the lengths of the values, the values. All numbers outside of keys
and values are Hadoop's variable-length integers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import Bytes
from logpersister.formats.binary import Integers
from logpersister.formats.compression import deflate
from logpersister.formats.sequencefile import cells
from logpersister.formats.sequencefile.keys import serialized
from logpersister.formats.sequencefile.layout import SYNC_ESCAPE, Boundaries
from logpersister.formats.sequencefile.settings import SequenceFileSpec

BLOCK_BYTES: Final = 1_000_000
"""Serialized keys and values of a block before compression, Hadoop's default (``io.seqfile.compress.blocksize``)."""


class Blocks:
    """`sequencefile.layout.Body` of the block-compressed layout. Holds back the records of the block that has begun."""

    def __init__(self, settings: SequenceFileSpec, marker: bytes) -> None:
        self._settings = settings
        self._sync = SYNC_ESCAPE + marker
        self._blocks = Boundaries(BLOCK_BYTES)
        self._block = _Block()

    def records(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        keys = serialized(self._settings.key, batch)
        values = binary.column(batch, "value")
        prefix = cells.big_endian(binary.lengths(values), 4)
        serialized_keys = _Column.of(keys.lengths, keys.data())
        serialized_values = _Column.of(binary.lengths(values) + 4, binary.interleave([cells.joined([prefix]), values]))
        begin = 0
        for row in [*self._blocks.find(serialized_keys.lengths + serialized_values.lengths), batch.num_rows]:
            if row > begin:
                self._block.add(serialized_keys.rows(begin, row), serialized_values.rows(begin, row))
            if row < batch.num_rows:
                yield from self.rest()
            begin = row

    def rest(self) -> Iterator[Bytes]:
        block, self._block = self._block, _Block()
        if block.keys:
            yield self._sync
            yield from block.compressed()


@dataclass(frozen=True, slots=True)
class _Column:
    """The serialized keys, or values, of consecutive records."""

    lengths: Integers
    content: memoryview

    @staticmethod
    def of(lengths: Integers, content: pa.Buffer) -> "_Column":
        return _Column(lengths, memoryview(content))

    def rows(self, begin: int, end: int) -> "_Column":
        before = int(self.lengths[:begin].sum())
        size = int(self.lengths[begin:end].sum())
        return _Column(self.lengths[begin:end], self.content[before : before + size])


@dataclass(slots=True)
class _Block:
    """The records of one block, in the pieces in which they came."""

    keys: list[_Column] = field(default_factory=list)
    values: list[_Column] = field(default_factory=list)

    def add(self, keys: _Column, values: _Column) -> None:
        self.keys.append(keys)
        self.values.append(values)

    def compressed(self) -> Iterator[bytes]:
        yield _variable_integer(sum(len(column.lengths) for column in self.keys))
        for columns in (self.keys, self.values):
            lengths = np.concatenate([column.lengths for column in columns])
            for buffer in (
                _variable_integers(lengths),
                b"".join([column.content for column in columns]),
            ):
                compressed = deflate(buffer)
                yield _variable_integer(len(compressed))
                yield compressed


def _variable_integers(integers: Integers) -> pa.Buffer:
    return binary.data(cells.joined([cells.shortest(integers, cells.HADOOP_VARIABLE_INTEGER)]))


def _variable_integer(integer: int) -> bytes:
    return _variable_integers(np.array([integer])).to_pybytes()
