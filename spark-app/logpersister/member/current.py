"""``--until-current``: when everything that was in the topics at the start is stored, by this member or another."""

from collections.abc import Callable, Mapping, Sequence

from logpersister.manifest.kafka import KafkaSpec
from logpersister.member.ports import Offsets
from logpersister.plan.book import Book
from logpersister.plan.intents import Committed
from logpersister.ranges import Offset, TopicPartition


class NoTopicsError(Exception):
    """The manifest names topics that do not exist."""


def targets(
    kafka: KafkaSpec, offsets: Offsets, topics_matching: Callable[[Callable[[str], bool]], Sequence[str]]
) -> dict[TopicPartition, Offset]:
    """Return the end of every partition of the group's topics, of empty ones too.

    Raises:
        NoTopicsError: a topic of ``spec.kafka.topics`` does not exist, or its offsets cannot be read.
    """
    topics = kafka.topics if kafka.topics is not None else topics_matching(kafka.selects)
    described = offsets.describe(topics)
    missing = sorted(set(topics) - described.keys())
    if missing:
        raise NoTopicsError(
            f"spec.kafka.topics: {', '.join(missing)}: no such topic; create it, or remove it from the list"
        )
    partitions = [TopicPartition(name, partition) for name, topic in described.items() for partition in topic.leaders]
    answer = offsets.ends(partitions)
    for topic, error in answer.errors.items():
        raise NoTopicsError(f"the offsets of topic {topic} cannot be read: {error}")
    return answer.values


def behind(targets: Mapping[TopicPartition, Offset], book: Book, offsets: Offsets) -> dict[TopicPartition, Offset]:
    """Return the partitions that are not yet stored up to their target, with their position (-1: none known).

    Kafka is asked only for partitions of other members, and only when ours are done.
    """
    positions = book.positions()
    ours = {p: positions.get(p, -1) for p in book.owned() if p in targets}
    waiting = {p: position for p, position in ours.items() if position < targets[p]}
    if waiting:
        return waiting
    others = [p for p in targets if p not in ours and targets[p] > 0]
    committed = offsets.committed(others)
    positions_of_others = {p: c.offset if isinstance(c := committed.get(p), Committed) else -1 for p in others}
    return {p: position for p, position in positions_of_others.items() if position < targets[p]}
