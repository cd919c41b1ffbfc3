"""When the oldest record that is not yet stored reaches its age.

Two clocks agree on it, whichever is first: the record's own timestamp, and the moment when this member first saw the
offset (timestamps can lie, and be missing). The timestamp is asked of Kafka once for each position, not each cycle.
"""

from dataclasses import dataclass

from logpersister.ranges import Offset, TopicPartition


@dataclass(slots=True)
class _Watch:
    position: Offset
    first_seen: float
    oldest: float | None = None
    asked: bool = False


class AgeWatch:
    """Ages of the partitions of a member. All times are seconds since the epoch, from the caller's clock."""

    def __init__(self) -> None:
        self._watches: dict[TopicPartition, _Watch] = {}

    def observe(self, partition: TopicPartition, position: Offset, end: Offset, now: float) -> None:
        """Take in that ``[position, end)`` is not stored."""
        if end <= position:
            self._watches.pop(partition, None)
            return
        watch = self._watches.get(partition)
        if watch is None or watch.position != position:
            self._watches[partition] = _Watch(position, now)

    def unasked(self) -> list[TopicPartition]:
        """Return the partitions whose oldest record's timestamp is not known yet."""
        return [partition for partition, watch in self._watches.items() if not watch.asked]

    def learn(self, partition: TopicPartition, oldest: float | None) -> None:
        """Take in the timestamp of the record at the position; None when Kafka could not tell."""
        watch = self._watches.get(partition)
        if watch is not None:
            watch.asked = True
            watch.oldest = oldest

    def oldest(self, partition: TopicPartition) -> float | None:
        """Return since when the oldest record waits; None when nothing waits."""
        watch = self._watches.get(partition)
        if watch is None:
            return None
        return watch.first_seen if watch.oldest is None else min(watch.first_seen, watch.oldest)

    def aged(self, partition: TopicPartition, max_age_seconds: float, now: float) -> bool:
        oldest = self.oldest(partition)
        return oldest is not None and now - oldest >= max_age_seconds

    def waited_at(self, partition: TopicPartition, instant: float, seen_by: float) -> bool:
        """Whether the oldest record is of a time before an instant, and was seen to wait by another one."""
        watch, oldest = self._watches.get(partition), self.oldest(partition)
        return watch is not None and oldest is not None and oldest < instant and watch.first_seen < seen_by

    def forget(self, partition: TopicPartition) -> None:
        self._watches.pop(partition, None)
