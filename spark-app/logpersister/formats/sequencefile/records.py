"""SequenceFiles record by record: uncompressed, or with each value compressed by itself.

A record is the length of key and value, the length of the key, the key, the value.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import Bytes
from logpersister.formats.binary import Integers
from logpersister.formats.compression import deflate
from logpersister.formats.sequencefile import cells
from logpersister.formats.sequencefile.cells import Cells
from logpersister.formats.sequencefile.keys import serialized
from logpersister.formats.sequencefile.layout import SYNC_ESCAPE, Boundaries
from logpersister.formats.sequencefile.settings import SequenceFileSpec

SYNC_INTERVAL: Final = 100 * 1024
"""Bytes of records between two sync markers, Hadoop's default. A split begins to read at a marker."""


class Records:
    """`sequencefile.layout.Body` of the uncompressed and the record-compressed layout."""

    def __init__(self, settings: SequenceFileSpec, marker: bytes) -> None:
        self._settings = settings
        self._sync = SYNC_ESCAPE + marker
        self._syncs = Boundaries(SYNC_INTERVAL)

    def records(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        keys = serialized(self._settings.key, batch)
        values = binary.column(batch, "value")
        value_head = [cells.big_endian(binary.lengths(values), 4)]
        if self._settings.compressed:
            values, value_head = _each_compressed(value_head, values), []
        lengths = keys.lengths + cells.total_lengths(value_head, batch.num_rows) + binary.lengths(values)
        head = [cells.big_endian(lengths, 4), cells.big_endian(keys.lengths, 4), *keys.head]
        if keys.tail is None:
            columns = [cells.joined([*head, *value_head]), values]
        else:
            columns = [cells.joined(head), keys.tail, *(cells.joined([column]) for column in value_head), values]
        return self._with_syncs(binary.interleave(columns), lengths + 8)

    def rest(self) -> Iterator[Bytes]:
        return iter(())

    def _with_syncs(self, records: pa.Buffer, lengths: Integers) -> Iterator[Bytes]:
        ends = np.cumsum(lengths)
        begin = 0
        for row in self._syncs.find(lengths):
            position = int(ends[row] - lengths[row])
            if position > begin:
                yield records.slice(begin, position - begin)
            yield self._sync
            begin = position
        yield records.slice(begin)


def _each_compressed(head: Sequence[Cells], values: pa.BinaryArray) -> pa.BinaryArray:
    """Compress each serialized value by itself: the one loop over records in the formats.

    There is no vectorised way to it: every value is a zlib stream of its own. A call costs at least 4 µs, so that block
    compression is the better choice wherever the reader has one.
    """
    content = memoryview(binary.interleave([cells.joined(head), values]))
    ends = np.cumsum(cells.total_lengths(head, len(values)) + binary.lengths(values)).tolist()
    return pa.array([deflate(content[begin:end]) for begin, end in pairwise([0, *ends])], pa.binary())
