"""What the reader reads, compared with kafka-python's consumer."""

from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest

from logpersister.pipeline.reader import ReaderSettings, connection, response
from logpersister.pipeline.reader.settings import MIB
from logpersister.ranges import TopicPartition
from tests.integration.harness.logs import write_transactions
from tests.integration.reader.reading import SMALL, MakeTopic, Open, expected, read_records, whole
from tests.stack import KafkaBroker
from tests.stack.topics import (
    Record,
    produce,
    produce_many,
)


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


def test_samples(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"v" * 100] * 5000, batch_size=10_000)
    reader = open_reader()
    sample = reader.sample(TopicPartition(name, 0), 1000, 100_000)
    assert sample["offset"].to_numpy()[0] == 1000
    assert 500 < sample.num_rows < 2000
    assert reader.sample(TopicPartition(name, 0), 5000, 100_000).num_rows == 0


@pytest.mark.parametrize("version", [4, 12])
def test_topics_by_name_on_brokers_before_topic_ids(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Such brokers answer with older metadata, which name no ids."""
    name = topic()
    write_transactions(kafka.bootstrap, name, rounds=2)
    requests = whole(kafka.bootstrap, name)
    monkeypatch.setattr(connection, "MetadataRequest", _OldMetadataRequest)
    monkeypatch.setattr(response, "HIGHEST_VERSION_BY_NAME", version)
    assert read_records(open_reader(SMALL), requests) == expected(kafka.bootstrap, name, requests)


class _OldMetadataRequest(MetadataRequest, init=False):  # type: ignore[misc, call-arg]
    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields, max_version=8)
