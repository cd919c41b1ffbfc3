"""Times of polls. Pure.

A feed has a slot in each period, at the same time of the wall clock for all processes that know its id, so replicas
spread their polls over the period without talking to each other: slots of a second replica of two are half a period
later. Slots do not depend on when polls end, so a slow server causes no drift; slots that begin while a poll still runs
are missed. Times are seconds.
"""

import hashlib
import math
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots of a feed in one replica."""

    period: float
    phase: float
    """First slot of the wall clock's era, from 0 to less than the period."""

    @classmethod
    def of(cls, feed: str, period: float, share: float) -> "Slots":
        """Return the slots of a feed, spread by its id; `share` is the part of a period by which a replica is later."""
        spread = int.from_bytes(hashlib.sha256(feed.encode()).digest()[:6], "big") / 2**48
        return cls(period, (spread + share) % 1.0 * period)

    def after(self, wall: float) -> float:
        """Return the first slot after a time of the wall clock."""
        number = math.floor((wall - self.phase) / self.period) + 1
        while (slot := self.phase + number * self.period) <= wall:  # by rounding
            number += 1
        return slot

    def due(self, now: float, wall: float, last: float | None) -> float:
        """Return when the next poll is due, by the monotonic clock that `now` is of.

        Both clocks are read at the same moment. `last` is when the last poll was due: slots closer to it than half a
        period are left out, because they are the same slot after a correction of the wall clock.
        """
        due = now + self.after(wall) - wall
        if last is not None and due - last < self.period / 2:
            due += self.period
        return due

    def missed(self, last: float, due: float) -> int:
        """Return how many slots lie between two polls that were due at these times."""
        return max(0, round((due - last) / self.period) - 1)


def share_of(replica: str, replicas: int) -> float:
    """Return the part of a period by which a replica polls later than the first one.

    Replicas whose names end in numbers, as pods of a StatefulSet have them, share the period equally; others spread by
    their names.
    """
    found = re.search(r"-([0-9]{1,6})$", replica)
    if found is not None:
        return int(found[1]) % replicas / replicas
    return int.from_bytes(hashlib.sha256(replica.encode()).digest()[:6], "big") / 2**48
