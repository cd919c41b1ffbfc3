"""Records of a quarantine in files of rows, or in SequenceFiles, as the reader of Kafka gave them."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from logpersister.formats.file_rows import FileRows
from logpersister.formats.orc.read import OrcRows
from logpersister.formats.sequencefile.read import SequenceRows
from logpersister.records.schema import RECORDS
from logpersister.replay.file_columns import KEPT_HEADERS, TIMESTAMP, chosen, records_of
from logpersister.replay.source_error import REMEDY, SourceError

_MILLISECONDS: Final = pa.timestamp("ms", "UTC")


class RowRecords:
    """The records of a file with columns."""

    def __init__(self, rows: FileRows) -> None:
        """Take a file. Raises LookupError for one that is no quarantine."""
        self._rows = rows
        self._columns = chosen(rows.schema.names)
        self.has_headers = KEPT_HEADERS in self._columns

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`. Raises ValueError where their times are not known."""
        for batch in self._rows.batches(most_rows, self._columns):
            columns = {name: batch.column(name) for name in self._columns}
            if isinstance(self._rows, OrcRows):
                _require_known(columns[TIMESTAMP])
            yield records_of({**columns, TIMESTAMP: columns[TIMESTAMP].cast(_MILLISECONDS)})


def _require_known(times: Any) -> None:
    """Raise ValueError for instants before 1970: ORC has whole seconds of them, whatever the record had."""
    earliest = pc.min(times.cast(pa.int64())).as_py()
    if earliest is not None and earliest < 0:
        raise ValueError("a record in it is from before 1970, where ORC keeps whole seconds only")


class SequenceRecords:
    """The records of a SequenceFile with keys of MessagePack."""

    has_headers = False

    def __init__(self, rows: SequenceRows) -> None:
        """Take a file. Raises SourceError for one of offsets only."""
        if rows.schema is not RECORDS:
            raise SourceError(f"its keys are offsets only (spec.output.sequencefile.key: longwritable); {REMEDY}")
        self._rows = rows

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""
        return self._rows.batches(most_rows)
