"""Logs that change and brokers that fail while the reader reads."""

import threading
from dataclasses import replace

import pytest

from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.pipeline.reader.settings import MIB
from logpersister.ranges import Range, TopicPartition
from tests.integration.harness.waiting import eventually
from tests.integration.reader import reading
from tests.integration.reader.reading import SMALL, MakeTopic, Open, expected, read_records, whole
from tests.stack import KafkaBroker
from tests.stack.clients import admin_client
from tests.stack.topics import (
    Record,
    create_topic,
    delete_records,
    delete_topic,
    produce,
)


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
    with admin_client(kafka.bootstrap) as client:
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
                    eventually("the topic is gone", lambda: not _topic_exists(kafka, name))
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
            eventually("the silence is noticed", lambda: reader.stats.retries)
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
