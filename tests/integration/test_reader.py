"""The reader on a real broker. What it reads is compared with kafka-python's consumer."""

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka.net.connection import KafkaConnection
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.metadata import MetadataRequest

from logpersister.pipeline.reader import KafkaReader, RangeReadError, ReaderSettings, ReadRequest, connection, response
from logpersister.pipeline.reader.settings import MIB
from logpersister.ranges import Range, TopicPartition
from tests.integration import reading
from tests.integration.reading import SMALL, cut, expected, read_records, records, whole
from tests.stack import KafkaBroker
from tests.stack.ports import free_port
from tests.stack.topics import (
    Record,
    admin,
    create_topic,
    delete_records,
    delete_topic,
    produce,
    produce_many,
)

USER, PASSWORD = "alice", "correct-horse-battery"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker of these tests alone, because they kill it. Hides the session's."""
    broker = KafkaBroker(
        tmp_path_factory.mktemp("reader"),
        listeners=["SSL", "SASL_SSL"],
        users={USER: PASSWORD},
        properties={"log.cleaner.backoff.ms": "200"},
    )
    with broker:
        yield broker


@pytest.fixture
def open_reader(kafka: KafkaBroker) -> Iterator[Callable[..., KafkaReader]]:
    opened: list[KafkaReader] = []

    def open_one(settings: ReaderSettings | None = None, **config: Any) -> KafkaReader:
        # The pause is the product's own (kafka_client.config).
        common = {"bootstrap_servers": kafka.bootstrap, "reconnect_backoff_max_ms": 5_000}
        opened.append(KafkaReader({**common, **config}, settings))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


Open = Callable[..., KafkaReader]
MakeTopic = Callable[..., str]


