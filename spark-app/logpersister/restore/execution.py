"""Produces what a plan says, some partitions at a time; resumable by what the target has.

Each batch is sent for the one offset that it is meant for (`record_batches.placed`). So a batch whose outcome is not
known is sent again, by this process or by the next: brokers append it once.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Final, Protocol

import pyarrow as pa
from kafka import errors

from logpersister.backoff import Backoff
from logpersister.backup.ranges import Piece
from logpersister.formats.damage import ContentError
from logpersister.formats.kafka.write import EXTENSION
from logpersister.formats.text.settings import TextSpec
from logpersister.pipeline.backup_content import records_of
from logpersister.ranges import Offset, TopicPartition
from logpersister.restore.plan import PartitionPlan, RestoreError, deleted
from logpersister.restore.record_batches import Batch, Producer, batches, behind, encoded, frames, placed, rows_of

PARTITIONS: Final = 16
"""Partitions that are restored at a time: an object of each is being read."""
IN_FLIGHT: Final = 5
"""Batches of a partition that are on their way: as many as brokers remember of a producer."""
IN_FLIGHT_BYTES: Final = 2 << 20
"""Bytes after which no further batch of a partition is sent until those before are answered."""
PATIENCE_SECONDS: Final = 120.0
"""Seconds that a partition may take without any progress."""
_BACKOFF: Final = Backoff(0.1, 5.0)
_OUT_OF_PLACE: Final = (errors.OutOfOrderSequenceNumberError, errors.DuplicateSequenceNumberError)
"""Errors of a batch that a broker has already, or to which the one before is missing."""
_TOO_LARGE: Final = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)

Answer = Offset | Exception
"""Offset that a batch got, or why it has none as far as is known."""
ReadObject = Callable[[str], Generator[bytes, None, None]]
Told = Callable[[TopicPartition, int], None]
"""Takes a partition of the target, and how many records it has."""


class Target(Protocol):
    """Where records go."""

    def spans(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, tuple[Offset, Offset]]:
        """Return first offset and end of each partition that can be asked now."""

    def last_record(self, partition: TopicPartition, end: Offset) -> pa.RecordBatch | None:
        """Return the record before the end, a row with headers; None: there is none at that offset.

        Raises KafkaError where it cannot be asked now.
        """

    def append(self, batches: Mapping[TopicPartition, Sequence[bytes]]) -> Mapping[TopicPartition, Sequence[Answer]]:
        """Send the batches of each partition in their order; return an answer for each."""


def restore(
    plans: Sequence[PartitionPlan],
    target: Target,
    producers: Mapping[str, Producer],
    read: ReadObject,
    told: Told,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Produce all records that the target does not have yet.

    Raises:
        RestoreError: the target is not what the plan takes it for, or refuses records.
        ContentError: an object of the backup is damaged.
        KafkaError: the target cannot be asked at the beginning.
        TimeoutError: the target does not answer; the same restore goes on where this one came to.
    """
    for plan in plans:
        check_stored(plan, plan.stored, target, read)
    waiting, active, failures = deque(plans), list[_PartitionRestore](), 0
    positions: dict[TopicPartition, Offset] = {}
    while waiting or active:
        while waiting and len(active) < PARTITIONS:
            active.append(_PartitionRestore(waiting.popleft(), target, read, clock))
        unsure = [one for one in active if one.is_unsure]
        failures = failures + 1 if unsure else 0
        if unsure:
            sleep(_BACKOFF.pause(failures))
            spans = target.spans([one.plan.target for one in unsure])
            for one in unsure:
                one.resume(spans.get(one.plan.target))
        for one in active:
            one.take()
            positions[one.plan.target] = one.position
        active = [one for one in active if one.sent or one.is_unsure]
        _exchange([one for one in active if one.sent], target, producers)
        for one in active:
            told(one.plan.target, one.position)
    _check_all_kept(positions, target, clock, sleep)


