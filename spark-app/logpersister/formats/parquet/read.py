"""The rows of Parquet files, by pyarrow."""

from collections.abc import Iterator, Sequence
from typing import IO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.formats.damage import damage_told

EXTENSION: Final = ".parquet"
_FILE: Final = "Parquet file"


class ParquetRows:
    """`formats.file_rows.FileRows` of Parquet. Memory: one batch of a row group, which members cut at about 32 MiB."""

    def __init__(self, file: IO[bytes], *, reads_ahead: bool = True) -> None:
        """Open a file; `reads_ahead`: whether whole column chunks may be read of which not all is asked for."""
        with damage_told(_FILE):
            self._file = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=reads_ahead)
            self.schema = self._file.schema_arrow
            self.metadata = self._file.metadata

    def batches(self, most_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for group in range(self.metadata.num_row_groups):  # one by one: a batch across two would need both
            yield from self._read(most_rows, group, columns)

    def groups(self) -> Iterator[pa.RecordBatch]:
        """Yield each row group as a whole."""
        for group in range(self.metadata.num_row_groups):
            yield from self._read(max(1, self.metadata.row_group(group).num_rows), group, None)

    def _read(self, most_rows: int, group: int, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        named = None if columns is None else [*columns]
        with damage_told(_FILE):
            yield from self._file.iter_batches(most_rows, row_groups=[group], columns=named, use_threads=False)
