"""Monitors the owned partitions in Kafka: end offsets, age of the backlog, and whether their topics are the same."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Self

from logpersister.manifest import LogPersister
from logpersister.manifest.spec import Spec
from logpersister.member.ports import Offsets
from logpersister.plan import holds
from logpersister.plan.age import AgeWatch
from logpersister.plan.holds import Hold
from logpersister.plan.intents import same_topic
from logpersister.plan.partitions import PartitionStates
from logpersister.ranges import Offset, TopicPartition
from logpersister.records.type_folders import AnyFolders, finished_folders
from logpersister.report.lag import PartitionLag

DESCRIBE_SECONDS = 15.0
"""How often topic ids are compared with what they were."""
TRUNCATED_SECONDS = 60.0
"""How long a partition may end before its committed offset: a new leader catches up within that."""


@dataclass(frozen=True, slots=True)
class FolderEnds:
    """The ends of the folders of a topic, and how long after them records are still allowed."""

    layout: AnyFolders
    lateness_ms: int

    @classmethod
    def of(cls, spec: Spec) -> Self | None:
        """Return the folder ends that matter to a topic; None: records wait for their age, whatever their folder."""
        found = finished_folders(spec)
        if found is None:
            return None
        finish, layout = found
        return cls(layout, finish.lateness_ms) if finish.store_at_end else None

    def last_over(self, now: float) -> tuple[float, float]:
        """Return the end of the last folder whose time is over, and when that was. Seconds since the epoch."""
        end = self.layout.last_end(int(now * 1000) - self.lateness_ms)
        return end / 1000, (end + self.lateness_ms) / 1000


class EndOffsetMonitor:
    """The end offsets and backlog ages of the owned partitions, as Kafka told them last."""

    def __init__(
        self,
        resource: LogPersister,
        states: PartitionStates,
        offsets: Offsets,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._spec = resource.spec
        self._states = states
        self._offsets = offsets
        self._clock = clock
        self._now = now
        self._ages = AgeWatch()
        self._described_at = float("-inf")
        self._short_since: dict[TopicPartition, float] = {}
        self._ends_of_folders: dict[str, FolderEnds | None] = {}
        self.ends: dict[TopicPartition, Offset] = {}
        """Where partitions end; a partition that could not be read is missing."""
        self.unreadable: dict[TopicPartition, Exception] = {}
        """Why the ends of other partitions are not known: they have no leader, or it is silent."""

    def refresh(self, *, ages: bool) -> dict[TopicPartition, Hold]:
        """Ask Kafka once; return the partitions that must be held from now on.

        Args:
            ages: whether it matters how old a backlog is.
        """
        positions = self._states.positions()
        if not positions:
            return {}
        answer = self._offsets.ends(positions)
        self.ends, self.unreadable = answer.values, answer.errors
        now = self._now()
        truncated: dict[TopicPartition, Hold] = {}
        for partition, end in self.ends.items():
            self._ages.observe(partition, positions[partition], end, now, self._max_age(partition))
            if self._is_truncated(partition, positions[partition], end):
                truncated[partition] = holds.truncated(partition, positions[partition], end)
        # Asked after the ends: a topic that was made again ends early, too, and that is what has to be said of it.
        must_hold = truncated | self._recreated_topics(at_once=bool(truncated))
        if ages:
            self._ask_ages(positions)
        return must_hold

    def forget(self, partition: TopicPartition) -> None:
        """Forget a partition that this member no longer owns."""
        self._ages.forget(partition)
        self.ends.pop(partition, None)
        self.unreadable.pop(partition, None)
        self._short_since.pop(partition, None)

    def backlog(self, partition: TopicPartition, position: Offset) -> int:
        """Return how many offsets were seen behind a position."""
        return max(0, self.ends.get(partition, position) - position)

    def waiting_since(self, partition: TopicPartition) -> float:
        """Return since when (seconds since the epoch) the oldest record waits; infinity when none does."""
        oldest = self._ages.oldest(partition)
        return float("inf") if oldest is None else oldest

    def is_aged(self, partition: TopicPartition) -> bool:
        """Whether the oldest record that is not stored has reached ``maxAge``, or waits since before a folder's end."""
        now = self._now()
        if self._ages.aged(partition, self._max_age(partition), now):
            return True
        ends = self._folder_ends(partition.topic)
        return ends is not None and self._ages.waited_at(partition, *ends.last_over(now))

    def lags(self) -> list[PartitionLag]:
        """Return where every resolved partition stands."""
        now = self._now()
        return [
            PartitionLag(partition, position, self.ends[partition], max(0.0, now - self.waiting_since(partition)))
            for partition, position in self._states.positions().items()
            if partition in self.ends
        ]

    def _folder_ends(self, topic: str) -> FolderEnds | None:
        if topic not in self._ends_of_folders:
            self._ends_of_folders[topic] = FolderEnds.of(self._spec.for_topic(topic))
        return self._ends_of_folders[topic]

    def _max_age(self, partition: TopicPartition) -> float:
        return self._spec.limits_of(partition.topic).max_age.total_seconds()

    def _recreated_topics(self, *, at_once: bool) -> dict[TopicPartition, Hold]:
        if not at_once and self._clock() - self._described_at < DESCRIBE_SECONDS:
            return {}
        self._described_at = self._clock()
        held = self._states.held()
        return self.recreated([partition for partition in self._states.owned() if partition not in held])

    def recreated(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Hold]:
        """Return the partitions of topics that were made again since they were resolved."""
        if not partitions:
            return {}
        topics = self._offsets.describe({partition.topic for partition in partitions})
        return {
            partition: holds.topic_recreated(partition, known, topics[partition.topic].topic_id)
            for partition in partitions
            if partition.topic in topics
            and not same_topic(known := self._states.topic_id(partition), topics[partition.topic].topic_id)
        }

    def _is_truncated(self, partition: TopicPartition, position: Offset, end: Offset) -> bool:
        if end >= position:
            self._short_since.pop(partition, None)
            return False
        since = self._short_since.setdefault(partition, self._clock())
        return self._clock() - since >= TRUNCATED_SECONDS and partition not in self._states.held()

    def _ask_ages(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """Ask Kafka whether the oldest record of what was there when we came has already reached its age.

        Of what came later it is asked only where folders end by time: a record may be of the folder before.
        """
        now = self._now()
        unasked = self._ages.unasked()
        unasked += [p for p in self._ages.unasked_of_new() if self._folder_ends(p.topic) is not None]
        asked = {p: int((now - self._max_age(p)) * 1000) for p in unasked if p in self.ends}
        if not asked:
            return
        for partition, first in self._offsets.first_since(asked).values.items():
            position = positions[partition]
            if first is None or first[0] > position:
                self._ages.learn(partition, asked[partition] / 1000)
            elif first[0] == position:
                self._ages.learn(partition, first[1] / 1000)
            else:  # an earlier record is newer than that: the timestamps are out of order and tell nothing
                self._ages.learn(partition, None)
