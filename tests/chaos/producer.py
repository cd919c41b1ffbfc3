"""Producers that go on whatever happens: steady records, bursts of large ones, transactions of every fate."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.chaos.ledger import Ledger, Written

DAY_MS = 86_400_000
_TICK_SECONDS = 0.05
_BURST_RECORDS = 40
_BURST_BYTES = 200_000
"""A burst of random bytes, which no compression makes smaller, is more than one part of a multipart upload."""
_TRANSACTION_MS = 10_000
"""When the broker aborts a transaction that its producer has left open."""
_SURE_SECONDS = 8.0
"""What took longer to commit may have been aborted by the broker first, whatever the client was answered."""
_END_MS = 20_000
_DRAIN_SECONDS = 60
_REQUEST_MS = 10_000
"""Of several brokers one may be frozen: others are asked then."""
_METADATA_MS = 3_000
"""How soon new partitions get records."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the run."""

    name: str
    partitions: int
    """In the beginning."""
    share: float
    """Of the steady records."""
    days: int = 1
    """Timestamps are of so many days, the last one today."""
    bursts: bool = False
    transactional: bool = False
    is_lone: bool = False
    """Whether each of its partitions has one replica, so that it has no leader while that broker is away."""


TOPICS = (
    Topic("clicks", 3, share=0.6),
    Topic("orders", 3, share=0.4, days=3, is_lone=True),
    Topic("images", 2, share=0.0, bursts=True),
    Topic("payments", 2, share=0.0, transactional=True),
)


RESTORED = ("images", "payments")
"""Topics that are restored under other names: large records, and transactions."""
ROW_TOPICS = (Topic("sales", 3, share=0.0), Topic("events", 2, share=0.0), Topic("readings", 2, share=0.0))
"""Those of rows, which have a producer of their own (`row_producer`)."""


