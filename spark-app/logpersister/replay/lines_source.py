"""Records of a quarantine in JSON lines, as the reader of Kafka gave them (docs/formats.md has the format)."""

from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import pyarrow as pa

from logpersister.formats.damage import ContentError
from logpersister.formats.jsonl.read import LINE_FEED, document, kept_records
from logpersister.formats.lines import whole_lines
from logpersister.records.schema import REASON
from logpersister.replay.file_columns import COLUMNS, KEPT_HEADERS

EXTENSIONS: Final = {".jsonl": "none", ".jsonl.gz": "gzip", ".jsonl.zst": "zstd"}
"""And the compression of each."""
READ_BYTES: Final = 64 << 10
MOST_BYTES: Final = 16 << 20
"""Lines that become records at once; each of them may be longer."""


class LinesRecords:
    """The records of a file. Memory: the lines of a batch, and what they become."""

    def __init__(self, file: IO[bytes], extension: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and `ContentError`."""
        self._file = file
        self._compression = next(EXTENSIONS[one] for one in EXTENSIONS if extension.endswith(one))
        first = next(self._documents(), None)
        if first is None:
            raise ContentError("it has no lines")
        missing = [name for name in (*COLUMNS, REASON) if not {name, f"{name}_base64"} & first[0].keys()]
        if missing:
            raise LookupError(missing[0])
        self.has_headers = KEPT_HEADERS in first[0]
        """Where they are kept, a record without any has an empty list."""

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""
        some: list[Mapping[str, Any]] = []
        size = 0
        for one, length in self._documents():
            if some and (len(some) == most_rows or size + length > MOST_BYTES):
                yield kept_records(some)
                some, size = [], 0
            some.append(one)
            size += length
        yield kept_records(some)

    def _documents(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        """Yield the lines from the first one on, and how long each is."""
        self._file.seek(0)
        pieces = iter(lambda: self._file.read(READ_BYTES), b"")
        for lines in whole_lines(self._compression, pieces, LINE_FEED):
            for line in lines:
                yield document(line), len(line)
