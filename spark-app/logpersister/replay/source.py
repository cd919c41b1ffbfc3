"""The records of an object in quarantine, read back as the reader of Kafka gave them."""

import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import IO, Any, Final, Self, cast

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.pipeline.summary import Summary
from logpersister.records.schema import HEADERS, RECORDS, RECORDS_WITH_HEADERS
from logpersister.storage.replays import Source

EXTENSION: Final = ".parquet"
"""Of objects that keep all of a record: its offset, its time, its key, and its value as it was."""
MOST_ROWS: Final = 8192
IN_MEMORY_BYTES: Final = 4 << 20
"""A larger object is put in a temporary file: a Parquet file is read from its end, and once for each pass."""
_COLUMNS: Final = {"offset": "kafka_offset", "timestamp": "kafka_timestamp", "key": "kafka_key", "value": "value"}
_HEADERS: Final = "kafka_headers"


class SourceError(Exception):
    """An object in quarantine that cannot be replayed; the message says why, and what can be done."""


class SourceRecords:
    """The records of one object; they may be read any number of times.

    Memory: one batch of a row group, which members cut at about 32 MiB.
    """

    def __init__(self, source: Source, file: IO[bytes], most_rows: int | None) -> None:
        """Open the content of an object. Raises SourceError."""
        self._source = source
        self._rows = min(MOST_ROWS, most_rows or MOST_ROWS)
        with _damage_told():
            self._file = pq.ParquetFile(file, page_checksum_verification=True)
        names = self._file.schema_arrow.names
        missing = [name for name in _COLUMNS.values() if name not in names]
        if missing:
            raise SourceError(f"it has no column {missing[0]}: it is no quarantine of logpersister")
        self.has_headers = _HEADERS in names

    @classmethod
    @contextmanager
    def read(cls, source: Source, pieces: Generator[bytes, None, None], most_rows: int | None = None) -> Iterator[Self]:
        """Read an object. Raises SourceError, and what reading raises.

        Args:
            source: what the records must be.
            pieces: the bytes of the object.
            most_rows: how many records a batch may have.
        """
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file, closing(pieces):
            for piece in pieces:
                file.write(piece)
            file.seek(0)
            yield cls(source, cast("IO[bytes]", file), most_rows)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`.

        Raises SourceError where the file is damaged, or at the end, when these were not the records of the source.
        """
        summary = Summary()
        columns = [*_COLUMNS.values(), *([_HEADERS] if self.has_headers else [])]
        with _damage_told():
            for group in range(self._file.num_row_groups):  # one by one: a batch across two would need both
                for batch in self._file.iter_batches(self._rows, row_groups=[group], columns=columns):
                    if batch.num_rows:
                        records = self._records(batch)
                        summary.update(records)
                        yield records
        facts, source = summary.facts(), self._source
        found = (facts["first"], facts["last"], facts["records"], facts["checksum"])
        if found != (str(source.first), str(source.last), str(source.records), source.checksum):
            raise SourceError(
                f"it holds {facts['records']} records from offset {facts['first']} on with checksum "
                f"{facts['checksum']}, where {source.records} from {source.first} on with {source.checksum} are "
                "expected: it is damaged, or was replaced meanwhile"
            )

    def _records(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        milliseconds: Any = batch.column("kafka_timestamp").cast(pa.int64())
        columns: list[pa.Array[Any]] = [
            batch.column("kafka_offset"),
            milliseconds.fill_null(-1),
            batch.column("kafka_key"),
            batch.column("value"),
        ]
        if not self.has_headers:
            return pa.RecordBatch.from_arrays(columns, schema=RECORDS)
        return pa.RecordBatch.from_arrays([*columns, batch.column(_HEADERS).cast(HEADERS)], schema=RECORDS_WITH_HEADERS)


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SourceError(f"it is no whole Parquet file ({reason})") from None
