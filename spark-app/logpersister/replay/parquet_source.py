"""Records of a quarantine in Parquet, as the reader of Kafka gave them."""

from collections.abc import Iterator
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.records.schema import HEADERS, RECORDS, RECORDS_WITH_HEADERS

EXTENSION: Final = ".parquet"
_COLUMNS: Final = {"offset": "kafka_offset", "timestamp": "kafka_timestamp", "key": "kafka_key", "value": "value"}
_HEADERS: Final = "kafka_headers"


class ParquetRecords:
    """The records of a file. Memory: one batch of a row group, which members cut at about 32 MiB."""

    def __init__(self, file: IO[bytes], _: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and what pyarrow raises."""
        self._file = pq.ParquetFile(file, page_checksum_verification=True)
        names = self._file.schema_arrow.names
        missing = [name for name in _COLUMNS.values() if name not in names]
        if missing:
            raise LookupError(missing[0])
        self.has_headers = _HEADERS in names

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""
        columns = [*_COLUMNS.values(), *([_HEADERS] if self.has_headers else [])]
        for group in range(self._file.num_row_groups):  # one by one: a batch across two would need both
            for batch in self._file.iter_batches(most_rows, row_groups=[group], columns=columns):
                yield self._records(batch)

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
