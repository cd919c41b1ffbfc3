"""Offsets that are read through clients which have seen brokers go and come."""

from collections.abc import Callable

from kafka.protocol.admin import ElectionType

from logpersister.group.offsets import OffsetReader
from logpersister.ranges import TopicPartition
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaCluster
from tests.stack.clients import admin_client
from tests.stack.topics import produce

PARTITIONS = range(6)


def test_a_broker_that_was_away_when_the_client_began_is_asked_when_it_leads_again(
    kafka: KafkaCluster, topic: Callable[..., str], unique: str
) -> None:
    name = topic(len(PARTITIONS))
    produce(kafka.bootstrap, name, [b"record"] * 3)
    partitions = [TopicPartition(name, number) for number in PARTITIONS]
    away = kafka.brokers[-1]
    away.stop()
    reader = OffsetReader({"bootstrap_servers": kafka.reachable.split(",")}, unique, read_committed=True)

    def leaders() -> set[int]:
        return set(reader.describe([name])[name].leaders.values())

    try:
        assert away.node not in leaders()
        eventually("the others are asked", lambda: reader.ends(partitions).errors == {})
        kafka.recover()
        with admin_client(kafka.bootstrap) as client:
            client.elect_leaders(ElectionType.PREFERRED, {name: list(PARTITIONS)})
        eventually("it leads again", lambda: away.node in leaders())
        assert reader.ends(partitions).errors == {}
    finally:
        reader.close()
