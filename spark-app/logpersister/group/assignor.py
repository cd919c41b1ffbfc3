"""The group's assignor: kafka-python's cooperative-sticky one, with true claims, and with what it was computed from."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kafka import TopicPartition as KafkaTopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from logpersister.ranges import TopicPartition

_DIGEST_BYTES: Final = 8
_GIVES_UP: Final = b"-"
"""Behind the digest in the share of a member that is to give up partitions which it has claimed."""


class TruthfulAssignor(CooperativeStickyAssignor):  # type: ignore[misc]  # kafka-python has no types
    """Claims, when it joins, exactly what this member owns now; says with each assignment what it was computed from.

    A partition moves in two generations: its owner gives it up in the first, the next owner gets it in the second.
    That rests on the claims. kafka-python claims what was *assigned* last, also after the group has expelled the member
    and given it all to others. A process that was paused and wakes up would claim what others own, and the leader may
    give it such a partition at once, while its owner is still committing for it in the same group
    generation, where the broker does not refuse it.

    Only the leader watches for new partitions, and a leader that restarts as a static member is not told that it leads
    (KIP-814). So the leader leaves a digest of the partition counts that it has gone by in each member's share; the
    broker hands it to whoever gets the share, after a restart too, and every member can compare it with what it sees.

    Who gives up partitions then asks for the generation in which others get them. A static member that dies before that
    and comes back is given the same share without a rebalance, and has nothing to give up: nobody would ask, and nobody
    would own these partitions. So the leader marks such shares, too.
    """

    def __init__(self, owned: Callable[[], Iterable[TopicPartition]]) -> None:
        """Take `owned`, which gives the partitions that this member may commit for."""
        super().__init__()
        self._owned = owned
        self._nonce = b""
        self.computed_from: bytes | None = None
        """The digest that came with our share; None when it had none: a member of an older release leads."""
        self.unfinished = False
        """Whether a process before this one was to give up partitions: others get them once we ask for it."""

    def metadata(self, topics: Sequence[str]) -> Any:
        self.member_assignment = [KafkaTopicPartition(p.topic, p.partition) for p in sorted(self._owned())]
        subscription = super().metadata(topics)
        subscription.user_data = self._nonce
        return subscription

    def assign(self, cluster: Any, members: Sequence[Any]) -> Any:
        shares = super().assign(cluster, members)
        digests: dict[frozenset[str], bytes] = {}
        for member in members:
            topics = frozenset(member.metadata.topics)
            if topics not in digests:
                digests[topics] = counts_digest(partition_counts(cluster, topics))
            share = shares[member.member_id]
            claimed = self.parse_member_metadata(member.metadata).partitions
            gives_up = not set(claimed) <= set(share.partitions())
            share.user_data = digests[topics] + (_GIVES_UP if gives_up else b"")
        return shares

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        told = bytes(assignment.user_data or b"")
        self.computed_from = told[:_DIGEST_BYTES] or None
        self.unfinished = told.endswith(_GIVES_UP, _DIGEST_BYTES) and not set(self._owned())

    def insist(self) -> None:
        """Make the next join one that the broker cannot answer with the shares that it has."""
        self._nonce = secrets.token_bytes(8)
        self.unfinished = False


def partition_counts(cluster: Any, topics: Iterable[str]) -> dict[str, int]:
    """Return how many partitions each topic has, as far as a client's view of the cluster tells; 0 for unknown ones."""
    return {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in topics}


def counts_digest(counts: Mapping[str, int]) -> bytes:
    """Return `_DIGEST_BYTES` that stand for these topics with these partition counts."""
    text = "\n".join(f"{topic} {count}" for topic, count in sorted(counts.items()))
    return hashlib.sha256(text.encode()).digest()[:_DIGEST_BYTES]
