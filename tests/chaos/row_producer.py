"""The producer of rows: a steady mix, and now and then so much at once that a range takes several passes."""

import random
import threading
import time
from collections.abc import Collection, Sequence
from typing import Any

from kafka import KafkaProducer

from tests.chaos import events, readings, sales
from tests.chaos.conditions import HEADER, TEST
from tests.chaos.ledger import Ledger
from tests.chaos.producer import Clients, Work, any_partition
from tests.chaos.readings import Readings

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
    ) -> None:
        self._clients = Clients(bootstrap, ledger, stopping)
        self._ledger = ledger
        self._writers = writers
        self._readings = of_readings
        self._topics = topics

    def works(self) -> Sequence[Work]:
        return [self._rows]

    def _rows(self, chance: random.Random) -> None:
        of_sales, of_events = sales.Values(chance, self._writers), events.Values(chance)

        def send(producer: KafkaProducer) -> None:
            (topic,) = chance.choices((sales.TOPIC, events.TOPIC, readings.TOPIC), (5, 5, 2))
            if topic not in self._topics:
                return
            headers: list[tuple[str, bytes]] = []
            if topic == sales.TOPIC:
                value = of_sales.value()
            elif topic == readings.TOPIC:
                value = self._readings.value(chance)
            else:
                headers, value = of_events.record()
            self._send(producer, chance, topic, value, headers=[*headers, *_environment(chance)])

        def burst(producer: KafkaProducer) -> None:
            if sales.TOPIC in self._topics:
                partition = any_partition(producer, sales.TOPIC, chance)
                for _ in range(_BURST_RECORDS):
                    self._send(producer, chance, sales.TOPIC, of_sales.value(large=True), partition=partition)
                self._ledger.count("bursts of rows")

        self._clients.send_steadily(chance, send, burst, per_second=60, first=5, pause=(45, 90))

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
        self._clients.note(future, value)


def _environment(chance: random.Random) -> list[tuple[str, bytes]]:
    """Return headers that conditions are about, seldom one by which a record is left out."""
    return chance.choices(
        ([], [(HEADER, b"prod")], [(HEADER, TEST)], [(HEADER, TEST), (HEADER, b"prod")]), (8, 6, 1, 1)
    )[0]
