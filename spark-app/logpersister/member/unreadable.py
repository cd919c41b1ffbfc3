"""Remembers which partitions cannot be read, since when and why: logged once, and shown as long as it lasts."""

from collections.abc import Callable, Mapping

import structlog

from logpersister.kafka_client.causes import in_words
from logpersister.ranges import TopicPartition
from logpersister.report.facts import UnreadablePartition
from logpersister.report.lines import partitions_text

log = structlog.get_logger(__name__)


class Unreadable:
    """Partitions without a leader, with a leader that is silent, or which this user may not read."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.partitions: dict[TopicPartition, UnreadablePartition] = {}

    def note(self, errors: Mapping[TopicPartition, Exception]) -> None:
        """Take in all partitions that cannot be read now; log what has changed."""
        if not errors and not self.partitions:
            return
        before, now = self.partitions, self._clock()
        self.partitions = {
            partition: UnreadablePartition(
                partition, in_words(error), before[partition].since if partition in before else now
            )
            for partition, error in sorted(errors.items())
        }
        by_reason: dict[str, list[TopicPartition]] = {}
        for partition in self.partitions.keys() - before.keys():
            by_reason.setdefault(self.partitions[partition].message, []).append(partition)
        for reason, some in sorted(by_reason.items()):
            log.warning("partitions.unreadable", count=len(some), partitions=partitions_text(some), reason=reason)
        back = before.keys() - self.partitions.keys()
        if back:
            log.warning("partitions.readable", count=len(back), partitions=partitions_text(back))

    def forget(self, partition: TopicPartition) -> None:
        """Forget a partition that this member no longer owns: nobody knows whether it can be read now."""
        self.partitions.pop(partition, None)
