"""Brokers, a network and processes in which anything may go wrong between any two steps."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from kafka import errors
from kafka.record.default_records import DefaultRecordBatch

from logpersister.ranges import TopicPartition
from logpersister.records.schema import RECORDS_WITH_HEADERS
from logpersister.restore.execution import Answer
from tests.unit.restore.samples import Row

FATES = ("arrives", "answer is lost", "arrives late", "is lost", "process dies before", "process dies behind")
NO_PRODUCER = -1
_OUT_OF_ORDER: Exception = errors.OutOfOrderSequenceNumberError()
_SILENCE: Exception = errors.KafkaTimeoutError()
_BROKEN: Exception = errors.KafkaConnectionError()


class Died(BaseException):
    """The process is killed."""


@dataclass
class Log:
    """A partition, and what its broker remembers of producers: the last five batches of each."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    """Timestamp, key and value."""
    producers: dict[int, deque[tuple[int, int, int]]] = field(default_factory=dict)
    """First and last sequence number, and offset, of each batch."""
    start: int = 0
    """First offset that retention has left."""
    compacted: set[int] = field(default_factory=set)
    """Offsets whose records compaction has removed."""

    def append(self, data: bytes) -> Answer:
        batch = DefaultRecordBatch(data)
        first, last = batch.base_sequence, batch.last_sequence
        if batch.producer_id != NO_PRODUCER:
            known = self.producers.setdefault(batch.producer_id, deque(maxlen=5))
            for one in known:
                if one[:2] == (first, last):
                    return one[2]
            if known and first != known[-1][1] + 1:
                return _OUT_OF_ORDER
            known.append((first, last, len(self.rows)))
        base = len(self.rows)
        self.rows += [(record.timestamp, (record.key, record.value)) for record in batch]
        return base


Loss = Callable[[Log], None]
"""What Kafka does to a log at any time."""


def all_deleted(log: Log) -> None:
    """Delete as retention does, all segments."""
    log.start = len(log.rows)


def most_deleted(log: Log) -> None:
    """Delete as retention does, all segments but the last, which has a record."""
    log.start = max(log.start, len(log.rows) - 1)


def compacted(log: Log) -> None:
    """Keep the last record of each key. That of the whole log is in the active segment, which is never compacted."""
    last = {key: offset for offset, (_, (key, _)) in enumerate(log.rows)}
    log.compacted |= set(range(len(log.rows) - 1)) - set(last.values())


class World:
    """`execution.Target`, whose luck is a script: a number at each crossroads, 0 where it ends."""

    def __init__(
        self,
        script: Sequence[int] = (),
        *,
        others: Callable[["World"], None] | None = None,
        loss: Loss | None = None,
    ) -> None:
        self._script = script
        self.ways: list[int] = []
        """How many ways there were at each crossroads."""
        self.logs: dict[TopicPartition, Log] = {}
        self._late: list[tuple[TopicPartition, bytes]] = []
        self._others = others
        """Lets another restore run, from its begin to its end."""
        self._loss = loss

    def _choose(self, ways: int) -> int:
        place = len(self.ways)
        self.ways.append(ways)
        return self._script[place] if place < len(self._script) else 0

    def log(self, partition: TopicPartition) -> Log:
        return self.logs.setdefault(partition, Log())

    def _lose(self) -> None:
        if self._loss is not None and self._choose(2):
            for log in self.logs.values():
                self._loss(log)

    def spans(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        self._lose()
        if self._choose(2):
            return {}
        logs = {partition: self.log(partition) for partition in partitions}
        return {partition: (log.start, len(log.rows)) for partition, log in logs.items()}

    def last_record(self, partition: TopicPartition, end: int) -> pa.RecordBatch | None:
        self._lose()
        log = self.log(partition)
        if self._choose(2) or end <= log.start:
            raise errors.KafkaConnectionError
        if end - 1 in log.compacted:
            return None
        time, (key, value) = log.rows[end - 1]
        row: dict[str, Any] = {"offset": end - 1, "timestamp": time, "key": key, "value": value, "headers": []}
        return pa.RecordBatch.from_pylist([row], RECORDS_WITH_HEADERS)

    def append(self, batches: Mapping[TopicPartition, Sequence[bytes]]) -> Mapping[TopicPartition, Sequence[Answer]]:
        self.arrive_late(lambda: bool(self._choose(2)))
        self._lose()
        if self._others is not None and self._choose(2):
            others, self._others = self._others, None
            others(self)
        return {partition: [self._send(partition, data) for data in found] for partition, found in batches.items()}

    def _send(self, partition: TopicPartition, data: bytes) -> Answer:
        fate = FATES[self._choose(len(FATES))]
        if fate == "process dies before":
            raise Died
        if fate == "arrives late":
            self._late.append((partition, data))
        if fate in ("arrives late", "is lost"):
            return _SILENCE
        answer = self.log(partition).append(data)
        if fate == "process dies behind":
            raise Died
        return _BROKEN if fate == "answer is lost" else answer

    def arrive_late(self, arrives: Callable[[], bool] = lambda: True) -> None:
        late, self._late = self._late, []
        for one in late:
            if arrives():
                self.log(one[0]).append(one[1])
            else:
                self._late.append(one)


def scripts(faults: int, ways_of: Callable[[Sequence[int]], Sequence[int]]) -> Iterator[Sequence[int]]:
    """Yield all scripts with at most so many faults; `ways_of` plays one and returns its crossroads."""
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = waiting.pop()
        ways = ways_of(script)
        yield script
        if sum(map(bool, script)) < faults:
            for place in range(len(script), len(ways)):
                before = (*script, *(0 for _ in range(place - len(script))))
                waiting += [(*before, way) for way in range(1, ways[place])]
