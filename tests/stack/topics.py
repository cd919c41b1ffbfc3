"""What tests do to topics: create and change them, write records and transactions, read everything back.

Every function takes the bootstrap address and opens its own connection.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from tests.stack.clients import admin_client
from tests.stack.kafka_cluster import Kafka

_FLUSH_SECONDS = 120
_READ_SECONDS = 60
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Record:
    """A record to write, or one read back (then ``offset`` is set)."""

    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    """Milliseconds since the epoch; when writing, None is now."""
    headers: Sequence[tuple[str, bytes]] = ()
    offset: int | None = None


PATIENCE_MILLISECONDS = 120_000
"""How long a busy machine may take to elect the leaders of a new topic."""


def create_topic(
    bootstrap: str,
    name: str,
    *,
    partitions: int = 1,
    replicas: int | None = None,
    configs: Mapping[str, str] | None = None,
) -> None:
    """Create a topic (``configs`` as in ``cleanup.policy``) and wait until each partition has a leader."""
    replication = {} if replicas is None else {"replication_factor": replicas}
    with admin_client(bootstrap) as client:
        client.create_topics({name: {"num_partitions": partitions, "configs": dict(configs or {}), **replication}})
        client.wait_for_topics([name], timeout_ms=PATIENCE_MILLISECONDS)


def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic; the broker does it in the background."""
    with admin_client(bootstrap) as client:
        client.delete_topics([name])


def add_partitions(bootstrap: str, name: str, total: int) -> None:
    """Grow a topic to ``total`` partitions."""
    with admin_client(bootstrap) as client:
        client.create_partitions({name: total})


def alter_topic(bootstrap: str, name: str, configs: Mapping[str, str]) -> None:
    """Set topic configurations such as ``segment.bytes``; others stay."""
    with admin_client(bootstrap) as client:
        client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, dict(configs))])


def delete_records(bootstrap: str, name: str, before: Mapping[int, int]) -> None:
    """Move the log start of partitions: ``before`` maps a partition to its first offset that stays."""
    with admin_client(bootstrap) as client:
        client.delete_records({KafkaTopicPartition(name, number): offset for number, offset in before.items()})


def end_offsets(bootstrap: str, name: str, *, committed: bool = False) -> dict[int, int]:
    """Return partition → end offset: the high watermark, or the last stable offset when ``committed``."""
    with _consumer(bootstrap, committed=committed) as consumer:
        ends: dict[KafkaTopicPartition, int] = consumer.end_offsets(_partitions(consumer, name))
        return {partition.partition: offset for partition, offset in ends.items()}


def produce(
    bootstrap: str,
    topic: str,
    records: Iterable[Record | bytes],
    *,
    compression: str | None = None,
    batch_size: int = 256 * 1024,
    **options: Any,
) -> list[tuple[int, int]]:
    """Write records, wait for the broker, return (partition, offset) of each in order.

    Around 30,000 records/s; `produce_many` is for bulk. ``options`` are kafka-python's for producers.
    """
    with _producer(bootstrap, compression_type=compression, batch_size=batch_size, **options) as producer:
        return _send(producer, topic, records)


def produce_many(
    broker: Kafka,
    topic: str,
    *,
    records: int,
    record_bytes: int,
    compression: str = "none",
    properties: Mapping[str, str] | None = None,
) -> None:
    """Write many records at full speed with Kafka's own performance tool, spread over all partitions.

    They are random capital letters, ``record_bytes`` each.
    """
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "compression.type": compression,
        "batch.size": "131072",
        "linger.ms": "20",
        **(properties or {}),
    }
    broker.run_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(record_bytes), "--throughput", "-1"),
        *("--producer-props", *(f"{key}={value}" for key, value in settings.items())),
    )


class Transaction:
    """An open transaction of `transaction`."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer
        self.open = True

    def produce(self, topic: str, records: Iterable[Record | bytes]) -> list[tuple[int, int]]:
        """Write records and wait until they are in the log, not yet committed."""
        return _send(self._producer, topic, records)

    def abort(self) -> None:
        """Abort now; nothing can be written to this transaction afterwards."""
        self._producer.abort_transaction()
        self.open = False


@contextmanager
def transaction(bootstrap: str, transactional_id: str, **options: Any) -> Iterator[Transaction]:
    """Open a transaction that is committed at the end of the block, or aborted by an exception or `abort`."""
    with _producer(bootstrap, transactional_id=transactional_id, **options) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        current = Transaction(producer)
        try:
            yield current
        except BaseException:
            if current.open:
                current.abort()
            raise
        if current.open:
            producer.commit_transaction()


def read_all(bootstrap: str, topic: str, *, committed: bool = True, **options: Any) -> dict[int, list[Record]]:
    """Return partition → its records in offset order, up to the present end, read by kafka-python's consumer."""
    return read_as(_record, bootstrap, topic, committed=committed, **options)


def read_as(
    made: Callable[[Any], Made], bootstrap: str, topic: str, *, committed: bool = True, **options: Any
) -> dict[int, list[Made]]:
    """Return partition → what ``made`` makes of each record of kafka-python's consumer, up to the present end."""
    with _consumer(bootstrap, committed=committed, **options) as consumer:
        partitions = _partitions(consumer, topic)
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        found: dict[int, list[Made]] = {partition.partition: [] for partition in partitions}
        behind = set(partitions)
        while behind := {partition for partition in behind if consumer.position(partition) < ends[partition]}:
            polled = consumer.poll(timeout_ms=_READ_SECONDS * 1000)
            if not polled and any(consumer.position(partition) < ends[partition] for partition in behind):
                raise TimeoutError(f"nothing came from {sorted(behind)} within {_READ_SECONDS} s")
            for partition, records in polled.items():
                found[partition.partition] += map(made, records)
        return found


def _record(record: Any) -> Record:
    return Record(
        value=record.value,
        key=record.key,
        partition=record.partition,
        timestamp=record.timestamp,
        headers=tuple(record.headers),
        offset=record.offset,
    )


def _send(producer: KafkaProducer, topic: str, records: Iterable[Record | bytes]) -> list[tuple[int, int]]:
    futures = []
    for entry in records:
        record = Record(entry) if isinstance(entry, bytes) else entry
        futures.append(
            producer.send(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                timestamp_ms=record.timestamp,
                headers=list(record.headers),
            )
        )
    producer.flush(timeout=_FLUSH_SECONDS)
    written = [future.get(timeout=_FLUSH_SECONDS) for future in futures]  # raises what the broker refused
    return [(metadata.partition, metadata.offset) for metadata in written]


@contextmanager
def _producer(bootstrap: str, **options: Any) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, **{"linger_ms": 5, **options})
    try:
        yield producer
    finally:
        producer.close(timeout=_FLUSH_SECONDS)


@contextmanager
def _consumer(bootstrap: str, *, committed: bool, **options: Any) -> Iterator[KafkaConsumer]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed" if committed else "read_uncommitted",
        enable_auto_commit=False,
        **options,
    )
    try:
        yield consumer
    finally:
        consumer.close()


def _partitions(consumer: KafkaConsumer, topic: str) -> list[KafkaTopicPartition]:
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise LookupError(f"topic {topic} does not exist")
    return [KafkaTopicPartition(topic, number) for number in sorted(numbers)]
