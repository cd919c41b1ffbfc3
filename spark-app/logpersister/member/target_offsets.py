"""``--until-current``: when everything that was in the topics at the start is stored, by this member or another."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from logpersister.kafka_client.causes import is_forbidden
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.member.cycle import Cycle
from logpersister.member.ports import Offsets, Register
from logpersister.member.refusals import OF_TOPICS, Refusals
from logpersister.plan.intents import CommittedOffset, same_topic
from logpersister.plan.partitions import PartitionStates
from logpersister.ranges import Offset, TopicPartition

DESCRIBE_SECONDS: Final = 15.0
"""How often topics that are behind are looked for: one that is missing twice in a row was deleted."""
UNREADABLE_SECONDS: Final = 30.0
"""How long partitions that cannot be read are waited for: a leader is elected, or a broker restarts, within that."""


class NoTopicsError(Exception):
    """The manifest names topics that do not exist, or a pattern that matches none."""


@dataclass(slots=True)
class TargetOffsets:
    """Target offset of each partition: stored up to there, it is done."""

    ends: dict[TopicPartition, Offset]
    topic_ids: Mapping[str, str | None]
    clock: Callable[[], float]
    _missing: set[str] = field(default_factory=set)
    _described_at: float = float("-inf")
    deleted: set[str] = field(default_factory=set)
    """Topics that were deleted since, or made again."""
    unread: dict[TopicPartition, Exception] = field(default_factory=dict)
    """Partitions whose end could not be asked yet, and why; of a topic that may not be described the first one."""
    _asked_at: float = float("-inf")

    def ask_again(self, offsets: Offsets) -> None:
        """Ask, now and then, for the ends that are not known yet; raises KafkaError."""
        if not self.unread or self.clock() - self._asked_at < DESCRIBE_SECONDS / 5:
            return
        self._asked_at = self.clock()
        hidden = {partition: error for partition, error in self.unread.items() if partition.topic not in self.topic_ids}
        answer = offsets.ends(self.unread.keys() - hidden.keys())
        self.ends |= answer.values
        self.unread = answer.errors | hidden

    def find_deleted_topics(self, topics: Collection[str], offsets: Offsets) -> None:
        """Ask, now and then, whether topics that are behind still exist; raises KafkaError."""
        if not topics or self.clock() - self._described_at < DESCRIBE_SECONDS:
            return
        self._described_at = self.clock()
        described = offsets.describe(topics)
        missing = {
            topic
            for topic in topics
            if topic not in described or not same_topic(self.topic_ids.get(topic), described[topic].topic_id)
        }
        self.deleted |= missing & self._missing
        self._missing = missing


def target_offsets_of(kafka: KafkaSpec, offsets: Offsets, clock: Callable[[], float]) -> TargetOffsets:
    """Return the end of every partition of the group's topics, of empty ones too.

    Raises:
        NoTopicsError: no topic matches ``spec.kafka.topicPattern``, or a topic of ``spec.kafka.topics`` does not exist.
        KafkaError: Kafka does not answer.
    """
    topics = kafka.topics if kafka.topics is not None else offsets.topics_matching(kafka.selects)
    if not topics:
        raise NoTopicsError(
            f'spec.kafka.topicPattern: "{kafka.topic_pattern}" matches no topic, so there is nothing to store; correct '
            "the pattern, or create the topics first"
        )
    described = offsets.describe(topics)
    hidden = offsets.ends([TopicPartition(topic, 0) for topic in topics if topic not in described]).errors
    hidden = {p: error for p, error in hidden.items() if is_forbidden(error)}
    missing = sorted(set(topics) - described.keys() - {partition.topic for partition in hidden})
    if missing:
        raise NoTopicsError(
            f"spec.kafka.topics: {', '.join(missing)}: no such topic; create it, or remove it from the list"
        )
    partitions = [TopicPartition(name, partition) for name, topic in described.items() for partition in topic.leaders]
    answer = offsets.ends(partitions)
    topic_ids = {name: topic.topic_id for name, topic in described.items()}
    return TargetOffsets(answer.values, topic_ids, clock, unread=answer.errors | hidden)


def behind(
    ends: Mapping[TopicPartition, Offset], states: PartitionStates, register: Register
) -> dict[TopicPartition, Offset]:
    """Return the partitions that are not yet stored up to their end, with their position (-1: none known).

    Kafka is asked only for partitions of other members, and only when ours are done.
    """
    positions = states.positions()
    ours = {p: positions.get(p, -1) for p in states.owned() if p in ends}
    waiting = {p: position for p, position in ours.items() if position < ends[p]}
    if waiting:
        return waiting
    others = [p for p in ends if p not in ours and ends[p] > 0]
    committed = register.read(others)
    positions_of_others = {p: c.offset if isinstance(c := committed.get(p), CommittedOffset) else -1 for p in others}
    return {p: position for p, position in positions_of_others.items() if position < ends[p]}


def reasons_behind(
    targets: TargetOffsets, left: Collection[TopicPartition], cycle: Cycle, refusals: Refusals, began: float
) -> dict[TopicPartition, str]:
    """Return why partitions are behind, of those that a run which ends waits for no more; it `began` by the clock."""
    now, revisions = targets.clock(), cycle.resolver.output_revisions
    unread_since = cycle.forbidden | {partition: one.since for partition, one in cycle.unreadable.items()}
    unread = targets.unread.keys() if now - began >= UNREADABLE_SECONDS else set()

    def is_unanswered(topic: str) -> bool:
        failing = max(refusals.seconds(server, topic) for server in OF_TOPICS)
        return max(now - revisions.waiting_since.get(topic, now), failing) >= UNREADABLE_SECONDS

    reasons = {p: "no-answer" for p in left if is_unanswered(p.topic)}
    reasons |= {p: "topic-deleted" for p in left if p.topic in targets.deleted}
    reasons |= {p: "no-schema" for p in left if p.topic in revisions.refused}
    reasons |= {p: hold.reason for p, hold in cycle.states.held().items() if p in left}
    given_up = {p for p in left if now - unread_since.get(p, now) >= UNREADABLE_SECONDS}
    return reasons | dict.fromkeys(given_up | unread, "unreadable")
