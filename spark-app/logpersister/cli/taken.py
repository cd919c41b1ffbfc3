"""Checks whether the group and the prefix of a manifest belong to something else already.

A member would only show it as partitions that it holds, or as a group that it cannot join.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any, Final

from logpersister.cli import brokers
from logpersister.group.answers import GroupDescription, Registered
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import TopicPartition
from logpersister.report.human import plural
from logpersister.storage import names
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.store import ObjectStore

OURS: Final = "consumer: cooperative-sticky"
"""The group protocol that members speak."""
EMPTY: Final = "Empty"
"""Kafka's word for a group that nobody is in."""
_MOST_TOPICS: Final = 10
_MOST_LISTED: Final = 1000
"""Folders that are looked through for topics, and objects of a topic for those of the generation."""
_MOST_ASKED: Final = 5
"""Objects that are asked for their group, until one tells it."""


def committed(
    resource: LogPersister, config: Mapping[str, Any], topics: Mapping[str, int], seconds: float
) -> Mapping[TopicPartition, CommittedOffset]:
    """Return what the group has committed of topics, by their number of partitions. Raises `UnreachableError`."""

    def ask() -> Mapping[TopicPartition, Registered]:
        asked = (TopicPartition(topic, number) for topic, count in topics.items() for number in range(count))
        with closing(OffsetReader(config, resource.group_id, read_committed=False)) as reader:
            return reader.committed(asked)

    found = brokers.patiently(f"the offsets of group {resource.group_id} cannot be read", seconds, ask)
    return {partition: at for partition, at in found.items() if isinstance(at, CommittedOffset)}


def foreign_offsets(resource: LogPersister, found: Mapping[TopicPartition, CommittedOffset]) -> Iterator[str]:
    """Say that another program has committed offsets: a topic may be taken over so, or two programs share a group."""
    foreign = sorted(partition for partition, at in found.items() if at.metadata is None)
    if foreign:
        yield (
            f"spec.kafka.groupId: another program has committed offsets of group {resource.group_id} "
            f"({plural(len(foreign), 'partition')}, first {foreign[0]}); members go on there. Stop that program first"
        )


def group_problems(
    resource: LogPersister, group: GroupDescription, found: Mapping[TopicPartition, CommittedOffset]
) -> Iterator[str]:
    """Say that another program is in the group, or that the group has stored in a higher generation."""
    if group.state != EMPTY and group.protocol not in ("", OURS):
        yield (
            f"spec.kafka.groupId: another program is in group {resource.group_id}: it speaks {group.protocol}, and "
            f"members of LogPersister, which speak {OURS}, cannot join it; stop that program, or name another group"
        )
    highest = max((at.metadata.generation for at in found.values() if at.metadata is not None), default=0)
    if highest > resource.spec.generation:
        yield (
            f"spec.generation: {resource.spec.generation} is lower than {highest}, in which group {resource.group_id} "
            f"has stored already; write {highest}, or a higher one to store everything again"
        )


def prefix_problems(resource: LogPersister, store: ObjectStore) -> Iterator[str]:
    """Say of which topics another group has stored objects of our names. Raises StorageError."""
    for topic in islice(_topics(resource, store), _MOST_TOPICS):
        group = _owner(store, topic, resource.spec.generation)
        if group is not None and group != resource.group_id:
            yield (
                f"spec.storage.prefix: group {group} has stored topic {topic} there in generation "
                f"{resource.spec.generation}, so its partitions would be held; give each group a prefix of its own, "
                "or raise spec.generation"
            )


def _topics(resource: LogPersister, store: ObjectStore) -> Iterator[str]:
    kafka = resource.spec.kafka
    if kafka.topics is not None:
        yield from kafka.topics
        return
    for folder in islice(store.folders(names.head(store.prefix)), _MOST_LISTED):
        topic = names.unescape_topic(folder.rstrip("/").rpartition("/")[2])
        if topic is not None and kafka.selects(topic):
            yield topic


def _owner(store: ObjectStore, topic: str, generation: int) -> str | None:
    """Return the group of an object of the topic and generation; None: there is none, or it does not say."""
    listed = islice(store.list_objects(names.topic_prefix(store.prefix, topic)), _MOST_LISTED)
    parsed = ((names.parse_object_key(store.prefix, one.key), one.key) for one in listed)
    keys = (key for name, key in parsed if name is not None and name.generation == generation)
    for key in islice(keys, _MOST_ASKED):
        try:
            facts = store.facts(key)
        except ForeignObjectError:
            continue
        except StorageError as error:
            if error.retriable:
                raise
            continue  # one object that may not be read is no reason not to start
        return None if facts is None else facts.group
    return None
