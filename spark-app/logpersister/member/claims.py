"""Which topic of a name our generation is about, before anything of it is promised.

Kafka forgets offsets and intents of a topic that is deleted: only the bucket knows of a process that stands still in
the middle of an upload (docs/design/intents.md).
"""

from collections.abc import Iterable

from logpersister.member.ports import Memory
from logpersister.plan import holds
from logpersister.plan.holds import Hold
from logpersister.plan.intents import Intent
from logpersister.plan.recovery import same_topic
from logpersister.ranges import TopicPartition
from logpersister.storage.facts import ForeignObjectError


class TopicClaims:
    """Claims each topic once for our generation; remembers what was found."""

    def __init__(self, memory: Memory, generation: int) -> None:
        self._memory = memory
        self._generation = generation
        self._claimed: dict[str, str | ForeignObjectError] = {}

    def foreign(self, intents: Iterable[Intent]) -> dict[TopicPartition, Hold]:
        """Return what must be held, because the generation is about another topic of that name. Asks the bucket."""
        asked = list(intents)
        unknown = {
            intent.partition.topic: intent.topic_id
            for intent in asked
            if intent.topic_id is not None and intent.partition.topic not in self._claimed
        }
        if unknown:
            self._claimed |= self._memory.claim_topics(unknown, self._generation)
        found: dict[TopicPartition, Hold] = {}
        for intent in asked:
            claimed = self._claimed.get(intent.partition.topic)
            if isinstance(claimed, ForeignObjectError):
                found[intent.partition] = holds.unreadable_objects(intent.partition, str(claimed))
            elif not same_topic(claimed, intent.topic_id):
                found[intent.partition] = holds.topic_recreated(intent.partition, claimed, intent.topic_id)
        return found
