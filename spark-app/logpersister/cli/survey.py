"""Surveys topics: partitions, records, and bytes where Kafka tells them."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from kafka.errors import KafkaError

from logpersister.group.offsets import LogReader
from logpersister.kafka_client.admin import admin_client
from logpersister.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class TopicSize:
    """A topic, roughly."""

    partitions: int
    offsets: int | None
    """Between begin and end of its partitions, which is about the number of records; None: it could not be asked."""
    bytes: int | None
    """Bytes on disk, of one replica per partition; None: this user may not ask the brokers for it."""


def survey(config: Mapping[str, Any], topics: Mapping[str, int]) -> dict[str, TopicSize]:
    """Ask about topics, given with the numbers of their partitions. Raises KafkaError."""
    partitions = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
    with closing(LogReader(config, read_committed=False)) as reader:
        starts, ends = reader.log_starts(partitions).values, reader.ends(partitions).values
    on_disk = _bytes(config, topics)
    sizes = {}
    for topic, count in topics.items():
        mine = [TopicPartition(topic, number) for number in range(count)]
        known = all(partition in starts and partition in ends for partition in mine)
        offsets = sum(ends[partition] - starts[partition] for partition in mine) if known else None
        sizes[topic] = TopicSize(count, offsets, on_disk.get(topic))
    return sizes


def _bytes(config: Mapping[str, Any], topics: Mapping[str, int]) -> Mapping[str, int]:
    """Return bytes by topic; nothing when the user may not describe the cluster."""
    largest: defaultdict[TopicPartition, int] = defaultdict(int)
    try:
        with admin_client(config) as admin:
            brokers = admin.describe_log_dirs(list(topics)) if topics else []
    except KafkaError:
        return {}
    for broker in brokers:
        for directory in broker.get("log_dirs", broker.get("results", ())):
            for topic in directory["topics"]:
                for one in topic["partitions"]:
                    # Replicas hold the same, and some lag behind.
                    partition = TopicPartition(topic["name"], one["partition_index"])
                    largest[partition] = max(largest[partition], one["partition_size"])
    sums: defaultdict[str, int] = defaultdict(int)
    for partition, size in largest.items():
        sums[partition.topic] += size
    return sums
