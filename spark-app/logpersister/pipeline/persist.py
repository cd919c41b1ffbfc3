"""Writes one range: record batches are spread over partition paths, encoded, and uploaded.

Memory: at most `MOST_OPEN_OBJECTS` objects of a range are open. Paths beyond that are left to a further *pass* over the
same range, because Kafka is the buffer; a pass opens other paths until none is left.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import Bytes, Encoder, Format, ObjectIdentity
from logpersister.pipeline.summary import Summary
from logpersister.pipeline.work import ObjectWritten, RangeWork
from logpersister.ranges import Offset
from logpersister.records.escaping import QUARANTINE
from logpersister.records.paths import Assignment, Indices, Layout
from logpersister.records.schema import FIELD, REASON, ROW
from logpersister.report.facts import Quarantined
from logpersister.storage.object_requests import StoredObject

MOST_OPEN_OBJECTS = 8


class Upload(Protocol):
    """One object on its way into the bucket."""

    def write(self, data: Bytes) -> None: ...

    def finish_async(self, facts: Mapping[str, str]) -> Future[StoredObject]:
        """Make the object durable and visible; the facts are known only now."""

    def abort(self) -> None: ...


OpenUpload = Callable[[RangeWork, str], Upload]
"""Opens the object of a range and a partition path."""


@dataclass(frozen=True, slots=True)
class _Finishing:
    """An object whose last bytes are on their way."""

    path: str
    stored: Future[StoredObject]
    records: int

    def result(self) -> ObjectWritten:
        stored = self.stored.result()
        return ObjectWritten(stored.key, stored.bytes, self.records)


class _OpenObject:
    """The object of one path while records arrive."""

    def __init__(self, path: str, encoder: Encoder, upload: Upload) -> None:
        self._path = path
        self._encoder = encoder
        self._upload = upload
        self._summary = Summary()

    def add(self, batch: pa.RecordBatch) -> None:
        self._summary.update(batch)
        self._pass_on(self._encoder.encode(batch))

    def finish(self, unexplained: int) -> "_Finishing":
        self._pass_on(self._encoder.finish())
        stored = self._upload.finish_async(self._summary.facts(unexplained))
        return _Finishing(self._path, stored, self._summary.records)

    def abort(self) -> None:
        self._upload.abort()

    def _pass_on(self, pieces: Iterable[Bytes]) -> None:
        for piece in pieces:
            self._upload.write(piece)


class RangeWriter:
    """Writes one range in one or more passes.

    Usage: `write` every batch of the range, then `end_pass`; while that returns True read the range again from its
    start and do the same. Then `objects` and `quarantined`. On any error `abort`.
    """

    def __init__(self, work: RangeWork, layout: Layout, file_format: Format, open_upload: OpenUpload) -> None:
        self.work = work
        self._layout = layout
        self._format = file_format
        self._open_upload = open_upload
        self._open: dict[str, _OpenObject] = {}
        self._ended: set[str] = set()
        self._left_over = False
        self._first_pass = True
        self._finishing: list[_Finishing] = []
        self._first_refused: tuple[Offset, str] | None = None
        """Its offset, and why."""
        self._started = time.monotonic()
        self.payload_bytes = 0
        self.unexplained = 0
        """See `RangeOutcome`."""

    def write(self, batch: pa.RecordBatch) -> None:
        if self._first_pass:
            self.payload_bytes += _payload_bytes(batch)
        if batch.num_rows == 0:
            return
        assignment = self._layout.assign(batch)
        if assignment.refused is not None and self._first_refused is None:
            first = batch.column("offset")[int(assignment.refused.rows[0])].as_py()
            self._first_refused = first, assignment.refused.reason
        for path, part in by_path(batch, assignment):
            target = self._object(path)
            if target is not None:
                target.add(part)

    def _object(self, path: str) -> _OpenObject | None:
        found = self._open.get(path)
        if found is None and path not in self._ended:
            if len(self._open) >= MOST_OPEN_OBJECTS:
                self._left_over = True
                return None
            encoder = self._format.encoder(ObjectIdentity(self.work.range, path))
            found = self._open[path] = _OpenObject(path, encoder, self._open_upload(self.work, path))
        return found

    def end_pass(self, unexplained: int = 0) -> bool:
        """Finish the objects of this pass; return whether paths are left for another one.

        Args:
            unexplained: offsets at the end of the range for which this pass has met only silence.
        """
        self.unexplained = max(self.unexplained, unexplained)
        while self._open:
            path = next(iter(self._open))
            self._finishing.append(self._open[path].finish(unexplained))
            del self._open[path]
            self._ended.add(path)
        left_over, self._left_over, self._first_pass = self._left_over, False, False
        return left_over

    def objects(self) -> tuple[ObjectWritten, ...]:
        """Wait until every object is durable; raises the first storage error."""
        return tuple(finishing.result() for finishing in self._finishing)

    def quarantined(self) -> Quarantined | None:
        """Return what the parser refused; waits, too, and raises as `objects` does."""
        finishing = next((one for one in self._finishing if one.path == QUARANTINE), None)
        if finishing is None or self._first_refused is None:  # compaction may take a record between two passes
            return None
        stored = finishing.result()
        return Quarantined(stored.key, stored.records, *self._first_refused)

    @property
    def ready(self) -> bool:
        """Whether `objects` would answer at once."""
        return all(finishing.stored.done() for finishing in self._finishing)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def abort(self) -> None:
        """Give up: nothing of the open objects becomes visible. Finished ones are what will be written anyway."""
        for open_object in self._open.values():
            open_object.abort()
        self._open.clear()


def by_path(batch: pa.RecordBatch, assignment: Assignment) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each path, in offset order, with what the parser says of them (columns of `records.schema`)."""
    refused = assignment.refused
    if refused is None:
        yield from _grouped(_with_rows(batch, assignment.rows), assignment.paths, assignment.indices)
        return
    if len(assignment.paths) > 1:
        good = assignment.indices != len(assignment.paths) - 1
        accepted = _with_rows(batch.filter(pa.array(good, pa.bool_())), assignment.rows)
        yield from _grouped(accepted, assignment.paths[:-1], assignment.indices[good])
    bad = batch.take(refused.rows)
    yield QUARANTINE, bad.append_column(REASON, refused.reasons).append_column(FIELD, refused.fields)


def _with_rows(batch: pa.RecordBatch, rows: pa.StructArray | None) -> pa.RecordBatch:
    return batch if rows is None else batch.append_column(ROW, rows)


def _grouped(batch: pa.RecordBatch, paths: Sequence[str], indices: Indices) -> Iterator[tuple[str, pa.RecordBatch]]:
    if len(paths) == 1:
        yield paths[0], batch
        return
    ordered = batch.take(np.argsort(indices, kind="stable"))
    begin = 0
    for path, rows in zip(paths, np.bincount(indices, minlength=len(paths)), strict=True):
        if rows:
            yield path, ordered.slice(begin, int(rows))
            begin += int(rows)


def _payload_bytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of keys and values; the reader's batches have none behind a null."""
    ends = (binary.offsets(binary.column(batch, name)) for name in ("key", "value"))
    return sum(int(each[-1] - each[0]) for each in ends)
