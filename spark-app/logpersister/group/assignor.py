"""The group's assignor: kafka-python's cooperative-sticky one, with claims that are true."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafka import TopicPartition as KafkaTopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from logpersister.ranges import TopicPartition


class TruthfulAssignor(CooperativeStickyAssignor):  # type: ignore[misc]  # kafka-python has no types
    """Claims, when it joins, exactly what this member owns now.

    A partition moves in two rounds: whoever claims it gives it up in the first, the next owner has it in the second.
    That rests on the claims. kafka-python claims what was *assigned* last, also after the group has expelled the member
    and given it all to others. A process that was paused and wakes up would claim what others own, and the leader may
    give it such a partition in the first round, while its owner is still committing for it in the same group
    generation, where the broker does not refuse it.
    """

    def __init__(self, owned: Callable[[], Iterable[TopicPartition]]) -> None:
        """Take `owned`, which gives the partitions that this member may commit for."""
        super().__init__()
        self._owned = owned

    def metadata(self, topics: Sequence[str]) -> Any:
        self.member_assignment = [KafkaTopicPartition(p.topic, p.partition) for p in sorted(self._owned())]
        return super().metadata(topics)
