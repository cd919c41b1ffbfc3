"""Which offsets of a partition a replay stores again. Pure.

A replay begins and ends where stored ranges meet, so that an object either counts or does not, with all its records
(`storage.current`). It ends at the committed offset of the group at the latest: from there on the group goes on.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from logpersister.ranges import Offset


@dataclass(frozen=True, slots=True)
class StoredOnce:
    """Ranges of a partition that are stored once: by members, or by one replay."""

    starts: Sequence[Offset]
    """Where they begin, sorted. Ranges do not overlap, so none has one of these within."""
    end: Offset
    """Where the last one ends."""

    def at_or_before(self, offset: Offset) -> Offset:
        """Return the last offset up to this one that is within no range."""
        before = bisect_right(self.starts, offset)
        return offset if before == 0 or offset >= self.end else self.starts[before - 1]

    def at_or_behind(self, offset: Offset) -> Offset:
        """Return the first offset from this one on that is within no range."""
        if offset >= self.end or self.at_or_before(offset) == offset:
            return offset
        behind = bisect_left(self.starts, offset)
        return self.starts[behind] if behind < len(self.starts) else self.end


class OutOfReachError(Exception):
    """The source does not reach back to where the replay is to begin."""


def bounds(
    stored: Sequence[StoredOnce], committed: Offset, available: Offset, since: Offset | None, until: Offset | None
) -> tuple[Offset, Offset] | None:
    """Return where a replay begins and ends; None: there is nothing to store again.

    Args:
        stored: what stands there already, of each replay and of members. None of it may have a bound within a range.
        available: first offset of the source.
        since: first offset that is wanted; None: all that the source has.
        until: first offset that is not wanted; None: up to where the group stores.

    Raises OutOfReachError.
    """
    end = committed if until is None else min(committed, _behind(stored, until))
    begin = _behind(stored, available) if since is None else _before(stored, since)
    if begin < min(available, end):
        raise OutOfReachError(
            f"the range with offset {since} begins at {begin}, and the source at {available}; begin later, because a "
            "replay that began within a range would leave some of its records in two generations"
        )
    return (begin, end) if begin < end else None


def _before(stored: Sequence[StoredOnce], offset: Offset) -> Offset:
    lower = min((one.at_or_before(offset) for one in stored), default=offset)
    return offset if lower == offset else _before(stored, lower)


def _behind(stored: Sequence[StoredOnce], offset: Offset) -> Offset:
    upper = max((one.at_or_behind(offset) for one in stored), default=offset)
    return offset if upper == offset else _behind(stored, upper)
