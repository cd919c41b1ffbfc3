from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaConnectionError, KafkaTimeoutError, NotCoordinatorError, UnknownBrokerIdError
from kafka.protocol.metadata import CoordinatorType, MetadataRequest

from logpersister.group import offsets
from logpersister.group.offsets import OffsetReader
from logpersister.kafka_client.causes import in_words
from logpersister.ranges import TopicPartition

BAD, SILENT = "forbidden", 3


class FakeAdmin:
    """kafka-python's admin client, and the brokers behind it."""

    def __init__(self, **_: Any) -> None:
        self.asked: list[int | None] = []
        """Brokers that were asked for offsets."""
        self.described = 0
        self.leaders: dict[str, dict[int, int]] = {}
        """Of topics that do not have one partition led by broker 1."""
        self.committed: dict[KafkaTopicPartition, Any] = {}
        self.errors: list[Exception] = []
        """Of the next questions to the coordinator."""
        self.coordinators = {(CoordinatorType.GROUP, "backup"): 1}
        self.in_service = {1, 2, SILENT}
        self.known = set(self.in_service)
        """Brokers whose address the client has learnt."""
        cluster = SimpleNamespace(
            _coordinators=self.coordinators,
            brokers=list,
            broker_metadata=lambda node: node if node in self.known else None,
        )
        self._manager = SimpleNamespace(cluster=cluster)

    def list_group_offsets(self, specs: Mapping[str, Any]) -> dict[str, Any]:
        if self.errors:
            raise self.errors.pop()
        return {group: {p: self.committed[p] for p in asked if p in self.committed} for group, asked in specs.items()}

    def answer(self, node: int | None, request: Any) -> Any:
        """Answer as a broker does."""
        if isinstance(request, MetadataRequest):
            self.described += 1
            return SimpleNamespace(topics=[self._topic(topic.name) for topic in request.topics])
        self.asked.append(node)
        if node not in self.known:
            return UnknownBrokerIdError(node)
        topics = [
            SimpleNamespace(
                name=topic.name, partitions=[self._position(topic.name, node, it) for it in topic.partitions]
            )
            for topic in request.topics
        ]
        return KafkaTimeoutError("broker 3 does not answer") if node == SILENT else SimpleNamespace(topics=topics)

    def _topic(self, name: str) -> Any:
        leaders = self.leaders.get(name, {0: 1})
        entries = [SimpleNamespace(partition_index=p, leader_id=node, replica_nodes=[2]) for p, node in leaders.items()]
        number = 0 if name == "old" else 5
        return SimpleNamespace(
            name=name, error_code=29 if name == BAD else 0, topic_id=UUID(int=number), partitions=entries
        )

    def _position(self, topic: str, node: int | None, asked: Any) -> Any:
        moved = self.leaders.get(topic, {0: 1})[asked.partition_index] != node
        offset = -1 if asked.timestamp == 10**15 else 7
        return SimpleNamespace(
            partition_index=asked.partition_index, error_code=6 if moved else 0, offset=offset, timestamp=99
        )


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> OffsetReader:
    monkeypatch.setattr(offsets, "admin_client", lambda config: FakeAdmin(**config))
    monkeypatch.setattr(offsets, "refresh_brokers", lambda admin: admin.known.update(admin.in_service))
    monkeypatch.setattr(offsets, "LEADER_PAUSES", (0.0, 0.0))
    made = OffsetReader({}, "backup", read_committed=True)

    def ask(requests: list[tuple[int | None, Any]]) -> list[Any]:
        return [admin_of(made).answer(node, request) for node, request in requests]

    monkeypatch.setattr(made._brokers, "ask", ask)
    return made


def admin_of(reader: OffsetReader) -> FakeAdmin:
    admin: Any = reader._admin
    assert isinstance(admin, FakeAdmin)
    return admin


def test_after_an_error_the_coordinator_is_looked_for_anew(reader: OffsetReader) -> None:
    """kafka-python keeps the one that it once found, for ever."""
    admin = admin_of(reader)
    admin.errors = [KafkaConnectionError("gone")]
    with pytest.raises(KafkaConnectionError):
        reader.committed([TopicPartition("t", 0)])
    assert admin.coordinators == {}
    admin.errors = [NotCoordinatorError()]
    assert reader.committed([TopicPartition("t", 0)]) == {}, "at once, when the broker says that it is not"


def test_a_partition_that_cannot_be_asked_hides_no_other(reader: OffsetReader) -> None:
    """A topic that is not authorised, a partition without a leader, a leader that is silent."""
    admin_of(reader).leaders = {"clicks": {0: 1, 1: -1, 2: SILENT}}
    clicks = [TopicPartition("clicks", number) for number in range(3)]
    answer = reader.ends([*clicks, TopicPartition(BAD, 0), TopicPartition("other", 0)])
    assert answer.values == {clicks[0]: 7, TopicPartition("other", 0): 7}
    assert {partition: in_words(error) for partition, error in answer.errors.items()} == {
        clicks[1]: "it has no leader: start broker 2",
        clicks[2]: "no broker has answered within the time (broker 3 does not answer)",
        TopicPartition(BAD, 0): "the broker answers TOPIC_AUTHORIZATION_FAILED",
    }
    admin_of(reader).asked.clear()
    admin_of(reader).leaders["clicks"][1] = 2
    assert reader.ends([clicks[0]]).values == {clicks[0]: 7}
    assert admin_of(reader).asked == [1], "who is asked for is known"


def test_a_leader_that_has_moved_is_looked_for(reader: OffsetReader) -> None:
    partition = TopicPartition("clicks", 0)
    assert reader.ends([partition]).values == {partition: 7}
    admin_of(reader).leaders["clicks"] = {0: 2}
    assert reader.ends([partition]).values == {partition: 7}
    described = admin_of(reader).described
    assert reader.ends([partition]).values == {partition: 7}
    assert (admin_of(reader).asked, admin_of(reader).described) == ([1, 1, 2, 2], described)


def test_a_leader_that_was_down_for_long_is_asked_again(reader: OffsetReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client has learnt its brokers meanwhile, and would not do so again for five minutes."""
    monkeypatch.setattr(offsets, "LOOK_SECONDS", 0.0)
    admin, partition = admin_of(reader), TopicPartition("clicks", 0)
    admin.leaders["clicks"] = {0: -1}
    admin.known.remove(2)
    admin.in_service.remove(2)
    for _ in range(2):
        assert partition in reader.ends([partition]).errors
    admin.leaders["clicks"] = {0: 2}
    admin.in_service.add(2)
    assert reader.ends([partition]).values == {partition: 7}
