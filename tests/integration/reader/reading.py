"""What the tests of the reader share: reading everything, by the reader and by kafka-python's consumer."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from logpersister.pipeline.reader import KafkaReader, RangeRead, ReaderSettings, ReadRequest
from logpersister.pipeline.reader.settings import KIB, MIB
from logpersister.ranges import Range, TopicPartition
from tests.stack.topics import Record, end_offsets, read_all

SMALL = ReaderSettings(
    headers=True, buffer_bytes=256 * KIB, request_bytes=64 * KIB, partition_bytes=4 * KIB, decode_bytes=8 * KIB
)
"""Many requests and pieces even for small topics."""

USER, PASSWORD = "alice", "correct-horse-battery"
"""Who may log in to the broker of these tests."""

Open = Callable[..., KafkaReader]
MakeTopic = Callable[..., str]

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
