"""Writes one range as its record batches stand in Kafka (format ``kafka``).

A batch that reaches over an end of the range is stored whole, in the objects of both ranges: so the offset never moves
over a record that is not stored. Facts count what is within the range, and readers take no more.
"""

from collections.abc import Iterator

from isal import isal_zlib

from logpersister.formats.kafka.write import CHECKSUM
from logpersister.pipeline.open_object import Finishing, OpenUpload, Upload
from logpersister.pipeline.range_results import RangeResults
from logpersister.pipeline.reader.decode import Selected
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Offset


class VerbatimWriter(RangeResults):
    """Writes one range in one pass; used like `persist.RangeWriter`, of which it has the results."""

    def __init__(self, work: RangeWork, open_upload: OpenUpload) -> None:
        super().__init__(work)
        self._open_upload = open_upload
        self._upload: Upload | None = None
        self._first: Offset = -1
        self._last: Offset = -1
        self._checksum = 0

    @property
    def is_left_out(self) -> bool:
        """Whether nothing is stored. A backup notes it: else the range looked like one whose object has gone."""
        return not self.counts.records

    def write(self, batches: Selected) -> None:
        """Take in the next record batches of the range."""
        if not batches.records:
            return
        if self._upload is None:
            self._upload, self._first = self._open_upload(self.work, ""), batches.first
        self._last = batches.last
        self._checksum = isal_zlib.crc32(batches.heads, self._checksum)
        self.counts.records += batches.records
        for piece in _released(batches.pieces):
            self.counts.payload_bytes += len(piece)
            self._upload.write(piece)

    def end_pass(self, unexplained: int = 0) -> bool:
        """Finish the object; return False: there is no further pass."""
        self.unexplained = unexplained
        if self._upload is not None:
            facts = {
                "first": str(self._first),
                "last": str(self._last),
                "records": str(self.counts.records),
                "checksum": f"{CHECKSUM}{self._checksum:08x}",
            } | ({"unexplained": str(unexplained)} if unexplained else {})
            stored = self._upload.finish_async(facts)
            self._finishing.append(Finishing("", stored, self.counts.records, table_facts=None))
            self._upload = None
        return False

    def abort(self) -> None:
        """Give up: nothing of an object becomes visible."""
        if self._upload is not None:
            self._upload.abort()
            self._upload = None


def _released(pieces: tuple[memoryview, ...]) -> Iterator[memoryview | bytes]:
    """Yield the same; copies of what is the smaller part of a response, which it would keep in memory as a whole."""
    for piece in pieces:
        whole = piece.obj
        yield bytes(piece) if isinstance(whole, bytearray | bytes) and len(piece) * 2 < len(whole) else piece
