import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from logpersister.cli.lag import GroupLag, _show_tables, document
from logpersister.group.answers import Answer, GroupDescription, GroupMember
from logpersister.group.observation import observe
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.plan.intents import CommittedOffset, Intent, UnknownMetadataError, promised, stored
from logpersister.ranges import Offset, TopicPartition

NOW = 1_800_000_000.0
P0, P1, P2 = (TopicPartition("clicks", number) for number in range(3))
KAFKA = KafkaSpec.model_validate({"bootstrapServers": "broker-1:9092", "topics": ["clicks"]})


@dataclass
class Offsets:
    """Plays `OffsetReader`: each partition has one record a second up to now."""

    commits: Mapping[TopicPartition, CommittedOffset | UnknownMetadataError | None]
    starts: Mapping[TopicPartition, Offset]
    ends_: Mapping[TopicPartition, Offset]
    errors: dict[str, Exception] = field(default_factory=dict)

    def committed(
        self, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, CommittedOffset | UnknownMetadataError | None]:
        return {partition: self.commits.get(partition) for partition in partitions}

    def log_starts(self, partitions: list[TopicPartition]) -> Answer[Offset]:
        return self._answer(self.starts, partitions)

    def ends(self, partitions: list[TopicPartition]) -> Answer[Offset]:
        return self._answer(self.ends_, partitions)

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        values: dict[TopicPartition, tuple[Offset, int] | None] = {}
        for partition, since in timestamps.items():
            start, end = self.starts[partition], self.ends_[partition]
            first = int(NOW * 1000) - end * 1000  # of offset 0
            offset = max(start, -(-(since - first) // 1000))
            values[partition] = (offset, first + offset * 1000) if offset < end else None
        return Answer(values, {})

    def _answer(self, offsets: Mapping[TopicPartition, Offset], partitions: list[TopicPartition]) -> Answer[Offset]:
        errors = {p: self.errors[p.topic] for p in partitions if p.topic in self.errors}
        return Answer({p: offsets[p] for p in partitions if p not in errors}, errors)


def look(offsets: Offsets, kafka: KafkaSpec = KAFKA, topics: Mapping[str, int] | None = None) -> GroupLag:
    observation = observe(offsets, kafka, topics or {"clicks": 3}, clock=lambda: NOW)  # type: ignore[arg-type]
    group = GroupDescription("Stable", (GroupMember("member-0", "10.0.0.1", 3),))
    return GroupLag("clicks-backup", group, observation, ["later"])


@pytest.fixture
def offsets() -> Offsets:
    intent = Intent(P0, None, 40, (60, 90), "0123456789ab", 1)
    return Offsets(
        commits={P0: promised(intent), P1: stored(100, None, 2, since=70)},
        starts={P0: 50, P1: 0, P2: 10},
        ends_={P0: 100, P1: 100, P2: 100},
    )


def test_a_topic_that_cannot_be_asked_hides_no_other_and_is_not_counted(offsets: Offsets) -> None:
    offsets.errors["orders"] = TimeoutError("no leader")
    lag = look(offsets, topics={"clicks": 3, "orders": 2})
    found = document(lag, every=False)
    assert found["complete"] is False
    assert [topic["topic"] for topic in found["topics"]] == ["clicks"]
    why = "no broker has answered within the time (no leader)"
    assert found["errors"] == [{"topic": "orders", "partition": number, "message": why} for number in range(2)]
    out = io.StringIO()
    _show_tables(lag, out, every=False)
    assert "(without 2 partitions that could not be read)" in out.getvalue()


def test_the_tables_name_what_is_special(offsets: Offsets) -> None:
    out = io.StringIO()
    _show_tables(look(offsets), out, every=False)
    text = out.getvalue()
    assert text.startswith("group clicks-backup: Stable, 1 member\n2 of 3 partitions behind: 150 records, oldest ")
    assert "being stored up to 90 by revision 0123456789ab; Kafka deleted the first 10 records of them" in text
    assert "nothing committed" in text
    assert "clicks-1" not in text, "it is not behind"
    assert "topic later does not exist yet" in text
    out = io.StringIO()
    _show_tables(look(offsets), out, every=True)
    assert "clicks-1" in out.getvalue()
