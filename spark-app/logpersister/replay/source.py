"""The records of an object in quarantine, read back as the reader of Kafka gave them."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain
from typing import IO, Any, Final, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from logpersister.formats.avro import read as avro_read
from logpersister.formats.binary_file import spooled
from logpersister.formats.damage import ContentError, damage_told
from logpersister.formats.file_rows import FileRows
from logpersister.formats.jsonl.read import LINE_FEED, batches_of, document
from logpersister.formats.lines import whole_lines
from logpersister.formats.orc import read as orc_read
from logpersister.formats.orc.read import OrcRows
from logpersister.formats.parquet import read as parquet_read
from logpersister.formats.sequencefile import read as sequencefile_read
from logpersister.formats.sequencefile.read import SequenceRows
from logpersister.pipeline.summary import Summary
from logpersister.records.schema import HEADERS, REASON, RECORDS, RECORDS_WITH_HEADERS
from logpersister.storage.replays import Source

MOST_ROWS: Final = 8192
READ_BYTES: Final = 64 << 10
REMEDY: Final = (
    "while Kafka has its range, store it again in a higher generation. Set spec.quarantine.format to parquet "
    "for those to come"
)
"""Remedy for objects that do not keep all of a record."""
OFFSET, TIMESTAMP, KEY, VALUE = COLUMNS = ("kafka_offset", "kafka_timestamp", "kafka_key", "value")
"""Columns that each file has whose format keeps all of a record."""
KEPT_HEADERS: Final = "kafka_headers"
"""Column that a file has if headers are kept."""
_COMPRESSIONS: Final = {".jsonl": "none", ".jsonl.gz": "gzip", ".jsonl.zst": "zstd"}
"""Of files of lines, by extension (docs/formats.md has their format)."""
_MILLISECONDS: Final = pa.timestamp("ms", "UTC")


class SourceError(Exception):
    """An object in quarantine that cannot be replayed; the message says why, and what can be done."""


class Records(Protocol):
    """Content of a file, if its format keeps all of a record: offset, time, key, and the value as it was."""

    has_headers: bool

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""


class RowRecords:
    """The records of a file with columns."""

    def __init__(self, rows: FileRows) -> None:
        """Take a file. Raises LookupError for one that is no quarantine."""
        self._rows = rows
        self._columns = _chosen(rows.schema.names)
        self.has_headers = KEPT_HEADERS in self._columns

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`. Raises ValueError where their times are not known."""
        for batch in self._rows.batches(most_rows, self._columns):
            columns = {name: batch.column(name) for name in self._columns}
            if isinstance(self._rows, OrcRows):
                _require_known(columns[TIMESTAMP])
            yield _records_of({**columns, TIMESTAMP: columns[TIMESTAMP].cast(_MILLISECONDS)})


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


def _chosen(names: Collection[str]) -> list[str]:
    """Return which columns of a file are read. Raises LookupError where one is not there that quarantine has.

    Files of other records have no reason: a copy of one in quarantine would be stored once more.
    """
    missing = [name for name in (*COLUMNS, REASON) if name not in names]
    if missing:
        raise LookupError(missing[0])
    return [*COLUMNS, *([KEPT_HEADERS] if KEPT_HEADERS in names else [])]


def _records_of(columns: "Mapping[str, pa.Array[Any]]") -> pa.RecordBatch:
    """Return the rows of a file as records, with headers if it has them; times are milliseconds, or numbers of them."""
    milliseconds: Any = columns[TIMESTAMP].cast(pa.int64())
    found: list[pa.Array[Any]] = [columns[OFFSET], milliseconds.fill_null(-1), columns[KEY], columns[VALUE]]
    if KEPT_HEADERS not in columns:
        return pa.RecordBatch.from_arrays(found, schema=RECORDS)
    return pa.RecordBatch.from_arrays([*found, columns[KEPT_HEADERS].cast(HEADERS)], schema=RECORDS_WITH_HEADERS)


class LinesRecords:
    """The records of a file. Memory: the lines of a batch, and what they become."""

    def __init__(self, file: IO[bytes], extension: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and `ContentError`."""
        self._file = file
        self._compression = next(kind for one, kind in _COMPRESSIONS.items() if extension.endswith(one))
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


_FORMATS: Final[Mapping[str, Callable[[IO[bytes], str], Records]]] = {
    parquet_read.EXTENSION: lambda file, _: RowRecords(parquet_read.ParquetRows(file)),
    orc_read.EXTENSION: lambda file, _: RowRecords(OrcRows(file)),
    avro_read.EXTENSION: lambda file, _: RowRecords(avro_read.AvroRows(file)),
    sequencefile_read.EXTENSION: lambda file, _: SequenceRecords(SequenceRows(file)),
    **dict.fromkeys(_COMPRESSIONS, LinesRecords),
}


def keeps_all(extension: str) -> bool:
    """Whether objects with this extension keep all of a record."""
    return extension.endswith(tuple(_FORMATS))


class SourceRecords:
    """The records of one object; they may be read any number of times."""

    def __init__(self, source: Source, file: IO[bytes], most_rows: int) -> None:
        """Open the content of an object. Raises SourceError."""
        self._source = source
        self._rows = most_rows
        made = next(made for extension, made in _FORMATS.items() if source.path.endswith(extension))
        try:
            with _damage_told():
                self._records = made(file, source.path)
        except LookupError as error:
            raise SourceError(f"it has no column {error.args[0]}: it is no quarantine of logpersister") from None
        self.has_headers = self._records.has_headers

    @classmethod
    @contextmanager
    def read(cls, source: Source, pieces: Generator[bytes, None, None], most_rows: int = MOST_ROWS) -> Iterator[Self]:
        """Read an object. Raises SourceError, and what reading raises."""
        with closing(pieces), spooled(pieces) as file:
            yield cls(source, file, most_rows)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`.

        Raises SourceError where the file is damaged, or at the end, when these were not the records of the source.
        """
        summary = Summary()
        with _damage_told():
            for batch in self._records.batches(self._rows):
                if batch.num_rows:
                    summary.update(batch)
                    yield batch
        facts, source = summary.facts(), self._source
        found = (facts["first"], facts["last"], facts["records"], facts["checksum"])
        if found != (str(source.first), str(source.last), str(source.records), source.checksum):
            raise SourceError(
                f"it holds {facts['records']} records from offset {facts['first']} on with checksum "
                f"{facts['checksum']}, where {source.records} from {source.first} on with {source.checksum} are "
                "expected: it is damaged, or was replaced meanwhile"
            )


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        with damage_told("file"):
            yield
    except ContentError as error:
        raise SourceError(f"it cannot be read to its end: {error}") from None