class Values:
    """Keys and values of every kind, drawn from a seed. No two long values are the same."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._number = 0

    def value(self) -> bytes | None:
        """Return 0 B to 200 kB: mostly small; some null, some nothing but line breaks and backslashes."""
        chance = self._chance
        kind = chance.random()
        if kind < 0.03:
            return None
        if kind < 0.06:
            return chance.choice((b"", b"\n", b"\\", b"\\n\n", b"\xff\xfe", b"\x00"))
        self._number += 1
        head = b"%d:" % self._number
        size = int(10 ** chance.uniform(1, 2.7 if kind < 0.85 else 4 if kind < 0.985 else 5.3))
        if kind < 0.5:
            return head + chance.randbytes((size + 1) // 2).hex().encode()
        return head + chance.randbytes(size)

    def key(self) -> bytes | None:
        kind = self._chance.random()
        if kind < 0.3:
            return None
        return b"" if kind < 0.33 else self._chance.randbytes(self._chance.randint(1, 24))

    def large(self) -> bytes:
        return self._chance.randbytes(_BURST_BYTES)

    def headers(self) -> list[tuple[str, bytes]]:
        return [("trace", self._chance.randbytes(8))] if self._chance.random() < 0.1 else []


Work = Callable[[random.Random], None]
"""What a thread does until it is to stop."""


class Producers:
    """A thread for each work."""

    def __init__(self, works: Sequence[Work], seed: int, stopping: threading.Event) -> None:
        """Begin with nothing; ``stopping`` is set when every work has to end."""
        self._stopping = stopping
        self.failure: BaseException | None = None
        """What has ended a thread that should have gone on."""
        self._threads = [
            threading.Thread(target=self._guarded, args=(work, random.Random(f"{work.__name__} {seed}")), daemon=True)
            for work in works
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def ask_to_stop(self) -> None:
        """Let the threads end once every record is acknowledged or given up, and every transaction is over."""
        self._stopping.set()

    def ended(self) -> bool:
        """Whether all have ended; raise `RuntimeError` if one has failed."""
        if self.failure is not None:
            raise RuntimeError("a producer failed") from self.failure
        return not any(thread.is_alive() for thread in self._threads)

    def _guarded(self, work: Work, chance: random.Random) -> None:
        try:
            work(chance)
        except BaseException as error:  # noqa: BLE001 - told by `ended`
            self.failure = error


class Clients:
    """Opens and closes producers, whatever becomes of the brokers."""

    def __init__(self, bootstrap: str, ledger: Ledger, stopping: threading.Event) -> None:
        self._bootstrap = bootstrap
        self._ledger = ledger
        self._stopping = stopping

    def _open_steady(self) -> KafkaProducer:
        # Idempotent ones may refuse everything for minutes after the broker was killed. Twice in Kafka is two records.
        return self._open(compression_type="gzip", enable_idempotence=False)

    def open_transactional(self) -> KafkaProducer:
        producer = self._open(transactional_id="chaos", transaction_timeout_ms=_TRANSACTION_MS)
        try:
            producer.init_transactions()
        except KafkaError:
            self.close(producer)
            raise
        return producer

    def send_steadily(
        self,
        chance: random.Random,
        send: Callable[[KafkaProducer], None],
        burst: Callable[[KafkaProducer], None],
        *,
        per_second: float,
        first: float,
        pause: tuple[float, float],
    ) -> None:
        """Send until it is to end; another producer goes on where one has failed.

        Args:
            send: sends one record.
            burst: sends many at once.
            per_second: how often to send.
            first: seconds to the first burst.
            pause: least and most seconds from one burst to the next.
        """
        producer = self._open_steady()
        next_burst = time.monotonic() + first
        owed = 0.0
        while not self._stopping.wait(_TICK_SECONDS):
            try:
                owed += per_second * _TICK_SECONDS
                while owed >= 1:
                    owed -= 1
                    send(producer)
                if time.monotonic() >= next_burst:
                    next_burst = time.monotonic() + chance.uniform(*pause)
                    burst(producer)
            except KafkaError:
                self._ledger.count("producers opened again")
                self.close(producer)
                producer = self._open_steady()
        with suppress(KafkaTimeoutError):  # what was not acknowledged by now is not in the ledger
            producer.flush(timeout=_DRAIN_SECONDS)
        self.close(producer)

    def note(self, future: Any, value: bytes | None) -> None:
        """Enter a record in the ledger once the broker has it, or never will."""
        future.add_callback(lambda written: self._ledger.acknowledged([written_at(written, value)]))
        future.add_errback(lambda _: self._ledger.count("failed"))

    def _open(self, **options: Any) -> KafkaProducer:
        while True:
            try:
                return KafkaProducer(
                    bootstrap_servers=self._bootstrap,
                    linger_ms=20,
                    batch_size=128 * 1024,
                    max_block_ms=20_000,
                    request_timeout_ms=_REQUEST_MS,
                    metadata_max_age_ms=_METADATA_MS,
                    reconnect_backoff_max_ms=1_000,
                    metrics_enabled=False,
                    **options,
                )
            except KafkaError:  # the broker is away
                if self._stopping.wait(0.5):
                    raise

    def close(self, producer: KafkaProducer | None) -> None:
        if producer is None:
            return
        try:
            producer.close(timeout=2)
        except KafkaError:  # it has records left, and would try to send them until the process ends
            self._ledger.count("producers given up")
            producer._sender.force_close()
            producer._unregister_cleanup()
            producer._closed = True


class PlainProducer:
    """Writes to `TOPICS`."""

    def __init__(self, bootstrap: str, ledger: Ledger, stopping: threading.Event) -> None:
        self._clients = Clients(bootstrap, ledger, stopping)
        self._ledger = ledger
        self._stopping = stopping

    def works(self) -> Sequence[Work]:
        """Return one for steady records, and one with transactions."""
        return [self._steady, self._transactions]

    def _steady(self, chance: random.Random) -> None:
        values = Values(chance)
        topics = [topic for topic in TOPICS if topic.share]

        def send(producer: KafkaProducer) -> None:
            (topic,) = chance.choices(topics, [topic.share for topic in topics])
            value = values.value()
            self._clients.note(self._sent(producer, topic, chance, value, values), value)

        def burst(producer: KafkaProducer) -> None:
            for topic in (topic for topic in TOPICS if topic.bursts):
                partition = any_partition(producer, topic.name, chance)
                for _ in range(chance.randint(_BURST_RECORDS // 4, _BURST_RECORDS)):
                    value = values.large()
                    self._clients.note(self._sent(producer, topic, chance, value, values, partition=partition), value)

        self._clients.send_steadily(chance, send, burst, per_second=150, first=2, pause=(4, 9))

    def _sent(
        self,
        producer: KafkaProducer,
        topic: Topic,
        chance: random.Random,
        value: bytes | None,
        values: Values,
        *,
        partition: int | None = None,
    ) -> Any:
        key = values.key()
        if key is None and value is None:
            key = b"tombstone"
        return producer.send(
            topic.name,
            key=key,
            value=value,
            headers=values.headers(),
            partition=partition if partition is not None else any_partition(producer, topic.name, chance),
            timestamp_ms=time.time_ns() // 1_000_000 - DAY_MS * chance.randrange(topic.days),
        )

    # transactions

    def _transactions(self, chance: random.Random) -> None:
        """Commit, abort, leave open for seconds, or walk away from an open one: then the broker aborts it."""
        values = Values(chance)
        topics = [topic for topic in TOPICS if topic.transactional]
        producer: KafkaProducer | None = None
        while not self._stopping.wait(chance.uniform(0.1, 0.6)):
            try:
                producer = producer or self._clients.open_transactional()
                fate = chance.choices(("committed", "aborted", "abandoned"), (70, 25, 5))[0]
                self._transaction(producer, chance, values, topics, fate)
                if fate == "abandoned":
                    self._clients.close(producer)
                    producer = None
            except KafkaError:
                self._ledger.count("transactions unknown")
                self._clients.close(producer)
                producer = None
        self._clients.close(producer)
        self._end_transactions()

    def _transaction(
        self, producer: KafkaProducer, chance: random.Random, values: Values, topics: Sequence[Topic], fate: str
    ) -> None:
        producer.begin_transaction()
        began = time.monotonic()
        sent: list[tuple[Any, bytes | None]] = []
        for _ in range(chance.randint(1, 25)):
            value = values.value()
            sent.append((self._sent(producer, chance.choice(topics), chance, value, values), value))
        producer.flush(timeout=_DRAIN_SECONDS)
        written = [written_at(future.get(timeout=1), value) for future, value in sent]
        if chance.random() < 0.1:
            self._stopping.wait(chance.uniform(0.5, 3))
        if fate == "committed":
            _end(producer, producer._transaction_manager.begin_commit())
            if time.monotonic() - began > _SURE_SECONDS:
                self._ledger.count("transactions unknown")
                return
            self._ledger.acknowledged(written)
        else:
            if fate == "aborted":
                _end(producer, producer._transaction_manager.begin_abort())
            self._ledger.aborted(written)
        self._ledger.count(f"transactions {fate}")

    def _end_transactions(self) -> None:
        """Open once more under the same name: whatever was left open is aborted."""
        deadline = time.monotonic() + _DRAIN_SECONDS
        while True:
            try:
                self._clients.close(self._clients.open_transactional())
            except KafkaError:
                if time.monotonic() > deadline:
                    raise
            else:
                return


def any_partition(producer: KafkaProducer, topic: str, chance: random.Random) -> int:
    """Choose from all that there are by now."""
    numbers: list[int] = sorted(producer.partitions_for(topic))
    return chance.choice(numbers)


def _end(producer: KafkaProducer, result: Any) -> None:
    """Wait for the end of a transaction; kafka-python's own ``commit_transaction`` may wait for ever."""
    producer._sender.wakeup()
    if not result.wait(timeout_ms=_END_MS):
        raise KafkaTimeoutError("the transaction does not end")


def written_at(metadata: Any, value: bytes | None) -> Written:
    return (metadata.topic, metadata.partition), metadata.offset, value
