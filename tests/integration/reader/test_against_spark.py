"""The reader against Spark's Kafka source (the Java consumer): the same records, whatever the log looks like."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pytest

from logpersister.pipeline.reader import KafkaReader, ReaderSettings, ReadRequest
from tests.integration.harness.logs import write_compacted, write_transactions
from tests.integration.reader import reading
from tests.integration.reader.reading import SMALL
from tests.integration.reader.spark_source import read_by_spark
from tests.stack import KafkaBroker
from tests.stack.topics import Record, alter_topic, create_topic, produce

ISOLATION = {True: "read_committed", False: "read_uncommitted"}

ODD = [
    Record(None, b"tombstone"),
    Record(b"", b""),
    Record(b"value", None, headers=[("a", b"1"), ("a", b""), ("ü", b"\xff\x00")]),
    Record(bytes(range(256)) * 300, b"k" * 300, timestamp=0),
    Record(b"in the future", b"key", timestamp=4_102_444_800_000),
]


@dataclass(frozen=True)
class Log:
    """A topic that is hard to read. The broker compresses all of it anew by the codec of the topic."""

    write: Callable[[str, str], None]
    configs: Mapping[str, str] = field(default_factory=dict)
    partitions: int = 1


def _write_odd(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, ODD, compression="gzip")
    produce(bootstrap, topic, [b"x" * 700] * 500)


def _write_transactions(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [replace(record, partition=number % 2) for number, record in enumerate(ODD)])
    write_transactions(bootstrap, topic, rounds=2)


def _write_compacted_transactions(bootstrap: str, topic: str) -> None:
    """What cleaners leave of transactions: empty batches, markers without records, holes."""
    alter_topic(bootstrap, topic, {"segment.ms": "100"})
    write_transactions(bootstrap, topic, rounds=2)
    time.sleep(0.15)  # older than segment.ms, so that the next write begins a new segment
    write_compacted(bootstrap, topic)


LOGS = {
    **{
        f"transactions-{codec}": Log(
            _write_transactions, {"compression.type": "uncompressed" if codec == "none" else codec}, partitions=2
        )
        for codec in reading.CODECS
    },
    "compacted-gzip": Log(write_compacted, {"cleanup.policy": "compact", "compression.type": "gzip"}),
    "compacted-transactions": Log(_write_compacted_transactions, {"cleanup.policy": "compact"}),
    "log-append-time": Log(_write_odd, {"message.timestamp.type": "LogAppendTime"}),
}


@pytest.fixture(scope="module")
def bootstrap(kafka: KafkaBroker) -> str:
    """The address of a broker that has all logs."""
    any_time = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    for name, log in LOGS.items():
        create_topic(kafka.bootstrap, name, partitions=log.partitions, configs={**any_time, **log.configs})
    with ThreadPoolExecutor(len(LOGS)) as pool:  # to write is mostly to wait for brokers and cleaners
        list(pool.map(lambda name: LOGS[name].write(kafka.bootstrap, name), LOGS))
    for name, log in LOGS.items():
        if log.configs.get("cleanup.policy") == "compact":  # the cleaner must not come between the two readers
            alter_topic(kafka.bootstrap, name, {"cleanup.policy": "delete"})
    return kafka.bootstrap


@pytest.fixture(scope="module", params=[True, False], ids=["read_committed", "read_uncommitted"])
def committed(request: pytest.FixtureRequest) -> bool:
    found: bool = request.param
    return found


@pytest.fixture(scope="module")
def tables(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, pa.Table]:
    """Isolation level → what Spark finds in all topics."""
    return read_by_spark(bootstrap, list(LOGS), tmp_path_factory.mktemp("output"))


@pytest.fixture(scope="module")
def by_spark(tables: Mapping[str, pa.Table], committed: bool) -> Mapping[str, list[Record]]:
    """Topic → what Spark finds in it, in order."""
    found: dict[str, list[Record]] = {name: [] for name in LOGS}
    for row in tables[ISOLATION[committed]].to_pylist():
        headers = tuple((header["key"], header["value"]) for header in row["headers"] or ())
        record = Record(row["value"], row["key"], row["partition"], row["timestamp"], headers, row["offset"])
        found[row["topic"]].append(record)
    return {name: sorted(records, key=_place) for name, records in found.items()}


@pytest.mark.parametrize("settings", [ReaderSettings(headers=True), SMALL], ids=["default", "small"])
@pytest.mark.parametrize("name", LOGS)
def test_the_same_records(
    bootstrap: str, by_spark: Mapping[str, list[Record]], committed: bool, name: str, settings: ReaderSettings
) -> None:
    requests = [
        piece
        for request in reading.whole(bootstrap, name, committed=committed)
        for piece in reading.cut(request, *_inside(request, 1, 77, 300, 301))
    ]
    reader = KafkaReader({"bootstrap_servers": bootstrap}, replace(settings, read_committed=committed))
    try:
        found = reading.read_records(reader, requests)
    finally:
        reader.close()
    assert sorted((record for records in found.values() for record in records), key=_place) == by_spark[name]


def _inside(request: ReadRequest, *cuts: int) -> list[int]:
    return [cut for cut in cuts if request.range.start < cut < request.range.end]


def _place(record: Record) -> tuple[int, int]:
    assert record.partition is not None
    assert record.offset is not None
    return record.partition, record.offset


def test_the_logs_are_hard_to_read(by_spark: Mapping[str, list[Record]], committed: bool) -> None:
    """What the comparison is worth: the logs hold what they were made for."""
    for name, records in by_spark.items():
        if name.startswith("transactions"):
            assert len(records) == 5 + (330 if committed else 540)
        if name.startswith("compacted"):
            assert len(records) < _place(records[-1])[1] / 2
    everything = [record for records in by_spark.values() for record in records]
    assert any(record.key is None for record in everything)
    assert any(record.value is None for record in everything)
    assert any(record.headers for record in everything)
