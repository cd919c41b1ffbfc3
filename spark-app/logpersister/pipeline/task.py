"""The Spark task: writes one range after the other, each with an outcome of its own.

Runs in Spark's Python workers, which live longer than a task: connections to Kafka and S3 are kept per revision.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from logpersister.formats.base import Encoders
from logpersister.pipeline.arrivals import NoteArrivals
from logpersister.pipeline.dry_run import DryRun, OtherRulesError
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.open_object import OpenUpload
from logpersister.pipeline.persist import RangeWriter, TooManyRefusedError
from logpersister.pipeline.range_results import RangeResults
from logpersister.pipeline.reader import RangeRead, RangeReadError, ReadRequest
from logpersister.pipeline.room import Room
from logpersister.pipeline.source import Reading
from logpersister.pipeline.splitting import joined
from logpersister.pipeline.verbatim import VerbatimWriter
from logpersister.pipeline.work import RangeOutcome, RangeWork, WorkError
from logpersister.ranges import Range
from logpersister.records.topic_layout import TopicLayout
from logpersister.registry.errors import RegistryError
from logpersister.storage.errors import StorageError

MOST_UNFINISHED = 32
"""Ranges whose last bytes may still be on their way while further ones are read."""
MOST_UNFINISHED_BYTES = 64 << 20
"""Most payload bytes of unfinished ranges, which bounds what waits in memory."""

RECEIPTS_AT_ONCE = 16

GATHERED_BYTES = 32 << 20
"""Records that are split by their types at once: each type then has enough of them for what a batch costs."""


class Topic(Protocol):
    """`compiled.topic.CompiledTopic`, as far as a task needs it."""

    @property
    def layout(self) -> TopicLayout: ...

    @property
    def formats(self) -> Encoders: ...

    @property
    def is_verbatim(self) -> bool: ...

    def layout_at(self, horizon: int | None) -> TopicLayout: ...


@dataclass(frozen=True, slots=True)
class TaskResources:
    """Everything that ranges of a revision are written with."""

    reader: Reading
    topic: Topic
    open_upload: OpenUpload
    room: Room
    """Memory for the range that is being written."""
    dry_runs: Callable[[Sequence[RangeWork]], Mapping[Range, DryRun]] | None = None
    """Gives those ranges a dry run that must be compared before they are written. None: the rules of the revision are
    those of this build, so that there is nothing to compare."""
    note_arrivals: NoteArrivals | None = None
    """None: the revision finishes no folders."""
    leave_receipt: Callable[[RangeResults], None] | None = None
    """Puts the receipt of a range, or notes of its folders, once its objects are there; None: no table needs them."""
    leave_note: Callable[[RangeResults], None] | None = None
    """Puts the note of a range whose records are all left out; None: there are no notes."""
    event_times: EventTimes | None = None
    """None: the revision finishes no folders by the times of a field."""


Writer = RangeWriter | VerbatimWriter

_LEAVING: Final = ThreadPoolExecutor(RECEIPTS_AT_ONCE, thread_name_prefix="receipt")


class _Unfinished:
    """A range whose last bytes, or whose receipt or note, are on their way."""

    def __init__(self, writer: RangeResults, resources: TaskResources) -> None:
        self.writer = writer
        self._note_arrivals = resources.note_arrivals
        leave = [resources.leave_receipt, resources.leave_note if writer.is_left_out else None]
        # Waits for the objects, too: so no small range holds up the next one for the time of a request.
        self._leaving = [_LEAVING.submit(one, writer) for one in leave if one is not None]

    @property
    def ready(self) -> bool:
        return all(one.done() for one in self._leaving) if self._leaving else self.writer.ready

    def outcome(self) -> RangeOutcome:
        """Return the outcome; waits until all is there."""
        writer = self.writer
        try:
            objects, quarantined = writer.objects(), writer.quarantined()
            if self._note_arrivals is not None:
                self._note_arrivals(writer.work, objects)
            for one in self._leaving:
                one.result()
        except Exception as error:
            return RangeOutcome(writer.work.range, seconds=writer.seconds, error=work_error(error))
        return RangeOutcome(
            writer.work.range,
            objects,
            writer.counts.payload_bytes,
            writer.seconds,
            quarantined=quarantined,
            unexplained=writer.unexplained,
            dropped=writer.counts.dropped,
            types=writer.counts.types,
            adjusted=dict(writer.counts.adjusted),
            late=writer.counts.late,
            newest=writer.counts.newest,
        )


class Task:
    """One execution of a list of ranges."""

    def __init__(self, work: Sequence[RangeWork], resources: TaskResources) -> None:
        self._resources = resources
        self._left = {_read_range(item): item for item in work}
        self._dry_runs: dict[Range, DryRun] = {}
        self._unfinished: deque[_Unfinished] = deque()

    def outcomes(self) -> Iterator[RangeOutcome]:
        """Write every range; yields one outcome for each, whatever happens.

        A first pass reads all ranges; those whose objects have no room in memory at once are read again, and so are
        those that were compared in the first one.
        """
        try:
            if self._resources.dry_runs is not None:
                self._dry_runs.update(self._resources.dry_runs(tuple(self._left.values())))
            writers = {range_: self._writer(item) for range_, item in self._left.items()}
            while writers:
                again: dict[Range, Writer] = {}
                for read in self._resources.reader.read([_request(writer.work) for writer in writers.values()]):
                    writer = writers[read.range]
                    yield from self._one_pass(read, writer, again)
                    yield from self._finished()
                writers = again
            yield from self._finished(all_of_them=True)
        except Exception as error:  # not of one range: none of those left could be written
            for item in self._left.values():
                yield RangeOutcome(item.range, error=work_error(error))

    def _writer(self, item: RangeWork) -> Writer:
        of = self._resources
        if of.topic.is_verbatim:
            return VerbatimWriter(item, of.open_upload)
        layout = of.topic.layout_at(item.horizon)
        return RangeWriter(item, layout, of.topic.formats, of.open_upload, of.room, item.hold_above, of.event_times)

    def _one_pass(self, read: RangeRead, writer: Writer, again: dict[Range, Writer]) -> Iterator[RangeOutcome]:
        target = self._dry_runs.pop(writer.work.range, writer)
        try:
            if isinstance(target, VerbatimWriter):
                for batches in read.verbatim():
                    target.write(batches)
            else:
                for batch in gathered(read.batches()) if self._resources.topic.layout.has_types else read.batches():
                    target.write(batch)
            if target.end_pass(read.unexplained):
                again[read.range] = writer
            else:
                self._unfinished.append(_Unfinished(writer, self._resources))
        except Exception as error:
            writer.abort()
            del self._left[read.range]
            yield RangeOutcome(writer.work.range, seconds=writer.seconds, error=work_error(error))

    def _finished(self, *, all_of_them: bool = False) -> Iterator[RangeOutcome]:
        """Yield the outcomes of ranges that are durable; waits only when too much is unfinished."""
        while self._unfinished:
            waiting_bytes = sum(one.writer.counts.payload_bytes for one in self._unfinished)
            too_much = len(self._unfinished) > MOST_UNFINISHED or waiting_bytes > MOST_UNFINISHED_BYTES
            if not (all_of_them or too_much or self._unfinished[0].ready):
                return
            unfinished = self._unfinished.popleft()
            del self._left[_read_range(unfinished.writer.work)]
            yield unfinished.outcome()


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches in larger ones."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= GATHERED_BYTES:
            whole = joined(waiting)
            waiting, size = [], 0
            del batch  # so that nothing of the smaller ones stays in memory while the large one is used
            yield whole
    if waiting:
        yield joined(waiting)


def work_error(error: Exception) -> WorkError:
    """Return an error as the driver counts and shows it."""
    if isinstance(error, RangeReadError):
        return WorkError(error.kind, str(error), log_start=error.log_start)
    if isinstance(error, StorageError):
        return WorkError(error.kind, str(error), upload=True)
    if isinstance(error, RegistryError):
        return WorkError("registry", str(error))
    if isinstance(error, TooManyRefusedError):
        return WorkError("too-many-refused", str(error))
    if isinstance(error, OtherRulesError):
        return WorkError("other-rules", str(error))
    return WorkError("encode", f"{type(error).__name__}: {error}")


def _read_range(work: RangeWork) -> Range:
    return Range(work.range.partition, work.read_from, work.range.end)


def _request(work: RangeWork) -> ReadRequest:
    return ReadRequest(_read_range(work), work.estimated_bytes, work.topic_id, work.backup)