def test_a_large_partition_streams_in_bounded_memory(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce_many(kafka, name, records=10_000, record_bytes=4_000)
    reader = open_reader(ReaderSettings(headers=True))
    (found,) = read_records(reader, whole(kafka.bootstrap, name, estimated_bytes=40 * MIB)).values()
    assert [record.offset for record in found] == list(range(10_000))
    assert {len(record.value or b"") for record in found} == {4_000}
    assert 9 <= reader.stats.fetches <= 14
    assert reader.stats.peak_buffer_bytes <= reader.settings.buffer_bytes
    assert reader.stats.wasted_bytes < 3 * MIB
    assert not reader.stats.retries


def test_hundreds_of_small_partitions_come_in_one_request(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open
) -> None:
    name = topic(partitions=300)
    produce(kafka.bootstrap, name, [Record(b"%d" % number, partition=number % 300) for number in range(1500)])
    reader = open_reader(ReaderSettings(headers=True))
    requests = whole(kafka.bootstrap, name, estimated_bytes=500)
    found = read_records(reader, requests)
    assert found == expected(kafka.bootstrap, name, requests)
    assert sum(len(one) for one in found.values()) == 1500
    assert reader.stats.fetches == 1


@pytest.mark.parametrize("settings", [ReaderSettings(headers=True), SMALL], ids=["default", "small"])
def test_records_larger_than_a_fetch(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, settings: ReaderSettings
) -> None:
    name = topic(max_message_bytes=8 * MIB)
    large = [Record(bytes([number]) * (6 * MIB), partition=0) for number in range(3)]
    mixed = [large[0], Record(b"small", partition=0), large[1], Record(b"small", partition=0), large[2]]
    produce(kafka.bootstrap, name, mixed, max_request_size=8 * MIB)
    reader = open_reader(settings)
    (found,) = read_records(reader, whole(kafka.bootstrap, name)).values()
    assert [record.value for record in found] == [record.value for record in mixed]
    assert reader.stats.peak_buffer_bytes < 2 * 6 * MIB + settings.buffer_bytes


@pytest.mark.parametrize("committed", [True, False])
def test_transactions(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, committed: bool) -> None:
    name = topic()
    reading.write_transactions(kafka.bootstrap, name)
    (request,) = whole(kafka.bootstrap, name)
    requests = [*cut(request, 60, 137, 138, 700)]
    wanted = expected(kafka.bootstrap, name, requests, committed=committed)
    for settings in (SMALL, ReaderSettings(headers=True)):
        reader = open_reader(replace(settings, read_committed=committed))
        assert read_records(reader, requests) == wanted
    assert sum(len(one) for one in wanted.values()) == (880 if committed else 1420)


def test_compacted_topics_have_gaps(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic(cleanup_policy="compact")
    reading.write_compacted(kafka.bootstrap, name)
    (request,) = whole(kafka.bootstrap, name)
    requests = cut(request, 100, 101, 555, 1399)
    reader = open_reader(SMALL)
    found = read_records(reader, requests)
    assert found == expected(kafka.bootstrap, name, requests)
    assert any(not one for one in found.values())
    assert "corrupt" not in reader.stats.retries


@pytest.mark.parametrize("codec", reading.CODECS)
def test_every_codec(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, codec: str) -> None:
    name = topic()
    reading.produce_numbers(kafka, name, 20_000, codec, {})
    (found,) = read_records(open_reader(SMALL), whole(kafka.bootstrap, name)).values()
    assert [record.value for record in found] == [b"%d" % number for number in range(20_000)]
    assert [record.offset for record in found] == list(range(20_000))


def test_nulls_empty_values_headers_and_log_append_time(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open
) -> None:
    odd = [
        Record(None, b"tombstone"),
        Record(b"", b""),
        Record(b"x", None, headers=[("a", b"1"), ("a", b""), ("ü", b"\xff")]),
        Record(b"y", b"k", timestamp=0),
    ]
    for settings in ({}, {"message_timestamp_type": "LogAppendTime"}):
        name = topic(**settings)
        produce(kafka.bootstrap, name, odd)
        requests = whole(kafka.bootstrap, name)
        assert read_records(open_reader(SMALL), requests) == expected(kafka.bootstrap, name, requests)


def test_ranges_that_are_given_up_leave_the_others_alone(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open
) -> None:
    name = topic(partitions=6)
    produce(kafka.bootstrap, name, [Record(b"v" * 900, partition=number % 6) for number in range(3000)])
    requests = whole(kafka.bootstrap, name)
    wanted = expected(kafka.bootstrap, name, requests)
    for place, read in enumerate(open_reader(SMALL).read(requests)):
        batches = read.batches()
        if place % 2:
            next(batches)
            continue
        assert [
            record for batch in batches for record in reading.records_of(batch, read.range.partition.partition)
        ] == (wanted[read.range])


def test_deleted_records_are_reported_as_lost(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic(partitions=2)
    produce(kafka.bootstrap, name, [Record(b"v", partition=number % 2) for number in range(200)])
    delete_records(kafka.bootstrap, name, {0: 40})
    reader = open_reader()
    for read in reader.read(whole(kafka.bootstrap, name)):
        if read.range.partition.partition == 1:
            assert len(records(read)) == 100
            continue
        with pytest.raises(RangeReadError, match="log begins at 40") as caught:
            records(read)
        assert (caught.value.kind, caught.value.offset, caught.value.log_start) == ("data-lost", 0, 40)
    ((_, rest),) = read_records(reader, [ReadRequest(Range(TopicPartition(name, 0), 40, 100), 1)]).items()
    assert len(rest) == 60


def test_records_deleted_while_they_are_read(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v" * 1000] * 2000)
    seen: list[int | None] = []
    with pytest.raises(RangeReadError) as caught:
        for read in open_reader(SMALL).read(whole(kafka.bootstrap, name, estimated_bytes=2 * MIB)):
            for batch in read.batches():
                if not seen:
                    delete_records(kafka.bootstrap, name, {0: 1500})
                seen += [record.offset for record in reading.records_of(batch, 0)]
    assert (caught.value.kind, caught.value.log_start) == ("data-lost", 1500)
    assert seen == list(range(caught.value.offset))


def test_offsets_behind_the_end_are_truncation(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    with pytest.raises(RangeReadError) as caught:
        read_records(open_reader(), [ReadRequest(Range(TopicPartition(name, 0), 20, 30), 1)])
    assert (caught.value.kind, caught.value.log_end) == ("truncated", 10)


def test_records_that_come_later_are_waited_for(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    """As when a replica lags behind the one that the planner asked."""
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    later = threading.Timer(1.0, lambda: produce(kafka.bootstrap, name, [b"w"] * 10))
    later.start()
    reader = open_reader()
    (found,) = read_records(reader, [ReadRequest(Range(TopicPartition(name, 0), 0, 20), 1)]).values()
    later.join()
    assert len(found) == 20
    assert reader.stats.fetches < 20


def test_a_deleted_topic_is_unknown(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v" * 1000] * 1000)
    settings = replace(SMALL, unknown_topic_timeout=2)
    with pytest.raises(RangeReadError) as caught:
        for read in open_reader(settings).read(whole(kafka.bootstrap, name)):
            for _ in read.batches():
                if _topic_exists(kafka, name):
                    delete_topic(kafka.bootstrap, name)
    assert (caught.value.kind, caught.value.partition) == ("unknown-topic", TopicPartition(name, 0))
    assert not _topic_exists(kafka, name)  # asking did not create it


def _topic_exists(kafka: KafkaBroker, name: str) -> bool:
    with admin(kafka.bootstrap) as client:
        return name in client.list_topics()


def test_a_topic_made_anew_is_never_taken_for_the_old_one(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"old" * 300] * 1000)
    seen: set[bytes | None] = set()
    with pytest.raises(RangeReadError) as caught:
        for read in open_reader(SMALL).read(whole(kafka.bootstrap, name)):
            for batch in read.batches():
                if not seen:
                    delete_topic(kafka.bootstrap, name)
                    reading.wait_until(lambda: not _topic_exists(kafka, name), 30)
                    create_topic(kafka.bootstrap, name)
                    produce(kafka.bootstrap, name, [b"new" * 300] * 1000)
                seen |= {record.value for record in reading.records_of(batch, 0)}
    assert caught.value.kind == "topic-recreated"
    assert seen == {b"old" * 300}


def test_a_broker_that_is_killed_and_comes_back(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic(partitions=3)
    produce(kafka.bootstrap, name, [Record(b"v" * 1000, partition=number % 3) for number in range(6000)])
    requests = whole(kafka.bootstrap, name, estimated_bytes=2 * MIB)
    wanted = expected(kafka.bootstrap, name, requests)
    reader = open_reader(replace(SMALL, backoff_max=1), reconnect_backoff_max_ms=500)
    restarted: list[threading.Thread] = []
    found: dict[Range, list[Record]] = {}
    for read in reader.read(requests):
        found[read.range] = []
        for batch in read.batches():
            found[read.range] += reading.records_of(batch, read.range.partition.partition)
            if not restarted:
                kafka.kill()
                restarted.append(threading.Thread(target=kafka.restart))
                restarted[0].start()
    restarted[0].join()
    assert found == wanted
    assert reader.stats.retries
    assert sum(reader.stats.retries.values()) < 500


def test_a_broker_that_freezes(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v" * 1000] * 2000)
    requests = whole(kafka.bootstrap, name, estimated_bytes=2 * MIB)
    wanted = expected(kafka.bootstrap, name, requests)
    reader = open_reader(SMALL, request_timeout_ms=1000)

    def thaw_when_noticed() -> None:
        try:
            reading.wait_until(lambda: bool(reader.stats.retries), 60)
        finally:
            kafka.resume()

    thaw = threading.Thread(target=thaw_when_noticed)
    found: list[Record] = []
    for read in reader.read(requests):
        for batch in read.batches():
            if not found:
                kafka.suspend()
                thaw.start()
            found += reading.records_of(batch, 0)
    thaw.join()
    assert found == wanted[requests[0].range]
    assert "timed-out" in reader.stats.retries


def test_tls_and_login(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, tmp_path: Path) -> None:
    assert kafka.certificates is not None
    name = topic()
    produce_many(kafka, name, records=5_000, record_bytes=1_000)
    requests = whole(kafka.bootstrap, name, estimated_bytes=5 * MIB)
    certificates = kafka.certificates
    tls = {
        "ssl_cafile": str(certificates.authority),
        "ssl_certfile": str(certificates.client_certificate),
        "ssl_keyfile": str(certificates.client_key),
    }
    ways: list[Mapping[str, Any]] = [
        {"bootstrap_servers": kafka.address("SSL"), "security_protocol": "SSL", **tls},
        {
            "bootstrap_servers": kafka.address("SASL_SSL"),
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": USER,
            "sasl_plain_password": PASSWORD,
            "ssl_cafile": str(certificates.authority),
        },
    ]
    for way in ways:
        reader = open_reader(**way)
        (found,) = read_records(reader, requests).values()
        assert [record.offset for record in found] == list(range(5_000))
        assert not reader.stats.retries
    wrong = open_reader(**{**ways[1], "sasl_plain_password": "wrong"})
    began = time.monotonic()
    with pytest.raises(RangeReadError) as caught:
        read_records(wrong, requests)
    assert time.monotonic() - began < 20  # at once, not after connect_timeout
    assert (caught.value.kind, caught.value.retriable) == ("unauthorized", False)
    assert "wrong" not in str(caught.value)


def test_nobody_listens(open_reader: Open) -> None:
    address = f"127.0.0.1:{free_port()}"
    reader = open_reader(ReaderSettings(connect_timeout=2), bootstrap_servers=address)
    with pytest.raises(RangeReadError) as caught:
        read_records(reader, [ReadRequest(Range(TopicPartition("t", 0), 0, 1), 1)])
    assert (caught.value.kind, caught.value.retriable) == ("kafka", True)
    assert address in str(caught.value)


def test_one_server_of_several_says_nothing(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    requests = whole(kafka.bootstrap, name)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = [f"127.0.0.1:{silent.getsockname()[1]}"] * 3 + [kafka.bootstrap]  # the order of trying is random
        config = {"bootstrap_servers": servers, "socket_connection_setup_timeout_ms": 1_000}
        (found,) = read_records(open_reader(ReaderSettings(connect_timeout=30), **config), requests).values()
    assert len(found) == 10


def test_samples(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v" * 100] * 5000, batch_size=10_000)
    reader = open_reader()
    sample = reader.sample(TopicPartition(name, 0), 1000, 100_000)
    assert sample["offset"].to_numpy()[0] == 1000
    assert 500 < sample.num_rows < 2000
    assert reader.sample(TopicPartition(name, 0), 5000, 100_000).num_rows == 0


def test_a_reader_leaves_nothing_behind_and_opens_again(kafka: KafkaBroker, topic: MakeTopic) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    before = threading.active_count()
    reader = KafkaReader({"bootstrap_servers": kafka.bootstrap})
    for _ in range(2):
        (found,) = read_records(reader, whole(kafka.bootstrap, name)).values()
        assert len(found) == 10
        reader.close()
        assert threading.active_count() == before


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_its_own_connections(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    """Spark forks its Python workers."""
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    reader = open_reader()
    requests = whole(kafka.bootstrap, name)
    (before,) = read_records(reader, requests).values()
    result, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            (found,) = read_records(reader, requests).values()
            reader.close()
            os.write(told, b"%d" % len(found))
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(result) as answer:
        assert answer.read() == "10"
    os.waitpid(child, 0)
    (after,) = read_records(reader, requests).values()
    assert after == before


def test_hundreds_of_reads_leave_nothing_behind(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic(partitions=2)
    produce(kafka.bootstrap, name, [Record(b"v" * 900, partition=number % 2) for number in range(400)])
    requests = whole(kafka.bootstrap, name, estimated_bytes=200_000)
    reader = open_reader(SMALL)

    def some_reads() -> None:
        for number in range(120):
            for read in reader.read(requests):
                batches = read.batches()
                if number % 2:
                    next(batches)  # given up
                else:
                    assert sum(batch.num_rows for batch in batches) == 200
            reader.sample(requests[0].range.partition, 100, 10_000)
            if number % 40 == 0:
                reader.close()

    some_reads()
    before = _held()
    some_reads()
    assert _held() == before


def _held() -> tuple[int, int, int]:
    """Open files, threads, and objects of the library's connections."""
    gc.collect()
    connections = sum(issubclass(type(one), (KafkaConnection, KafkaTCPTransport)) for one in gc.get_objects())
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), connections


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_topics_by_name_on_brokers_before_topic_ids(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Such brokers answer with older metadata, which name no ids."""
    name = topic()
    reading.write_transactions(kafka.bootstrap, name, rounds=2)
    requests = whole(kafka.bootstrap, name)
    monkeypatch.setattr(connection, "MetadataRequest", _OldMetadataRequest)
    monkeypatch.setattr(response, "HIGHEST_VERSION_BY_NAME", version)
    assert read_records(open_reader(SMALL), requests) == expected(kafka.bootstrap, name, requests)


class _OldMetadataRequest(MetadataRequest, init=False):  # type: ignore[misc, call-arg]
    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields, max_version=8)
