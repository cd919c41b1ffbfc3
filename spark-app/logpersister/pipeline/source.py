"""Where records of ranges come from: Kafka, a backup, or Kafka and before that a backup.

The seam between planning and reading is the same for all of them: ranges in, record batches out. Which source gives
the records of a range changes nothing of what is written.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NoReturn, Protocol, Self

import pyarrow as pa

from logpersister.backup.ranges import Piece
from logpersister.formats.damage import ContentError
from logpersister.formats.text.settings import TextSpec
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.backup_content import records_of
from logpersister.pipeline.reader import KafkaReader, RangeRead, RangeReadError, ReadRequest
from logpersister.ranges import Offset, Range
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore, open_store


class Pace:
    """Bytes that one task may read in a second. What it did not read before does not count: there are no bursts."""

    def __init__(
        self,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_second
        self._clock, self._sleep = clock, sleep
        self._free_at = float("-inf")

    def spend(self, size: int) -> None:
        """Take note of bytes that were read; return when the next may be."""
        now = self._clock()
        self._free_at = max(self._free_at, now) + size / self._rate
        self._sleep(self._free_at - now)


class Reading(Protocol):
    """A reader of ranges."""

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[RangeRead]: ...


@dataclass(frozen=True, slots=True)
class ReplaySource:
    """The source of a replay; free of secrets, so that tasks can have it."""

    backup: StorageSpec | None
    """Bucket of the backup; None: Kafka alone is read."""
    kafka: bool
    """Whether Kafka is asked first; what it has deleted is then read from the backup."""
    bytes_per_second: int | None = None
    """Bytes of records, as they are in memory, that all tasks of the process may read in a second; None: any."""
    text: tuple[tuple[str, TextSpec], ...] = ()
    """How lines of the backup are to be understood, by topic, where its format is text."""

    def shared_by(self, tasks: int) -> Self:
        """Return the source of one of some tasks that run at once."""
        rate = self.bytes_per_second
        return self if rate is None else replace(self, bytes_per_second=max(1, rate // tasks))

    def over(self, reader: KafkaReader) -> "SourceReader":
        """Return a reader for ranges that `reader` would read from Kafka."""
        pace = None if self.bytes_per_second is None else Pace(self.bytes_per_second)
        store = None if self.backup is None else _store(self.backup)
        return SourceReader(reader, store, kafka=self.kafka, pace=pace, text=dict(self.text))


class SourceReader:
    """Reads ranges from Kafka as far back as it reaches, and from a backup before that. For one thread at a time."""

    def __init__(
        self,
        reader: KafkaReader,
        backup: ObjectStore | None,
        *,
        kafka: bool,
        pace: Pace | None = None,
        text: Mapping[str, TextSpec] | None = None,
    ) -> None:
        self._text = {} if text is None else text
        self._reader = reader
        self._behind = reader.another()
        """Reads on behind what a backup has, while ranges of the first reader are under way."""
        self._backup = backup
        self._kafka = kafka
        self._pace = pace

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[RangeRead]:
        """Yield the ranges in an order of its own, as `KafkaReader.read` does."""
        if not self._kafka:
            yield from (_SourceRange(self, request, None) for request in requests)
            return
        by_range = {request.range: request for request in requests}
        for read in self._reader.read(requests):
            yield _SourceRange(self, by_range[read.range], read)

    def paced(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches no faster than the source may be read: who is not asked for more, fetches no more."""
        for batch in batches:
            if self._pace is not None:
                self._pace.spend(batch.nbytes)
            yield batch

    def close(self) -> None:
        """Close the connections that the reader of Kafka does not have. The reader can be used again afterwards."""
        self._behind.close()

    def from_kafka(self, request: ReadRequest) -> Iterator[RangeRead]:
        """Yield one range as Kafka has it."""
        return self._behind.read([request])

    def from_backup(self, request: ReadRequest, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        """Yield the records of ``[start, end)``. Raises RangeReadError, and StorageError where the bucket fails."""
        wanted = Range(request.range.partition, start, end)
        if request.backup is None:
            raise _hole(wanted, f"Kafka has deleted {wanted}, and no backup was named")
        hole = request.backup.first_hole(start, end)
        if hole is not None:
            raise _hole(hole, f"the backup has no object with {hole}")
        for piece in request.backup.within(start, end):
            yield from self._records(piece)

    def _records(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        key, range_ = piece.object.key, piece.range
        assert self._backup is not None  # who has no backup has no pieces
        text = self._text.get(range_.partition.topic, TextSpec())
        try:
            with closing(self._backup.read(key)) as content:
                yield from records_of(piece, content, text, headers=self._reader.settings.headers)
        except ContentError as error:
            raise RangeReadError("corrupt", range_.partition, range_.start, f"object {key!r}: {error}") from None
        except StorageError as error:
            if error.code != "NoSuchKey":
                raise
            raise _hole(range_, f"object {key!r} of the backup was deleted") from None


class _SourceRange:
    """A range of which each record comes from one source."""

    def __init__(self, source: SourceReader, request: ReadRequest, read: RangeRead | None) -> None:
        self.range = request.range
        self._source, self._request, self._read = source, request, read
        self.unexplained = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._source.paced(self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._read is None:
            yield from self._source.from_backup(self._request, self.range.start, self.range.end)
            return
        position = yield from self._attempt(self._read)
        while position < self.range.end:
            rest = replace(self._request, range=Range(self.range.partition, position, self.range.end))
            for read in self._source.from_kafka(rest):
                position = yield from self._attempt(read)

    def verbatim(self) -> NoReturn:
        """Refuse: no replay stores record batches as they are."""
        raise NotImplementedError(f"{self.range}: record batches of a backup are copied, not replayed")

    def _attempt(self, read: RangeRead) -> Generator[pa.RecordBatch, None, Offset]:
        """Yield what Kafka has, and from the backup what it has deleted; return up to where."""
        try:
            yield from read.batches()
        except RangeReadError as error:
            if error.kind != "data-lost" or error.log_start is None:
                raise
            start, log_start = error.offset, error.log_start
        else:
            self.unexplained = read.unexplained
            return self.range.end
        until = self._until(start, log_start)
        yield from self._source.from_backup(self._request, start, until)
        return until

    def _until(self, start: Offset, log_start: Offset) -> Offset:
        """Return up to where to read the backup: as far as it goes, so that Kafka need not be asked once more."""
        end, found = self.range.end, self._request.backup
        hole = None if found is None else found.first_hole(start, end)
        return end if found is not None and hole is None else min(end, log_start)


@lru_cache(maxsize=2)
def _store(storage: StorageSpec) -> ObjectStore:
    return open_store(storage, Secrets())


def _hole(missing: Range, problem: str) -> RangeReadError:
    return RangeReadError("hole", missing.partition, missing.start, problem)
