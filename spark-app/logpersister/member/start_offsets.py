"""Start offsets of partitions without a trace: no committed offset, and nothing in the bucket.

``spec.kafka.startFrom`` says where the *group* begins. It is decided once for each topic, for all of its partitions,
and noted in the bucket: Kafka may forget the group, and partitions come later. A partition, or a topic, that did not
exist when the group began has nothing from before it: it begins at its first record, whatever ``startFrom`` says.

A partition that cannot be asked then, because it has no leader, keeps no other waiting. It begins at its first record
that is not older than the moment when the group began: nobody could write to it meanwhile.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from logpersister.group.answers import TopicDescription
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.member.ports import Offsets, Register, StateStore
from logpersister.member.topic_bindings import TopicBindings
from logpersister.plan import holds
from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote


class StartOffsets:
    """Asks Kafka and the bucket."""

    def __init__(
        self,
        kafka: KafkaSpec,
        register: Register,
        offsets: Offsets,
        state_store: StateStore,
        topic_bindings: TopicBindings,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._now = now
        self._register = register
        self._kafka = kafka
        self._offsets = offsets
        self._state_store = state_store
        self._topic_bindings = topic_bindings
        self._known_first: frozenset[str] | None = None
        self.begin_at: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, Offset | None]] | None = None
        """Shadow mode: gives the begin of partitions without a trace; None for one: the manifest decides."""

    def of(
        self,
        partitions: Collection[TopicPartition],
        topics: Mapping[str, TopicDescription],
        log_starts: Mapping[TopicPartition, Offset],
    ) -> dict[TopicPartition, Offset | Hold]:
        """Return where partitions begin, or why that must not be; those are missing that have to be asked for again.

        Raises StorageError, KafkaError.
        """
        begins = dict.fromkeys(partitions) if self.begin_at is None else self.begin_at(partitions)
        said: dict[TopicPartition, Offset | Hold] = {p: begin for p, begin in begins.items() if begin is not None}
        unsaid = [p for p, begin in begins.items() if begin is None and p in log_starts]
        if self._kafka.start_from == "earliest":
            return said | {partition: log_starts[partition] for partition in unsaid}
        for topic in sorted({partition.topic for partition in unsaid}):
            of_topic = {p: log_starts[p] for p in unsaid if p.topic == topic}
            said |= self._of_topic(topic, topics[topic], of_topic)
        return said

    def _of_topic(
        self, topic: str, described: TopicDescription, log_starts: Mapping[TopicPartition, Offset]
    ) -> dict[TopicPartition, Offset | Hold]:
        topic_id = described.topic_id
        note: TopicNote | ForeignObjectError | None = None
        if topic_id is not None:  # brokers before 2.8 have none, and a note could be about another topic
            note = self._state_store.first_note(topic, topic_id) or self._begin(topic, topic_id, described)
            if note is None:
                return {}
        if isinstance(note, ForeignObjectError):
            return {p: holds.unreadable_objects(p, str(note)) for p in log_starts}
        if note is not None and note.topic_id != topic_id:
            return {p: holds.topic_recreated(p, note.topic_id, topic_id) for p in log_starts}
        if note is None or note.begins is None:  # noted by an older release, or with ``earliest``
            decided = self._start_from(topic, described)
        else:
            noted = dict(enumerate(note.begins))
            decided = {p.partition: noted.get(p.partition, log_start) for p, log_start in log_starts.items()}
            unknown = [p for p in log_starts if decided[p.partition] is None]
            decided |= self._first_since(unknown, note.since or 0)
        begins = {p: decided.get(p.partition) for p in log_starts}
        return {p: begin for p, begin in begins.items() if begin is not None}

    def _begin(self, topic: str, topic_id: str, described: TopicDescription) -> TopicNote | ForeignObjectError | None:
        """Begin with a topic: decide for all partitions that there are, unless a user has decided by an offset.

        None when that cannot be done now.
        """
        begins = self._start_from(topic, described) if topic in self._topics_at_first() else {}
        if begins and all(begin is None for begin in begins.values()):
            return None
        set_before = self._register.read(TopicPartition(topic, number) for number in begins)
        for partition, it in set_before.items():
            if isinstance(it, CommittedOffset) and (it.metadata is None or it.metadata.topic_id == topic_id):
                begins[partition.partition] = it.offset
        offsets = tuple(begins[p] for p in range(len(begins)))
        start_time = self._kafka.start_time
        since = self._now() if start_time is None else start_time.timestamp()
        note = TopicNote(topic_id, len(offsets), offsets, int(since * 1000) if None in offsets else None)
        self._topic_bindings.bind({topic: note})
        return self._topic_bindings.note(topic)

    def _topics_at_first(self) -> frozenset[str]:
        """Return the topics that there were when the group began to select topics as it does now."""
        if self._known_first is None:
            kafka = self._kafka
            selection: dict[str, Any] = (
                {"pattern": kafka.subscription_pattern} if kafka.topics is None else {"topics": sorted(kafka.topics)}
            )
            there = self._offsets.topics_matching(kafka.selects)
            self._known_first = frozenset(self._state_store.note_selection(selection, there))
        return self._known_first

    def _start_from(self, topic: str, described: TopicDescription) -> dict[int, Offset | None]:
        """Resolve ``startFrom`` for all partitions of a topic; None for those that cannot be asked now."""
        partitions = [TopicPartition(topic, number) for number in sorted(described.leaders)]
        start_time = self._kafka.start_time
        if start_time is not None:
            return self._first_since(partitions, int(start_time.timestamp() * 1000))
        ends = self._offsets.ends(partitions).values
        return {partition.partition: ends.get(partition) for partition in partitions}

    def _first_since(self, partitions: Collection[TopicPartition], milliseconds: int) -> dict[int, Offset | None]:
        """Return the first record of each partition that is not older, else its end; None: it cannot be asked now."""
        if not partitions:
            return {}
        ends = self._offsets.ends(partitions).values
        found = self._offsets.first_since(dict.fromkeys(partitions, milliseconds)).values
        firsts = {p: first[0] if first is not None else ends.get(p) for p, first in found.items()}
        return {partition.partition: firsts.get(partition) for partition in partitions}
