from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaConnectionError, NotCoordinatorError, TopicAuthorizationFailedError
from kafka.protocol.metadata import CoordinatorType

from logpersister.group import offsets
from logpersister.group.answers import TopicDescription
from logpersister.group.offsets import OffsetReader
from logpersister.plan.intents import CommittedOffset, OffsetMetadata, UnknownMetadataError
from logpersister.ranges import TopicPartition, topic_id_text

BAD = "forbidden"


class FakeAdmin:
    """Answers as kafka-python's admin client: one bad topic fails the whole request."""

    def __init__(self, **_: Any) -> None:
        self.asked: list[set[str]] = []
        self.committed: dict[KafkaTopicPartition, Any] = {}
        self.errors: list[Exception] = []
        """Of the next questions to the coordinator."""
        self.coordinators = {(CoordinatorType.GROUP, "backup"): 1}
        self._manager = SimpleNamespace(cluster=SimpleNamespace(_coordinators=self.coordinators))

    def list_group_offsets(self, specs: Mapping[str, Any]) -> dict[str, Any]:
        if self.errors:
            raise self.errors.pop()
        return {group: {p: self.committed[p] for p in asked if p in self.committed} for group, asked in specs.items()}

    def list_partition_offsets(self, specs: Mapping[KafkaTopicPartition, int], **_: Any) -> dict[Any, Any]:
        topics = {partition.topic for partition in specs}
        self.asked.append(topics)
        if BAD in topics:
            raise TopicAuthorizationFailedError(BAD)
        return {p: SimpleNamespace(offset=-1 if spec == 10**15 else 7, timestamp=99) for p, spec in specs.items()}

    def describe_topics(self, topics: list[str]) -> list[dict[str, Any]]:
        return [
            {
                "name": topic,
                "error_code": 29 if topic == BAD else 0,
                "topic_id": UUID(int=0 if topic == "old" else 5),
                "partitions": [{"partition_index": 0, "leader_id": -1}],
            }
            for topic in topics
        ]

    def describe_configs(self, resources: list[Any], config_filter: str) -> dict[str, Any]:
        """Answer as a broker does: nothing for a topic whose configuration one must not see."""
        assert config_filter == "all"
        policies = {"compacted": "delete,compact", "deleted": "delete"}
        known = {one.name: policies.get(one.name) for one in resources}
        return {"topic": {name: {"cleanup.policy": {"value": value}} if value else {} for name, value in known.items()}}

    def list_topics(self) -> list[str]:
        return ["web.b", "web.a", "audit"]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> OffsetReader:
    monkeypatch.setattr(offsets, "admin_client", lambda config: FakeAdmin(**config))
    return OffsetReader({}, "backup", read_committed=True)


def admin_of(reader: OffsetReader) -> FakeAdmin:
    admin: Any = reader._admin
    assert isinstance(admin, FakeAdmin)
    return admin


def test_committed_offsets_come_with_their_marks(reader: OffsetReader) -> None:
    marks = {0: "lp1;topic=-;gen=1", 1: "", 2: None, 3: "lp2;whatever", 4: ""}
    found = {KafkaTopicPartition("t", index): SimpleNamespace(offset=10, metadata=it) for index, it in marks.items()}
    found[KafkaTopicPartition("t", 4)].offset = -1
    admin_of(reader).committed = found
    answer = reader.committed([TopicPartition("t", index) for index in range(6)])
    assert answer[TopicPartition("t", 0)] == CommittedOffset(10, OffsetMetadata(None, 1))
    assert answer[TopicPartition("t", 1)] == CommittedOffset(10, None)
    assert answer[TopicPartition("t", 2)] == CommittedOffset(10, None)
    assert isinstance(answer[TopicPartition("t", 3)], UnknownMetadataError)
    assert answer[TopicPartition("t", 4)] is None, "no committed offset"
    assert TopicPartition("t", 5) not in answer, "not told is not the same as none"
    assert reader.committed([]) == {}


def test_after_an_error_the_coordinator_is_looked_for_anew(reader: OffsetReader) -> None:
    """kafka-python keeps the one that it once found, for ever."""
    admin = admin_of(reader)
    admin.errors = [KafkaConnectionError("gone")]
    with pytest.raises(KafkaConnectionError):
        reader.committed([TopicPartition("t", 0)])
    assert admin.coordinators == {}
    admin.errors = [NotCoordinatorError()]
    assert reader.committed([TopicPartition("t", 0)]) == {}, "at once, when the broker says that it is not"


def test_a_topic_that_cannot_be_asked_hides_no_other(reader: OffsetReader) -> None:
    names = [f"topic-{index:02}" for index in range(31)] + [BAD]
    answer = reader.ends([TopicPartition(name, 0) for name in names])
    assert answer.values == {TopicPartition(name, 0): 7 for name in names if name != BAD}
    assert answer.errors.keys() == {BAD}
    assert len(admin_of(reader).asked) <= 11, "found by halving"


def test_no_record_since_a_time_is_none(reader: OffsetReader) -> None:
    answer = reader.first_since({TopicPartition("a", 0): 5, TopicPartition("b", 0): 10**15})
    assert answer.values == {TopicPartition("a", 0): (7, 99), TopicPartition("b", 0): None}


def test_topics_are_described_with_their_ids(reader: OffsetReader) -> None:
    described = reader.describe(["clicks", "old", BAD, "clicks"])
    assert described == {
        "clicks": TopicDescription(topic_id_text(UUID(int=5)), {0: -1}),
        "old": TopicDescription(None, {0: -1}),
    }


@pytest.mark.parametrize(("topic", "expected"), [("compacted", True), ("deleted", False), (BAD, None)])
def test_whether_a_topic_is_compacted(reader: OffsetReader, topic: str, expected: bool | None) -> None:
    assert reader.compacted(topic) is expected


def test_topics_are_matched_by_name(reader: OffsetReader) -> None:
    assert reader.topics_matching(lambda topic: topic.startswith("web.")) == ["web.a", "web.b"]
