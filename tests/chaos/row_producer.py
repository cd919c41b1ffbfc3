"""The producer of rows: a steady mix, and now and then so much at once that a range takes several passes."""

import random
import threading
import time
from collections.abc import Collection, Sequence
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from tests.chaos import events, readings, sales
from tests.chaos.conditions import HEADER, TEST
from tests.chaos.ledger import Ledger
from tests.chaos.producer import Clients, Work, any_partition, written_at
from tests.chaos.readings import Readings

_TICK_SECONDS = 0.05
_BURST_RECORDS = 280
"""Of 190 kB in one partition: 53 MB, where members with parts of 5 MiB have room for 47 (pipeline/room.py)."""
_LATE_SHARE = 0.02
_LATE_MS = (60_000, 240_000)
"""How late a record may be: its minute may have been finished."""


class RowProducer:
    """Writes sales (Avro), events (of many types) and readings (of any other parser), as far as the run has them."""

    def __init__(
        self,
        bootstrap: str,
        ledger: Ledger,
        stopping: threading.Event,
        writers: sales.Writers,
        of_readings: Readings,
        topics: Collection[str],
        *,
        per_second: float = 60.0,
        burst_every: tuple[float, float] = (45.0, 90.0),
    ) -> None:
        self._clients = Clients(bootstrap, ledger, stopping)
        self._ledger = ledger
        self._stopping = stopping
        self._writers = writers
        self._readings = of_readings
        self._topics = topics
        self._per_second = per_second
        self._burst_every = burst_every

    def works(self) -> Sequence[Work]:
        return [self._rows]

    def _rows(self, chance: random.Random) -> None:
        of_sales, of_events = sales.Values(chance, self._writers), events.Values(chance)
        producer = self._clients.open_steady()
        next_burst = time.monotonic() + 5
        owed = 0.0
        while not self._stopping.wait(_TICK_SECONDS):
            try:
                owed += self._per_second * _TICK_SECONDS
                while owed >= 1:
                    owed -= 1
                    (topic,) = chance.choices((sales.TOPIC, events.TOPIC, readings.TOPIC), (5, 5, 2))
                    if topic not in self._topics:
                        continue
                    headers: list[tuple[str, bytes]] = []
                    if topic == sales.TOPIC:
                        value = of_sales.value()
                    elif topic == readings.TOPIC:
                        value = self._readings.value(chance)
                    else:
                        headers, value = of_events.record()
                    self._send(producer, chance, topic, value, headers=[*headers, *_environment(chance)])
                if sales.TOPIC in self._topics and time.monotonic() >= next_burst:
                    next_burst = time.monotonic() + chance.uniform(*self._burst_every)
                    partition = any_partition(producer, sales.TOPIC, chance)
                    for _ in range(_BURST_RECORDS):
                        self._send(producer, chance, sales.TOPIC, of_sales.value(large=True), partition=partition)
                    self._ledger.count("bursts of rows")
            except KafkaError:
                producer = self._clients.reopened(producer)
        self._clients.finish(producer)

    def _send(
        self,
        producer: KafkaProducer,
        chance: random.Random,
        topic: str,
        value: bytes | None,
        *,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
    ) -> None:
        late = chance.randint(*_LATE_MS) if chance.random() < _LATE_SHARE else chance.randrange(1500)
        future: Any = producer.send(
            topic,
            key=chance.randbytes(6) if chance.random() < 0.7 or value is None else None,
            value=value,
            headers=list(headers),
            partition=any_partition(producer, topic, chance) if partition is None else partition,
            timestamp_ms=time.time_ns() // 1_000_000 - late,
        )
        future.add_callback(lambda written: self._ledger.acknowledged([written_at(written, value)]))
        future.add_errback(lambda _: self._ledger.count("failed"))


def _environment(chance: random.Random) -> list[tuple[str, bytes]]:
    """Return headers that conditions are about, seldom one by which a record is left out."""
    return chance.choices(
        ([], [(HEADER, b"prod")], [(HEADER, TEST)], [(HEADER, TEST), (HEADER, b"prod")]), (8, 6, 1, 1)
    )[0]
