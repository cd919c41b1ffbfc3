"""Decides whether a partition has passed an instant: no record of an earlier time is left to be stored. Pure.

**By Kafka's record times.** A partition has passed an instant when it has a record of that time or later, at
offset `o`, and everything before `o` is stored. That is exact: Kafka finds the *first* such record, so all records
before it are earlier. Records behind it may be earlier, too; those are late.

A partition without such a record has passed the instant if it is *idle*: everything that Kafka has of it is stored,
and nothing has come for ``idleAfter``. That is a guess, the only one.

A record from the future proves nothing: it says that somebody's clock or unit of time is wrong. So it does not count
before its time has come. But it is the first record of all later times, too, and would hide the times of all others. So
a partition that has one passes an instant by the clock: when everything is stored that Kafka had of it ``idleAfter``
later.

**By the times of a field** (`waits_for_event`). A partition has passed an instant when a record that is stored has this
time or a later one. That is Flink's and Spark's watermark: what comes behind it and is older than the lateness allows
is late. The newest time stands beside the committed offset (`plan.intents`), and is at most the true one: who reads an
old one, or none, waits longer. A partition is idle when no newer event has come for ``idleAfter``, while all that Kafka
had in this time was stored: then its records have no time, or stand in the future, or there are none.

**By the clock** (`waits_for_clock`). A partition has passed an instant when all is stored that Kafka had by then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

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
    """Position of a partition, and for how long it has stood there."""

    stored_to: Offset | None
    """Everything before it is stored, or recorded as lost or skipped. None: not known."""
    start: Offset
    end: Offset
    quiet_seconds: float
    """Seconds, at least, for which the log has ended there."""
    stored_at: int | None = None
    """Everything that Kafka had at this time (milliseconds since the epoch) is stored. None: not known."""
    newest: int | None = None
    """The newest event that is known to be stored, the same. None: none is."""
    without_newer_seconds: float = 0.0
    """Seconds, at least, without a newer event: everything that Kafka got in this time is stored."""

    @property
    def is_stored(self) -> bool:
        """Whether everything that Kafka has is stored."""
        return self.start == self.end if self.stored_to is None else self.stored_to >= self.end


def waits_for(progress: Progress, first: FirstSince | None, instant: int, now: int, idle_after: float) -> str | None:
    """Return why a partition has not passed an instant, in words that follow its name; None: it has.

    Args:
        first: the first record that is not older than the instant; None: there is none.
        instant: milliseconds since the epoch; not in the future.
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


def waits_for_event(progress: Progress, instant: int, idle_after: float) -> str | None:
    """Return why a partition has not passed an instant by the times of a field; arguments as those of `waits_for`."""
    is_idle = progress.is_stored and progress.quiet_seconds >= idle_after
    if is_idle or progress.without_newer_seconds >= idle_after:
        return None
    if progress.newest is not None and progress.newest >= instant:
        return None
    if progress.stored_to is None and not progress.is_stored:
        return "has no committed offset of this group yet"
    newest = "none is known" if progress.newest is None else f"the newest is of {at(progress.newest)}"
    seconds = max(progress.without_newer_seconds, progress.quiet_seconds if progress.is_stored else 0.0)
    idle = f"no newer one has come for {round(seconds)} of {round(idle_after)} seconds"
    return f"has stored no event of {at(instant)} or later ({newest}), and {idle}"


def waits_for_clock(progress: Progress, instant: int) -> str | None:
    """Return why not all is stored of a partition that Kafka had at an instant; arguments as those of `waits_for`."""
    if progress.is_stored or (progress.stored_at is not None and progress.stored_at >= instant):
        return None
    if progress.stored_to is None:
        return "has no committed offset of this group yet"
    return f"is stored up to offset {progress.stored_to}, and Kafka had {progress.end} when it was asked"


class Guess(StrEnum):
    """Why a partition has passed an instant of which its records prove nothing."""

    IDLE = "idle"
    FUTURE = "future"
    """A record from the future hides the times of the others."""


def guess_of(progress: Progress, first: FirstSince | None, now: int, idle_after: float) -> Guess | None:
    """Return by which guess a partition has passed an instant; None: by its records. Arguments: see `waits_for`."""
    hidden = first is not None and first.timestamp > now
    if first is not None and not hidden and (progress.stored_to or 0) >= first.offset:
        return None
    is_idle = progress.is_stored and progress.quiet_seconds >= idle_after
    return Guess.FUTURE if hidden and not is_idle else Guess.IDLE


def guess_of_event(progress: Progress, instant: int) -> Guess | None:
    """Return the guess by the times of a field; None: an event proves it. Arguments: see `waits_for_event`."""
    return None if progress.newest is not None and progress.newest >= instant else Guess.IDLE


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
    """Watches up to when everything in Kafka is stored, as far as this process has seen it.

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
            if earlier is not None and end < earlier[0]:
                earlier = None  # the log was cut, or is that of another topic
            if to >= end:
                self._stored_at[partition] = now
                earlier = None
            elif earlier is not None and to >= earlier[0]:
                self._stored_at[partition] = earlier[1]
                earlier = None
            if earlier is None:
                self._ends[partition] = end, now
        return self._stored_at


class EventWatch:
    """Since when the newest events of partitions have not changed, as far as this process has seen it."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[int | None, int]] = {}

    def observe(self, newest: Mapping[int, int | None], stored_at: Mapping[int, int], now: int) -> dict[int, float]:
        """Return for how many seconds no newer event has come, of what is stored.

        Args:
            stored_at: as `StoredWatch.observe` returns it.
        """
        before = self._since
        self._since = {
            partition: before[partition] if partition in before and before[partition][0] == time else (time, now)
            for partition, time in newest.items()
        }
        return {
            partition: max(0.0, (stored_at.get(partition, 0) - since) / 1000)
            for partition, (_, since) in self._since.items()
        }


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
