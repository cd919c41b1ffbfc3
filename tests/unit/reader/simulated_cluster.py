"""A cluster in memory, on a clock of its own, that answers fetches as brokers do and fails as told.

Rules of brokers that matter here: the first partition with data gives at least one whole record batch, the
others as much as fits, the last batch cut off (KIP-74); a partition whose first batch does not fit gives nothing. A
partition whose records are in tiered storage uses up its room also when that storage is slow and it gives nothing.
"""

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import UUID

from logpersister.pipeline.reader.decode import Aborted
from logpersister.pipeline.reader.inbox import Event, Inbox
from logpersister.pipeline.reader.messages import (
    ClusterError,
    FetchAnswer,
    FetchCall,
    FetchPart,
    Location,
    LogOffsets,
    PartitionData,
    Topology,
)
from logpersister.ranges import Range, TopicPartition
from tests.unit.reader.record_batches import CONTROL, NONE, TRANSACTIONAL, Batch, Record

T = TypeVar("T")

TOPIC_ID = UUID(int=7)
OVERHEAD = 40
"""Bytes of an answer beside the records."""


class SimulatedInbox(Inbox):
    """Time passes only while somebody waits."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._ready: deque[Event] = deque()
        self._later: list[tuple[float, int, Event]] = []
        self._numbers = itertools.count()

    def now(self) -> float:
        return self.time

    def put(self, event: Event) -> None:
        self._ready.append(event)

    def at(self, time: float, happening: Event) -> None:
        heapq.heappush(self._later, (time, next(self._numbers), happening))

    def wait(self, seconds: float) -> Event | None:
        until = self.time + max(seconds, 0)
        while not self._ready and self._later and self._later[0][0] <= until:
            time, _, happening = heapq.heappop(self._later)
            self.time = max(self.time, time)
            happening()
        if self._ready:
            return self._ready.popleft()
        self.time = until
        return None


@dataclass
class Log:
    """One partition."""

    batches: Sequence[tuple[Batch, bytes]]
    aborted: Sequence[tuple[Aborted, int]] = ()
    """With the offset of the abort marker."""
    expected: Mapping[int, bytes] = field(default_factory=dict)
    """Offset → value of what a committed reader gets."""
    start: int = 0
    end: int = 0
    leader: int = 0
    local_start: int = 0
    """What is before it is in tiered storage only."""

    def __repr__(self) -> str:
        return f"<log {self.start}..{self.end} of {len(self.batches)} batches>"

    def read(self, offset: int, limit: int, *, at_least_one: bool) -> bytes:
        found = bytearray()
        for batch, encoded in self.batches:
            if batch.last_offset < max(offset, self.start):
                continue
            if not found and len(encoded) > limit:
                return encoded if at_least_one else b""
            found += encoded
            if len(found) > limit:
                return bytes(found[:limit])
        return bytes(found)

    def aborted_from(self, offset: int) -> tuple[Aborted, ...]:
        return tuple(transaction for transaction, marker in self.aborted if marker >= offset)

    @property
    def largest_batch(self) -> int:
        return max((len(encoded) for _, encoded in self.batches), default=0)


Fault = Callable[["SimulatedCluster", FetchCall, FetchAnswer], FetchAnswer | ClusterError]


@dataclass
class SimulatedCluster:
    """Implements `fetching.Cluster` and `reader.ClosableCluster`."""

    logs: dict[TopicPartition, Log]
    inbox: SimulatedInbox = field(default_factory=SimulatedInbox)
    latencies: Iterator[float] = field(default_factory=lambda: itertools.repeat(0.01))
    faults: Iterator[Fault | None] = field(default_factory=lambda: itertools.repeat(None))
    """One for each fetch; `None` for a good answer."""
    slow_storage: Iterator[bool] = field(default_factory=lambda: itertools.repeat(False))
    """One for each read of tiered storage: whether it takes longer than the request may."""
    topic_id: UUID | None = TOPIC_ID
    locate_errors: deque[ClusterError] = field(default_factory=deque)
    calls: list[FetchCall] = field(default_factory=list)
    locates: int = 0
    closed: int = 0

    def locate(self, topics: Sequence[str]) -> Future[Topology]:
        self.locates += 1
        if self.locate_errors:
            return self._later(self.locate_errors.popleft())
        known = {
            partition: Location(None if log.leader < 0 else log.leader, 3, self.topic_id, frozenset({0, 1, 2}))
            for partition, log in self.logs.items()
            if partition.topic in topics
        }
        return self._later(Topology(known, {}, self.inbox.now()))

    def fetch(self, call: FetchCall) -> Future[FetchAnswer]:
        assert sum(part.max_bytes for part in call.parts[:1]) > 0
        assert len({part.partition for part in call.parts}) == len(call.parts)
        self.calls.append(call)
        answer = self._answer(call)
        fault = next(self.faults, None)
        return self._later(fault(self, call, answer) if fault else answer)

    def log_offsets(self, partition: TopicPartition, location: Location) -> Future[LogOffsets]:
        log = self.logs[partition]
        return self._later(LogOffsets(log.start, log.end, max(log.start, log.local_start)))

    def close(self) -> None:
        self.closed += 1

    def _answer(self, call: FetchCall) -> FetchAnswer:
        left, parts = call.max_bytes, {}
        empty = True
        for part in call.parts:
            limit = min(part.max_bytes, left)
            data = self._part(call, part, limit, at_least_one=empty)
            used = len(data.records)
            if self._is_remote(part, data) and next(self.slow_storage, False):
                data, used = replace(data, records=memoryview(b"")), limit
            empty = empty and not used
            left = max(0, left - used)
            parts[part.partition] = data
        return FetchAnswer(0.0, 0, parts, OVERHEAD + sum(len(data.records) for data in parts.values()))

    def _is_remote(self, part: FetchPart, data: PartitionData) -> bool:
        return bool(data.records) and part.offset < self.logs[part.partition].local_start

    def _part(self, call: FetchCall, part: FetchPart, limit: int, *, at_least_one: bool) -> PartitionData:
        log = self.logs.get(part.partition)
        if log is None or part.topic_id != self.topic_id:
            return failed(part, 3 if log is None else 100)
        if log.leader != call.node:
            return failed(part, 6)
        if not log.start <= part.offset <= log.end:
            return failed(part, 1)
        records = log.read(part.offset, limit, at_least_one=at_least_one)
        return PartitionData(
            part.partition,
            0,
            log.end,
            log.end,
            log.start,
            memoryview(records),
            log.aborted_from(part.offset) if call.read_committed else (),
        )

    def _later(self, result: T | ClusterError) -> Future[T]:
        future: Future[T] = Future()

        def arrive() -> None:
            if isinstance(result, ClusterError):
                future.set_exception(result)
            else:
                future.set_result(result)

        self.inbox.at(self.inbox.now() + next(self.latencies, 0.01), arrive)
        return future


def failed(part: FetchPart, code: int) -> PartitionData:
    return PartitionData(part.partition, code, -1, -1, -1, memoryview(b""))


# Faults


def unreachable(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> ClusterError:
    return ClusterError("disconnected", "the broker closed the connection")


def throttled(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    return FetchAnswer(0.7, 0, {}, OVERHEAD)


def slowed(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    return replace(answer, throttle=0.3)


def without_first(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    parts = {partition: data for partition, data in answer.parts.items() if partition != call.parts[0].partition}
    return replace(answer, parts=parts)


def empty(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    """As from a replica that lags behind: its high watermark is low."""
    return replace(
        answer,
        parts={
            partition: replace(data, records=memoryview(b""), high_watermark=0, last_stable_offset=0)
            for partition, data in answer.parts.items()
        },
    )


def corrupted(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    """Flip a bit of what the checksum of the first batch covers."""
    return replace(answer, parts={partition: _flipped(data) for partition, data in answer.parts.items()})


def _flipped(data: PartitionData) -> PartitionData:
    records = bytearray(data.records)
    if len(records) > 60:
        records[60] ^= 1
    return replace(data, records=memoryview(records))


def moved(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    """The partitions of the request get another leader before the broker sees it."""
    for part in call.parts:
        cluster.logs[part.partition].leader = (call.node + 1) % 3
    return replace(answer, parts={part.partition: failed(part, 6) for part in call.parts}, size=OVERHEAD)


def error(code: int) -> Fault:
    """The first partition answers with an error code."""

    def fault(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        first = call.parts[0]
        return replace(answer, parts={**answer.parts, first.partition: failed(first, code)})

    return fault


# Logs


@dataclass(frozen=True)
class Write:
    """Something that is written to a log."""

    sizes: Sequence[int] = ()
    """Of the values."""
    producer: int | None = None
    """In a transaction of this producer, which is begun when it has none."""
    end: str | None = None
    """``commit`` or ``abort`` the producer's transaction afterwards."""
    compacted: int = 0
    """So many of the offsets before the values hold nothing."""
    codec: int = NONE


