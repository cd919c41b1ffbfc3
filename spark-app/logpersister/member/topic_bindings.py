"""Binds our generation to one topic of each name, before anything of the topic is promised.

Kafka forgets offsets and intents of a topic that is deleted: only the bucket knows of a process that stands still in
the middle of an upload (docs/design/intents.md).
"""

from collections.abc import Callable, Mapping

import structlog

from logpersister.backoff import Backoff
from logpersister.member.ports import StateStore
from logpersister.plan import holds
from logpersister.plan.holds import Hold
from logpersister.plan.intents import same_topic
from logpersister.ranges import TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote

log = structlog.get_logger(__name__)

_BACKOFF = Backoff(2.0, 60.0)


class TopicBindings:
    """The topic ids that our generation is bound to, as the bucket notes them."""

    def __init__(self, state_store: StateStore, generation: int, clock: Callable[[], float]) -> None:
        self._state_store = state_store
        self._generation = generation
        self._clock = clock
        self._bound: dict[str, TopicNote | ForeignObjectError] = {}
        self._failures: dict[str, int] = {}
        self._retry_at: dict[str, float] = {}
        self.partitions: dict[str, int] = {}
        """How many partitions each topic was seen to have."""

    def bind(self, notes: Mapping[str, TopicNote]) -> None:
        """Bind topics that are not bound yet; one whose note cannot be read now is tried again later."""
        asked = {topic: note for topic, note in notes.items() if self._may_ask(topic)}
        if not asked:
            return
        for topic, found in self._state_store.bind_topics(asked, self._generation).items():
            if isinstance(found, StorageError):
                self._try_later(topic, found)
            else:
                self._bound[topic] = found
                self._failures.pop(topic, None)

    def note(self, topic: str) -> TopicNote | ForeignObjectError | None:
        """Return what was noted first; None: not bound yet."""
        return self._bound.get(topic)

    def judge(
        self, topic_ids: Mapping[TopicPartition, str | None]
    ) -> tuple[set[TopicPartition], dict[TopicPartition, Hold]]:
        """Return which partitions are of the topic that our generation is about, and holds of those that are not.

        Those in neither wait for the note of their topic.

        Args:
            topic_ids: of the topic that each partition is of now; None: Kafka does not say.
        """
        ids = {partition.topic: topic_id for partition, topic_id in topic_ids.items()}
        notes = {topic: TopicNote(id_, self.partitions.get(topic)) for topic, id_ in ids.items() if id_ is not None}
        self.bind(notes)
        allowed: set[TopicPartition] = set()
        found: dict[TopicPartition, Hold] = {}
        for partition, topic_id in topic_ids.items():
            bound = self._bound.get(partition.topic)
            if topic_id is None:  # (brokers before 2.8)
                allowed.add(partition)
            elif isinstance(bound, ForeignObjectError):
                found[partition] = holds.unreadable_objects(partition, str(bound))
            elif bound is not None and not same_topic(bound.topic_id, topic_id):
                found[partition] = holds.topic_recreated(partition, bound.topic_id, topic_id)
            elif bound is not None:
                allowed.add(partition)
        return allowed, found

    def _may_ask(self, topic: str) -> bool:
        return topic not in self._bound and self._clock() >= self._retry_at.get(topic, float("-inf"))

    def _try_later(self, topic: str, error: StorageError) -> None:
        failures = self._failures[topic] = self._failures.get(topic, 0) + 1
        pause = _BACKOFF.pause(failures)
        self._retry_at[topic] = self._clock() + pause
        log.warning("topic.not_claimed", topic=topic, kind=error.kind, error=str(error), retry_seconds=round(pause, 1))
