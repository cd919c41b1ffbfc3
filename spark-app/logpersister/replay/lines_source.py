"""Records of a quarantine in JSON lines, as the reader of Kafka gave them (docs/formats.md has the format)."""

from collections.abc import Iterator
from itertools import chain
from typing import IO, Final

import pyarrow as pa

from logpersister.formats.damage import ContentError
from logpersister.formats.jsonl.read import LINE_FEED, batches_of, document
from logpersister.formats.lines import whole_lines
from logpersister.records.schema import REASON
from logpersister.replay.file_columns import COLUMNS, KEPT_HEADERS

EXTENSIONS: Final = {".jsonl": "none", ".jsonl.gz": "gzip", ".jsonl.zst": "zstd"}
"""And the compression of each."""
READ_BYTES: Final = 64 << 10


class LinesRecords:
    """The records of a file. Memory: the lines of a batch, and what they become."""

    def __init__(self, file: IO[bytes], extension: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and `ContentError`."""
        self._file = file
        self._compression = next(EXTENSIONS[one] for one in EXTENSIONS if extension.endswith(one))
        line = next(self._lines(), None)
        if line is None:
            raise ContentError("it has no lines")
        first = document(line)
        missing = [name for name in (*COLUMNS, REASON) if not {name, f"{name}_base64"} & first.keys()]
        if missing:
            raise LookupError(missing[0])
        self.has_headers = KEPT_HEADERS in first
        """Where they are kept, a record without any has an empty list."""

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""
        return batches_of(self._lines(), most_rows)

    def _lines(self) -> Iterator[bytes]:
        self._file.seek(0)
        pieces = iter(lambda: self._file.read(READ_BYTES), b"")
        return chain.from_iterable(whole_lines(self._compression, pieces, LINE_FEED))
