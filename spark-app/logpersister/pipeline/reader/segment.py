"""Reads objects of format ``kafka`` back: the record batches of one range (`formats.kafka.write`)."""

import sys
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from isal import isal_zlib

from logpersister.formats.damage import ContentError
from logpersister.formats.kafka.write import CHECKSUM
from logpersister.pipeline.reader.decode import DEFAULT_MAX_BATCH_BYTES, CorruptBatchError, decode, heads_of
from logpersister.ranges import Offset

LAST: Final = sys.maxsize
"""End of a range that has none; larger than every offset."""
_DECODED_BYTES: Final = 4 << 20


class Segment:
    """The records of one object, of which only those within a range are its own."""

    def __init__(
        self, pieces: Iterable[bytes], start: Offset, end: Offset, most: int = DEFAULT_MAX_BATCH_BYTES
    ) -> None:
        """Read nothing yet; `most`: bytes of a record batch, as it is stored and decompressed."""
        self._pieces, self._start, self._end, self._most = pieces, start, end, most
        self._checksum = 0
        self._rest = b""
        self._needed = 0
        """Bytes of the record batch that `_rest` begins with, as far as it is known."""

    @property
    def checksum(self) -> str:
        """The checksum of what has been read, as facts have it."""
        return f"{CHECKSUM}{self._checksum:08x}"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records, columns of `records.schema.RECORDS_WITH_HEADERS`. Raises `ContentError`."""
        waiting: list[bytes] = []
        for piece in self._pieces:
            waiting.append(piece)
            if sum(map(len, waiting)) >= self._needed:
                self._rest = b"".join(waiting)
                yield from self._decoded()
                waiting = [self._rest]
            if self._needed > self._most:
                raise ContentError(f"a record batch in it has {self._needed} bytes, or its length is wrong")
        if size := sum(map(len, waiting)):
            raise ContentError(f"the last {size} bytes of it are no whole record batch of its range")

    def _decoded(self) -> Iterator[pa.RecordBatch]:
        view, used, self._needed = memoryview(self._rest), 0, 0
        while used < len(view):
            try:
                found = decode(
                    view[used:],
                    self._start,
                    self._end,
                    read_committed=False,
                    headers=True,
                    max_bytes=_DECODED_BYTES,
                    max_batch_bytes=self._most,
                )
            except CorruptBatchError as error:
                raise ContentError(str(error)) from None
            self._needed = found.cut_off_bytes or 0
            if not found.bytes_used:
                break
            for head in heads_of(view[used : used + found.bytes_used]):
                self._checksum = isal_zlib.crc32(head, self._checksum)
            used += found.bytes_used
            if found.batch.num_rows:
                yield found.batch
        self._rest = self._rest[used:]
