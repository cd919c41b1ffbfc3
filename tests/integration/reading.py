"""What the tests of the reader share: reading everything, and topics that are hard to read."""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from logpersister.pipeline.reader import KafkaReader, RangeRead, ReaderSettings, ReadRequest
from logpersister.pipeline.reader.settings import KIB, MIB
from logpersister.ranges import Range, TopicPartition
from tests.stack import KafkaBroker
from tests.stack.topics import Record, alter_topic, end_offsets, produce, read_all, transaction

SMALL = ReaderSettings(
    headers=True, buffer_bytes=256 * KIB, request_bytes=64 * KIB, partition_bytes=4 * KIB, decode_bytes=8 * KIB
)
"""Many requests and pieces even for small topics."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def whole(bootstrap: str, topic: str, *, estimated_bytes: int = 1 * MIB, committed: bool = True) -> list[ReadRequest]:
    """Return a request for all that each partition has now."""
    ends = end_offsets(bootstrap, topic, committed=committed)
    return [
        ReadRequest(Range(TopicPartition(topic, partition), 0, end), estimated_bytes)
        for partition, end in ends.items()
        if end
    ]


def cut(request: ReadRequest, *cuts: int) -> list[ReadRequest]:
    """Cut a request at offsets."""
    edges = [request.range.start, *cuts, request.range.end]
    return [
        ReadRequest(Range(request.range.partition, start, end), request.estimated_bytes)
        for start, end in itertools.pairwise(edges)
    ]


def records(read: RangeRead) -> list[Record]:
    return [record for batch in read.batches() for record in records_of(batch, read.range.partition.partition)]


def records_of(batch: pa.RecordBatch, partition: int) -> Iterable[Record]:
    for row in batch.to_pylist():
        headers = tuple((header["key"].decode(), header["value"]) for header in row.get("headers", ()))
        yield Record(row["value"], row["key"], partition, row["timestamp"], headers, row["offset"])


def read_records(reader: KafkaReader, requests: Sequence[ReadRequest]) -> dict[Range, list[Record]]:
    return {read.range: records(read) for read in reader.read(requests)}


def expected(
    bootstrap: str, topic: str, requests: Sequence[ReadRequest], *, committed: bool = True
) -> dict[Range, Any]:
    """Return what kafka-python's consumer reads, cut into the ranges."""
    found = read_all(bootstrap, topic, committed=committed)
    return {
        request.range: [
            record
            for record in found[request.range.partition.partition]
            if record.offset is not None and request.range.start <= record.offset < request.range.end
        ]
        for request in requests
    }


def produce_numbers(broker: KafkaBroker, topic: str, count: int, codec: str, properties: Mapping[str, str]) -> None:
    """Write the values ``b"0"``, ``b"1"``, … by Kafka's Java producer, which has every codec."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "compression.type": codec,
        "linger.ms": "5",
        "max.in.flight.requests.per.connection": "1",
        **properties,
    }
    broker.run_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(count), "--payload-monotonic", "--throughput", "-1"),
        *("--producer-props", *(f"{key}={value}" for key, value in settings.items())),
    )


def write_transactions(bootstrap: str, topic: str, *, rounds: int = 6) -> None:
    """Committed and aborted transactions, of one and of several producers at once, between other records.

    Six rounds leave 880 of 1420 records committed.
    """

    def some(what: str, count: int) -> list[Record]:
        return [
            Record(
                f"{what} {number}".encode() * 20, f"{number}".encode(), timestamp=1_000 + number, headers=[("h", b"")]
            )
            for number in range(count)
        ]

    produce(bootstrap, topic, some("before", 50))
    for round_number in range(rounds):
        with transaction(bootstrap, f"{topic}-a") as first, transaction(bootstrap, f"{topic}-b") as second:
            for part in range(3):
                first.produce(topic, some(f"first {round_number} {part}", 40))
                second.produce(topic, some(f"second {round_number} {part}", 30))
            produce(bootstrap, topic, some(f"between {round_number}", 10))
            if round_number % 2:
                first.abort()
            if round_number % 3 == 0:
                second.abort()
    produce(bootstrap, topic, some("after", 50), compression="gzip")


def write_compacted(bootstrap: str, topic: str, *, padding: bytes = b"") -> None:
    """Write a topic (``cleanup.policy=compact``) and wait until compaction left holes in it.

    The broker must have a short ``log.cleaner.backoff.ms``.
    """
    alter_topic(
        bootstrap, topic, {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    )
    for round_number in range(8):
        written = [
            Record(
                None if number % 11 == 0 else f"{round_number} {number}".encode() * 5 + padding,
                f"{number % 37}".encode(),
            )
            for number in range(200)
        ]
        produce(bootstrap, topic, written, batch_size=2_000)
        time.sleep(0.15)  # older than segment.ms, so that the next write begins a new segment

    def compacted() -> bool:
        return len(read_all(bootstrap, topic)[0]) < 500

    wait_until(compacted, 60)


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)