def make_log(writes: Sequence[Write], *, start: int = 0, leader: int = 0, local_start: int = 0) -> Log:
    """Write a log; transactions that are open at its end are aborted. The last batch of a tiered one is local."""
    log = _Writing(start)
    for write in writes:
        log.write(write)
    for producer in list(log.open):
        log.end_transaction(producer, commit=False)
    if local_start:
        log.write(Write([10]))
        local_start = min(local_start, log.batches[-1][0].base_offset)
    return Log(log.batches, log.aborted, log.committed, start, log.offset, leader, local_start)


class _Writing:
    def __init__(self, start: int) -> None:
        self.offset = start
        self.batches: list[tuple[Batch, bytes]] = []
        self.aborted: list[tuple[Aborted, int]] = []
        self.committed: dict[int, bytes] = {}
        self.open: dict[int, tuple[int, dict[int, bytes]]] = {}

    def write(self, write: Write) -> None:
        self.offset += write.compacted
        if write.sizes:
            values = [random.Random(self.offset + place).randbytes(size) for place, size in enumerate(write.sizes)]
            self._append(
                Batch(
                    [Record(value=value) for value in values],
                    self.offset,
                    write.codec,
                    0 if write.producer is None else TRANSACTIONAL,
                    producer_id=-1 if write.producer is None else write.producer,
                )
            )
            written = {self.offset + place: value for place, value in enumerate(values)}
            if write.producer is None:
                self.committed |= written
            else:
                _, pending = self.open.setdefault(write.producer, (self.offset, {}))
                pending |= written
            self.offset += len(values)
        if write.end and write.producer in self.open:
            self.end_transaction(write.producer, commit=write.end == "commit")

    def end_transaction(self, producer: int, *, commit: bool) -> None:
        first, pending = self.open.pop(producer)
        marker = Record(key=b"\x00\x00\x00" + bytes([commit]), value=b"\x00\x00\x00\x00\x00\x00")
        self._append(Batch([marker], self.offset, attributes=TRANSACTIONAL | CONTROL, producer_id=producer))
        if commit:
            self.committed |= pending
        else:
            self.aborted.append((Aborted(producer, first), self.offset))
        self.offset += 1

    def _append(self, batch: Batch) -> None:
        self.batches.append((batch, batch.encode()))


def unexplained(log: Log, wanted: Range) -> int:
    """Return how many offsets at the end of a range no batch has or follows."""
    after = max([wanted.start, *(batch.last_offset + 1 for batch, _ in log.batches)])
    return max(0, wanted.end - after)


def expected(log: Log, wanted: Range) -> list[tuple[int, bytes]]:
    return sorted(item for item in log.expected.items() if wanted.start <= item[0] < wanted.end)
