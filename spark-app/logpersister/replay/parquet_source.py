"""Records of a quarantine in Parquet, as the reader of Kafka gave them."""

from collections.abc import Iterator
from typing import IO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.replay.file_columns import KEPT_HEADERS, chosen, records_of

EXTENSION: Final = ".parquet"


class ParquetRecords:
    """The records of a file. Memory: one batch of a row group, which members cut at about 32 MiB."""

    def __init__(self, file: IO[bytes], _: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and what pyarrow raises."""
        self._file = pq.ParquetFile(file, page_checksum_verification=True)
        self._columns = chosen(self._file.schema_arrow.names)
        self.has_headers = KEPT_HEADERS in self._columns

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""
        for group in range(self._file.num_row_groups):  # one by one: a batch across two would need both
            for batch in self._file.iter_batches(most_rows, row_groups=[group], columns=self._columns):
                yield records_of({name: batch.column(name) for name in self._columns})
