"""Waiting time of records that are not yet stored.

A record that came while this member was watching waits since the member saw it: its own timestamp may be a month old,
because it was mirrored, replayed, or written by a clock that is late. What was there when the member came has waited
longer than that. Only its timestamp tells for how long, and is believed as far as it says so (it may be missing, and
lie in the future).

When a record came is known to a share of the age that matters (`Arrivals`), and never too late: what is due may depend
on the clock, because ranges are promised before they are written.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from logpersister.ranges import Offset, TopicPartition

GRAINS: Final = 32
"""Records that come within this fraction of the age that matters count as come together, with the first of them."""
MOST_MARKS: Final = 2 * GRAINS
"""Most marks per partition. Beyond it neighbours merge, so that a very long age is known to a quarter."""


class Arrivals:
    """Arrival times of one partition's records, as its end was seen to move."""

    def __init__(self) -> None:
        self._marks: deque[tuple[Offset, float]] = deque()
        """Ends, rising, and when the first record before each, and behind the end before, was seen."""

    def see(self, end: Offset, now: float, grain: float) -> None:
        """Take in that the log ends here."""
        if self._marks and now - self._marks[-1][1] < grain:
            now = self._marks.pop()[1]
        self._marks.append((end, now))
        if len(self._marks) > MOST_MARKS:
            self._join(now)

    def _join(self, now: float) -> None:
        """Make one mark of two, where that makes least difference to an age."""
        found = list(self._marks)

        def difference(at: int) -> float:
            return (found[at + 2][1] - found[at][1]) / max(1.0, now - found[at][1])

        at = min(range(len(found) - 2), key=difference)
        found[at : at + 2] = [(found[at + 1][0], found[at][1])]
        self._marks = deque(found)

    def pass_by(self, position: Offset) -> None:
        """Forget what is before a position."""
        while self._marks and self._marks[0][0] <= position:
            self._marks.popleft()

    @property
    def end(self) -> Offset:
        """The last end that was seen; -1: all is forgotten."""
        return self._marks[-1][0] if self._marks else -1

    @property
    def first(self) -> float | None:
        """When the first record came that is not forgotten; None: there is none."""
        return self._marks[0][1] if self._marks else None


@dataclass(slots=True)
class _Watch:
    position: Offset
    end: Offset
    there: Offset
    """End of the log when this member came."""
    came: float
    arrivals: Arrivals = field(default_factory=Arrivals)
    timestamp: float | None = None
    """Timestamp of the record at the position."""
    asked: bool = False

    @property
    def seen(self) -> float | None:
        """Time at which the oldest waiting record was first seen; None when nothing waits."""
        if self.position >= self.end:
            return None
        return self.came if self.position < self.there else self.arrivals.first


class AgeWatch:
    """Ages of the partitions of a member. All times are seconds since the epoch, from the caller's clock."""

    def __init__(self) -> None:
        self._watches: dict[TopicPartition, _Watch] = {}

    def observe(self, partition: TopicPartition, position: Offset, end: Offset, now: float, max_age: float) -> None:
        """Take in that ``[position, end)`` is not stored; `max_age` is the age in seconds that matters."""
        watch = self._watches.get(partition)
        if watch is None or position < watch.position:
            self._watches[partition] = _Watch(position, end, end, now)
            return
        if position != watch.position:
            watch.position, watch.timestamp, watch.asked = position, None, False
        watch.end = end
        if end > max(watch.there, watch.arrivals.end):
            watch.arrivals.see(end, now, max_age / GRAINS)
        watch.arrivals.pass_by(position)

    def unasked(self) -> list[TopicPartition]:
        """Return the partitions of which the timestamp of the oldest record tells since when it waits."""
        return [
            p for p, watch in self._watches.items() if watch.position < min(watch.there, watch.end) and not watch.asked
        ]

    def unasked_of_new(self) -> list[TopicPartition]:
        """Return the other partitions with records that wait, of which the timestamp of the oldest is not known."""
        return [
            p for p, watch in self._watches.items() if watch.there <= watch.position < watch.end and not watch.asked
        ]

    def learn(self, partition: TopicPartition, timestamp: float | None) -> None:
        """Take in the timestamp of the record at the position; None when Kafka could not tell."""
        watch = self._watches.get(partition)
        if watch is not None:
            watch.asked = True
            watch.timestamp = timestamp

    def oldest(self, partition: TopicPartition) -> float | None:
        """Return since when the oldest record waits; None when nothing waits."""
        watch = self._watches.get(partition)
        seen = None if watch is None else watch.seen
        if watch is None or seen is None or watch.timestamp is None or watch.position >= watch.there:
            return seen
        return min(seen, watch.timestamp)

    def aged(self, partition: TopicPartition, max_age_seconds: float, now: float) -> bool:
        oldest = self.oldest(partition)
        return oldest is not None and now - oldest >= max_age_seconds

    def waited_at(self, partition: TopicPartition, instant: float, seen_by: float) -> bool:
        """Whether the oldest record is of a time before an instant, and was seen to wait by another one."""
        watch = self._watches.get(partition)
        seen = None if watch is None else watch.seen
        if watch is None or seen is None:
            return False
        return seen < seen_by and (seen < instant or (watch.timestamp is not None and watch.timestamp < instant))

    def forget(self, partition: TopicPartition) -> None:
        self._watches.pop(partition, None)
