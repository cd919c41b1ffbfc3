"""Records to produce: each value says where it belongs, so that a record stored twice or not at all shows."""

import itertools
import json
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaProducer

from tests.integration.harness.bucket import TopicPartition
from tests.stack.topics import Record, produce, read_all

_FLUSH_SECONDS = 120
_REQUEST_MS = 10_000


def number(value: bytes) -> int:
    """Return the number of a value in its partition: its offset, where nothing else was written."""
    return int(json.loads(value)["n"])


class Workload:
    """Produces values such as ``{"p":0,"n":123,"x":"…"}``, numbered within each partition of each topic."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._numbers: defaultdict[TopicPartition, Iterator[int]] = defaultdict(itertools.count)
        self._random = random.Random(7)

    def value(self, topic: str, partition: int, size: int = 0) -> bytes:
        """Return the next value of a partition; ``size`` bytes of hex digits in it, which gzip halves."""
        number = next(self._numbers[topic, partition])
        padding = self._random.randbytes((size + 1) // 2).hex()
        return json.dumps({"p": partition, "n": number, "x": padding}, separators=(",", ":")).encode()

    def write(
        self,
        topic: str,
        count: int,
        *,
        partitions: Sequence[int] = (0,),
        size: int = 0,
        timestamp: Callable[[int], int] | None = None,
        **options: Any,
    ) -> None:
        """Produce ``count`` records into each partition.

        ``timestamp`` (ms) is given by the record's place in this call. ``options`` are kafka-python's for producers.
        """
        records = (
            Record(
                self.value(topic, partition, size),
                partition=partition,
                timestamp=timestamp(place) if timestamp else None,
            )
            for place in range(count)
            for partition in partitions
        )
        produce(self._bootstrap, topic, records, **options)

    @contextmanager
    def running(self, topic: str, partitions: Sequence[int], *, per_second: float) -> Iterator[None]:
        """Produce steadily into each partition while the block runs."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(topic, partitions, per_second, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(_FLUSH_SECONDS)
            assert not thread.is_alive(), "the producer does not end"

    def _run(self, topic: str, partitions: Sequence[int], per_second: float, stop: threading.Event) -> None:
        # A broker that is frozen must not hold back what others would take.
        producer = KafkaProducer(bootstrap_servers=self._bootstrap, linger_ms=20, request_timeout_ms=_REQUEST_MS)
        try:
            while not stop.wait(1 / per_second):
                for partition in partitions:
                    producer.send(topic, value=self.value(topic, partition), partition=partition)
            producer.flush(timeout=_FLUSH_SECONDS)
        finally:
            producer.close(timeout=_FLUSH_SECONDS)

    def produced(self, *topics: str) -> dict[TopicPartition, list[bytes]]:
        """Return what Kafka holds, by partition in offset order, read by kafka-python's own consumer."""
        return {
            (topic, number): [record.value for record in records if record.value is not None]
            for topic in topics
            for number, records in read_all(self._bootstrap, topic).items()
        }
