"""Summary of the records of an object, made while they go by."""

import pyarrow as pa

from logpersister.ranges import Offset
from logpersister.records.checksum import PayloadChecksum


class Summary:
    """Summary of the records of one path of a range."""

    def __init__(self) -> None:
        self.records = 0
        self._first: Offset = -1
        self._last: Offset = -1
        self._tombstones = 0
        self._checksum = PayloadChecksum()

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in the next records; at least one."""
        offsets = batch.column("offset")
        if self.records == 0:
            self._first = offsets[0].as_py()
        self._last = offsets[-1].as_py()
        self.records += batch.num_rows
        self._tombstones += batch.column("value").null_count
        self._checksum.update(batch)

    def facts(self, unexplained: int = 0) -> dict[str, str]:
        """Return what stands with the object; ``unexplained`` offsets are told where there are some."""
        facts = {
            "first": str(self._first),
            "last": str(self._last),
            "records": str(self.records),
            "tombstones": str(self._tombstones),
            "checksum": self._checksum.text(),
            "payload": "{}-{}".format(*self._checksum.sizes),
        }
        return facts | ({"unexplained": str(unexplained)} if unexplained else {})
