"""The longest time that records can have waited, whatever their timestamps say. Pure, except for its memory.

The operator sees ends and committed offsets only. A record whose offset is not before an end that was seen has come
after that look. So what old timestamps make a month old (mirrored, replayed) is as old as the look at most.
"""

from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from logpersister.ranges import Offset
from logpersister.report.lag import PartitionLag

_NEVER: Final = float("-inf")


class _Looks:
    """Looks at one topic, by the number of the partition: 32 bytes each, for an operator remembers 100,000."""

    def __init__(self) -> None:
        self._positions, self._ends = array("q"), array("q")
        self._looked_at, self._since = array("d"), array("d")

    def since(self, number: int, position: Offset, end: Offset, now: float) -> float:
        """Take in a look; return since when at most the record at the position has waited."""
        missing = number + 1 - len(self._positions)
        if missing > 0:
            self._positions.extend([-1] * missing)
            self._ends.extend([-1] * missing)
            self._looked_at.extend([_NEVER] * missing)
            self._since.extend([_NEVER] * missing)
        if position < self._positions[number]:
            self._looked_at[number] = self._since[number] = _NEVER
            self._ends[number] = end
        self._positions[number] = position
        if position >= self._ends[number]:
            self._since[number] = self._looked_at[number]
            self._ends[number], self._looked_at[number] = end, now
        return self._since[number]


class WaitBounds:
    """What is remembered of one group."""

    def __init__(self) -> None:
        self._topics: dict[str, _Looks] = {}

    def bounded(self, lags: Iterable[PartitionLag], now: float) -> list[PartitionLag]:
        """Return the lags with ages that can be, seen `now` (monotonic seconds); forget partitions that are gone."""
        topics: dict[str, _Looks] = {}
        found = []
        for lag in lags:
            name = lag.partition.topic
            looks = topics.setdefault(name, self._topics.get(name) or _Looks())
            most = now - looks.since(lag.partition.partition, lag.position, lag.end, now)
            too_old = lag.age_seconds is not None and lag.age_seconds > most
            found.append(replace(lag, age_seconds=most) if too_old else lag)
        self._topics = topics
        return found
