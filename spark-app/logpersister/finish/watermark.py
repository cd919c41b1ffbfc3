"""When a partition has passed an instant: no record of an earlier time is left that is not stored. Pure.

Kafka's record times are the measure. A partition has passed an instant when it has a record of that time or later, at
offset `o`, and everything before `o` is stored. That is exact: Kafka finds the *first* such record, so all records
before it are earlier. Records behind it may be earlier, too; those are late.

A partition without such a record has passed the instant if it is *idle*: everything that Kafka has of it is stored,
and nothing has come for ``idleAfter``. That is a guess, the only one.

A record from the future proves nothing: it says that somebody's clock or unit of time is wrong. So it does not count
before its time has come. But it is the first record of all later times, too, and would hide the times of all others. So
a partition that has one passes an instant by the clock: when everything is stored that Kafka had of it ``idleAfter``
later.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from logpersister.ranges import Offset
from logpersister.report.human import instant as written


@dataclass(frozen=True, slots=True)
class FirstSince:
    """The first record of a partition that is not older than an instant."""

    offset: Offset
    timestamp: int
    """Milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a partition is."""

    stored_to: Offset | None
    """Everything before it is stored, or recorded as lost or skipped. None: not known."""
    start: Offset
    """Where Kafka's log begins."""
    end: Offset
    """Where it ends."""
    quiet_seconds: float
    """For how long at least it has ended there."""
    stored_at: int | None = None
    """Everything that Kafka had at this time (milliseconds since the epoch) is stored. None: not known."""

    @property
    def is_stored(self) -> bool:
        """Whether everything that Kafka has is stored."""
        return self.start == self.end if self.stored_to is None else self.stored_to >= self.end


def waits_for(progress: Progress, first: FirstSince | None, instant: int, now: int, idle_after: float) -> str | None:
    """Return why a partition has not passed an instant, in words that follow its name; None: it has.

    Args:
        progress: how far it is.
        first: the first record that is not older than the instant; None: there is none.
        instant: milliseconds since the epoch; not in the future.
        now: the same of the present.
        idle_after: seconds without a record after which a partition counts as idle.
    """
    hidden = first is not None and first.timestamp > now
    if _has_passed(progress, first, instant, idle_after, hidden=hidden):
        return None
    if progress.stored_to is None and not progress.is_stored:
        return "has no committed offset of this group yet"
    if first is not None and hidden:
        by = f"waits until all is stored that Kafka has at {at(instant + round(idle_after * 1000))}"
        return f"has a record from the future (offset {first.offset}, {at(first.timestamp)}), and {by}"
    if not progress.is_stored:
        until = "" if first is None else f", and records before offset {first.offset} are earlier"
        return f"is stored up to offset {progress.stored_to} of {progress.end}{until}"
    quiet = round(progress.quiet_seconds)
    return f"has no record of {at(instant)} or later, and is idle for {quiet} of {round(idle_after)} seconds"


def _has_passed(progress: Progress, first: FirstSince | None, instant: int, idle_after: float, *, hidden: bool) -> bool:
    """Whether a partition has passed an instant; `hidden`: its times are behind a record from the future."""
    if progress.is_stored and progress.quiet_seconds >= idle_after:
        return True
    if hidden:
        return progress.stored_at is not None and progress.stored_at >= instant + idle_after * 1000
    return first is not None and (progress.stored_to or 0) >= first.offset


class QuietWatch:
    """Since when the ends of partitions have not moved, as far as this process has seen it."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[Offset, float]] = {}

    def observe(self, ends: Mapping[int, Offset], clock: float) -> dict[int, float]:
        """Take in where partitions end, at a time in seconds; return for how long each has ended there."""
        before = self._since
        self._since = {
            partition: before[partition] if partition in before and before[partition][0] == end else (end, clock)
            for partition, end in ends.items()
        }
        return {partition: clock - since for partition, (_, since) in self._since.items()}


class StoredWatch:
    """Up to when everything that Kafka had is stored, as far as this process has seen it.

    One earlier end of each partition is kept until everything before it is stored, then the present one.
    """

    def __init__(self) -> None:
        self._ends: dict[int, tuple[Offset, int]] = {}
        self._stored_at: dict[int, int] = {}

    def observe(self, ends: Mapping[int, Offset], stored: Mapping[int, Offset], now: int) -> Mapping[int, int]:
        """Take in where partitions end and what is stored, at a time; return up to when all is stored.

        Times are milliseconds since the epoch. The ends were read before.
        """
        for partition, end in ends.items():
            to = stored.get(partition, -1)
            earlier = self._ends.get(partition)
            if earlier is not None and to >= earlier[0]:
                self._stored_at[partition] = earlier[1]
                earlier = None
            if earlier is None:
                self._ends[partition] = end, now
        return self._stored_at


def last_passed(ends: list[int], has_passed: Callable[[int], bool]) -> int | None:
    """Return the last of rising instants that has been passed; None: the first has not been.

    Who has passed an instant has passed all before it, so a few of them have to be asked about.
    """
    low, high = 0, len(ends)  # those before low are passed, those from high on are not
    if ends and has_passed(ends[-1]):
        return ends[-1]
    high = max(0, high - 1)
    while low < high:
        middle = (low + high) // 2
        if has_passed(ends[middle]):
            low = middle + 1
        else:
            high = middle
    return ends[low - 1] if low else None


def at(milliseconds: int) -> str:
    """Return an instant in words; of one that no calendar has, its number."""
    try:
        return written(datetime.fromtimestamp(milliseconds / 1000, UTC), "seconds")
    except (OverflowError, ValueError):
        return f"{milliseconds} ms"
