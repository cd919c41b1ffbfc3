"""Checks that the group's assignment still covers all partitions, in every member and not only in the leader. Pure.

An assignment that was computed from other partition counts than this member sees may leave partitions to nobody. The
member's own view may be the older one, so it looks at fresh metadata before it asks for a new assignment. Views that
stay different (members with different rights) lead to such questions less and less often.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

SHORTEST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 600.0


class Advice(Enum):
    """Next step for the member."""

    NOTHING = auto()
    REFRESH = auto()
    """Ask for fresh metadata; compare again when it is here."""
    REJOIN = auto()
    """Ask for a new assignment."""


@dataclass(slots=True)
class AssignmentCoverage:
    """Compares, from time to time, what the assignment was computed from. ``clock`` gives monotonic seconds."""

    clock: Callable[[], float]
    _refreshed: int | None = None
    """The number of the metadata when a fresh one was asked for; None while all is well."""
    _retry_at: float = float("-inf")
    _pause: float = SHORTEST_SECONDS

    def check(self, seen: bytes, computed_from: bytes | None, metadata: int) -> Advice:
        """Compare digests of partition counts.

        Args:
            computed_from: of what the assignment was computed from; None when that is not known.
            metadata: a number that changes with each answer about topics.
        """
        if computed_from is None or seen == computed_from:
            self._refreshed, self._retry_at, self._pause = None, float("-inf"), SHORTEST_SECONDS
            return Advice.NOTHING
        if self.clock() < self._retry_at:
            return Advice.NOTHING
        if self._refreshed is None:
            self._refreshed = metadata
            return Advice.REFRESH
        if self._refreshed == metadata:
            return Advice.NOTHING
        self._refreshed = None
        self._retry_at = self.clock() + self._pause
        self._pause = min(2 * self._pause, LONGEST_SECONDS)
        return Advice.REJOIN
