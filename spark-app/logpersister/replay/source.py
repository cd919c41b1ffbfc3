"""The records of an object in quarantine, read back as the reader of Kafka gave them."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import IO, Final, Protocol, Self

import pyarrow as pa

from logpersister.formats.avro import read as avro_read
from logpersister.formats.damage import ContentError, damage_told
from logpersister.formats.orc import read as orc_read
from logpersister.formats.parquet import read as parquet_read
from logpersister.formats.sequencefile import read as sequencefile_read
from logpersister.formats.spooled import spooled
from logpersister.pipeline.summary import Summary
from logpersister.replay import lines_source
from logpersister.replay.lines_source import LinesRecords
from logpersister.replay.row_source import RowRecords, SequenceRecords
from logpersister.replay.source_error import SourceError
from logpersister.storage.replays import Source

MOST_ROWS: Final = 8192


class Records(Protocol):
    """Content of a file, if its format keeps all of a record: offset, time, key, and the value as it was."""

    has_headers: bool

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""


_FORMATS: Final[Mapping[str, Callable[[IO[bytes], str], Records]]] = {
    parquet_read.EXTENSION: lambda file, _: RowRecords(parquet_read.ParquetRows(file)),
    orc_read.EXTENSION: lambda file, _: RowRecords(orc_read.OrcRows(file)),
    avro_read.EXTENSION: lambda file, _: RowRecords(avro_read.AvroRows(file)),
    sequencefile_read.EXTENSION: lambda file, _: SequenceRecords(sequencefile_read.SequenceRows(file)),
    **dict.fromkeys(lines_source.EXTENSIONS, LinesRecords),
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