def _check_all_kept(
    positions: Mapping[TopicPartition, Offset],
    target: Target,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Look at all partitions once more: Kafka may have deleted records of one while others were restored."""
    left, failures, began = dict(positions), 0, clock()
    while left:
        for partition, span in target.spans(list(left)).items():
            _check_kept(partition, left.pop(partition), *span)
        if left and clock() - began > PATIENCE_SECONDS:
            raise TimeoutError(
                f"{min(left)}: no answer for {PATIENCE_SECONDS:g} s to whether all records are still there"
            )
        if left:
            failures += 1
            sleep(_BACKOFF.pause(failures))


def _check_kept(partition: TopicPartition, had: int, start: Offset, end: Offset) -> None:
    """Raise RestoreError unless a partition has all records that it had, by its first offset and its end."""
    gone = deleted(partition, start)
    if gone is not None:
        raise RestoreError(gone)
    if end < had:
        raise RestoreError(
            f"{partition}: it had {had} records and has {end} now: somebody has made the topic anew, or its brokers "
            "have lost them. Run it again"
        )


def _exchange(active: Sequence["_PartitionRestore"], target: Target, producers: Mapping[str, Producer]) -> None:
    if not active:
        return
    answers = target.append(
        {
            one.plan.target: [placed(batch, producers[one.plan.target.topic], offset) for offset, batch in one.sent]
            for one in active
        }
    )
    for one in active:
        one.settle(answers[one.plan.target])


class _PartitionRestore:
    def __init__(self, plan: PartitionPlan, target: Target, read: ReadObject, clock: Callable[[], float]) -> None:
        self.plan, self._target, self._read, self._clock = plan, target, read, clock
        self.sent: list[tuple[Offset, Batch]] = []
        """Batches that are on their way, each with the offset that it is to get."""
        self.is_unsure = False
        """Whether the target must be asked how far it is."""
        self.position: Offset = plan.stored
        """How many records are there."""
        self._left = _stream(plan.pieces, read, plan.stored)
        self._in_flight = 1
        self._progress_at = clock()

    def take(self) -> None:
        """Take the next batches; none are left: all are there.

        One at first: brokers take any sequence number of a producer that they do not know, so a second batch could come
        to stand where the first was lost.
        """
        self.sent, offset, size = [], self.position, 0
        if not self.is_unsure:
            for batch in islice(self._left, self._in_flight):
                self.sent.append((offset, batch))
                offset += batch.records
                size += len(batch.data)
                if size >= IN_FLIGHT_BYTES:
                    break

    def settle(self, answers: Sequence[Answer]) -> None:
        """Take in what became of them. Raises RestoreError and TimeoutError."""
        for (offset, batch), answer in zip(self.sent, answers, strict=True):
            if isinstance(answer, Exception):
                self._fail(answer)
                return
            if answer != offset:
                raise RestoreError(
                    f"{self.plan.target}: records got offset {answer} instead of {offset}: somebody else writes to the "
                    "topic. End that, make the topic anew and restore again"
                )
            self.position = offset + batch.records
            self._in_flight, self._progress_at = IN_FLIGHT, self._clock()

    def resume(self, span: tuple[Offset, Offset] | None) -> None:
        """Go on at the end of the target; None: it could not be asked. Raises RestoreError and TimeoutError."""
        if span is None:
            self._fail(errors.KafkaTimeoutError("its end is not known"))
            return
        _check_kept(self.plan.target, self.position, *span)
        end = span[1]
        try:
            check_stored(self.plan, end, self._target, self._read)
        except errors.KafkaError as error:
            self._fail(error)
            return
        self._left.close()
        self.position, self._left, self._in_flight = end, _stream(self.plan.pieces, self._read, end), 1
        self.is_unsure = False

    def _fail(self, error: Exception) -> None:
        may_pass = getattr(error, "retriable", True) or isinstance(error, _OUT_OF_PLACE)
        if not may_pass:
            raise RestoreError(
                f"{self.plan.target}: the target refuses records from offset {self.position} on ({error})"
                f"{_remedy(error)}"
            )
        if self._clock() - self._progress_at > PATIENCE_SECONDS:
            raise TimeoutError(f"{self.plan.target}: no progress for {PATIENCE_SECONDS:g} s ({error})")
        self.is_unsure = True


def _remedy(error: Exception) -> str:
    if isinstance(error, _TOO_LARGE):
        return "; set the topic's max.message.bytes to that of the source, and segment.bytes above it, and run it again"
    if isinstance(error, errors.TopicAuthorizationFailedError):
        return "; grant WRITE on the topic, and run it again"
    return ""


def check_stored(plan: PartitionPlan, stored: int, target: Target, read: ReadObject) -> None:
    """Raise RestoreError unless the last record of the target is the one that a restore has put there."""
    if not stored:
        return
    with closing(_stream(plan.pieces, read, stored - 1)) as left:
        batch = next(left, None)
    if batch is None:
        raise RestoreError(f"{plan.target}: it has {stored} records, more than the backup of {plan.source}")
    found = target.last_record(plan.target, stored)
    if found is None or _record(found) != _record(rows_of(batch)):
        raise RestoreError(
            f"{plan.target}: its last record, at offset {stored - 1}, is not the one that the backup of {plan.source} "
            "has there: the topic has other records. Restore into an empty one (--rename)"
        )


def _record(rows: pa.RecordBatch) -> object:
    """Return all of the first record but its offset."""
    [row] = rows.slice(0, 1).to_pylist()
    return {name: value for name, value in row.items() if name != "offset"}


def _stream(pieces: Sequence[Piece], read: ReadObject, stored: int) -> Generator[Batch, None, None]:
    """Yield the records of pieces as batches, without as many as are stored; skips whole objects by their facts."""
    for piece in pieces:
        if piece.is_whole and stored >= piece.object.records:
            stored -= piece.object.records
            continue
        for batch in _counted(piece, read):
            if stored >= batch.records:
                stored -= batch.records
            else:
                yield from behind(batch, stored)
                stored = 0


def _counted(piece: Piece, read: ReadObject) -> Iterator[Batch]:
    """Yield the records of a piece. Raises `ContentError` when they are not as many as the object has said."""
    found = 0
    with closing(read(piece.object.key)) as content:
        try:
            for batch in _batches(piece, content):
                found += batch.records
                yield batch
        except ContentError as error:
            raise ContentError(f"{piece.object.key}: {error}") from None
    if piece.is_whole and found != piece.object.records:
        told = f"it has {found} records of its range, and its facts say {piece.object.records}"
        raise ContentError(f"{piece.object.key}: {told}")


def _batches(piece: Piece, content: Iterator[bytes]) -> Iterator[Batch]:
    """Yield the records of a piece: record batches as they are, those of other formats encoded anew."""
    if piece.object.key.endswith(EXTENSION):
        yield from batches(frames(content), piece.range.start, piece.range.end)
    else:
        for rows in records_of(piece, content, TextSpec(), headers=True):
            yield from encoded(rows)
