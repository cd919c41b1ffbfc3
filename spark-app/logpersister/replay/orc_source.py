"""Records of a quarantine in ORC, as the reader of Kafka gave them."""

from collections.abc import Iterator
from io import IOBase
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from logpersister.pipeline.splitting import joined
from logpersister.replay.file_columns import KEPT_HEADERS, TIMESTAMP, chosen, records_of
from logpersister.replay.unclosed import Unclosed

EXTENSION: Final = ".orc"
_ROWS: Final = 128
"""Rows read at once: nothing tells before how large they are."""
_BYTES: Final = 4 << 20
"""Bytes of rows handed on at once."""


class OrcRecords:
    """The records of a file. Memory: one batch, and 64 KiB of each stream of a stripe."""

    def __init__(self, file: IO[bytes], _: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and what pyarrow raises."""
        self._file = file
        self._columns = chosen(self._fragment().physical_schema.names)
        self.has_headers = KEPT_HEADERS in self._columns

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`. Raises ValueError where their times are not known."""
        read = self._fragment().to_batches(
            columns=self._columns,
            batch_size=min(most_rows, _ROWS),
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in read:
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows + _ROWS > most_rows or size >= _BYTES:
                yield self._records(joined(waiting))
                waiting, rows, size = [], 0, 0
        if waiting:
            yield self._records(joined(waiting))

    def _records(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = {name: batch.column(name) for name in self._columns}
        return records_of({**columns, TIMESTAMP: _milliseconds(columns[TIMESTAMP])})

    def _fragment(self) -> Any:
        self._file.seek(0)
        file: Any = pa.PythonFile(cast("IOBase", Unclosed(self._file)), mode="r")
        return ds.OrcFileFormat().make_fragment(file)


def _milliseconds(times: Any) -> Any:
    """Return numbers of milliseconds. Before 1970 the file has whole seconds only, whatever the record had."""
    found = times.cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
    earliest = pc.min(found).as_py()
    if earliest is not None and earliest < 0:
        raise ValueError("a record in it is from before 1970, where ORC keeps whole seconds only")
    return found
