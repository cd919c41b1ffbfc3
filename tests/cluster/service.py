"""The service as the group's commits show it: how long partitions stand still, and how far behind they get."""

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition

from tests.cluster.environment import PATIENCE_SECONDS
from tests.integration.harness.group import Group
from tests.integration.harness.waiting import eventually

LOOK_SECONDS = 0.1
"""Between two looks at Kafka: the resolution of all results."""
_END_SECONDS = 120


class Service:
    """Looks at the committed offsets of a topic while the block runs; something must be produced all the time."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._group = Group(bootstrap, group)
        self._ends = KafkaConsumer(bootstrap_servers=bootstrap)
        self._topic = topic
        self._moved: dict[int, float] = {}
        self._offsets: dict[int, int] = {}
        self.gaps: dict[int, float] = {}
        """By partition: the longest time in seconds without a commit that moved its offset."""
        self.gap = 0.0
        """The longest time in seconds in which no partition moved."""
        self.lag = 0
        """The most records that waited at one time."""
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(_END_SECONDS)
        self._group.close()
        self._ends.close()
        if self._error is not None and error is None:
            raise self._error

    @property
    def longest(self) -> float:
        """The longest time that any partition stood still."""
        return max(self.gaps.values())

    def wait_moved(self) -> None:
        """Wait until each partition has moved once more: what began in the block ends in it."""
        since = time.monotonic()

        def moved() -> bool:
            if self._error is not None:
                raise self._error
            return bool(self._moved) and all(at > since for at in self._moved.copy().values())

        eventually("each partition moves", moved, seconds=PATIENCE_SECONDS)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._look()
                self._stop.wait(LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001 - raised where the block ends
            self._error = error

    def _look(self) -> None:
        offsets = {number: entry.offset for number, entry in self._group.committed(self._topic).items()}
        self.take(offsets, time.monotonic())
        ends = self._ends.end_offsets([KafkaTopicPartition(self._topic, number) for number in offsets])
        self.lag = max(self.lag, sum(ends.values()) - sum(offsets.values()))

    def take(self, offsets: Mapping[int, int], now: float) -> None:
        """Take in what is committed at a time."""
        before = max(self._moved.values(), default=now)
        for number, offset in offsets.items():
            since = self._moved.setdefault(number, now)
            self.gaps[number] = max(self.gaps.get(number, 0.0), now - since)
            if offset != self._offsets.get(number, offset):
                self._moved[number] = now
        self._offsets = dict(offsets)
        self.gap = max(self.gap, now - before)
