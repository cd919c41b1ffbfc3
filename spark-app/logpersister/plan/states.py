"""The states of a partition that this member owns, and what a state asks for. `plan.protocol` moves between them.

Events are in plan/events.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset, Intent, UnstoredPrefix
from logpersister.ranges import NewestEvent, Offset, Range


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The group has just given us the partition: it is not known what stands in the register."""

    seen: CommittedOffset | None = None
    """The newest value that this process has seen acknowledged while the partition was ours before."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Everything before the offset is settled, and nothing is promised."""

    value: CommittedOffset
    looked_ahead: bool = False
    """Whether the bucket was asked that nothing is stored behind the offset."""


@dataclass(frozen=True, slots=True)
class Pending:
    """An intent stands in the register: its ranges are executed until they are stored."""

    value: CommittedOffset
    intent: Intent
    done: frozenset[Range] = frozenset()
    """Ranges that are stored, as far as this process knows."""
    newest: frozenset[tuple[Range, NewestEvent]] = frozenset()
    """Known event times of ranges in `done`."""
    recorded: bool = False
    """Whether the record of the intent's unstored prefix is in the bucket, as far as this process knows."""
    looked_ahead: bool = False

    def settled(self) -> Offset:
        """Return the boundary up to which nothing is left to do."""
        offset = self.intent.start
        if self.intent.unstored is not None and not self.recorded:
            return offset
        for range_ in self.intent.ranges():
            if range_ not in self.done and not self._given_up(range_):
                break
            offset = range_.end
        return offset

    def seen(self, offset: Offset) -> NewestEvent | None:
        """Return the newest event before a boundary up to which all is settled, as far as it is known."""
        seen = self.value.seen
        for range_, newest in sorted(self.newest, key=lambda one: one[0]):
            if range_.end <= offset:
                seen = newest if seen is None else seen.followed_by(newest)
        return seen

    def runnable(self) -> Iterator[Range]:
        """Yield the ranges that have to be executed."""
        return (it for it in self.intent.ranges() if it not in self.done and not self._given_up(it))

    def lost(self) -> list[Range]:
        """Return what is in no object: the unstored prefix of the intent, except ranges that are stored."""
        pieces: list[Range] = []
        for range_ in self.intent.ranges():
            end = min(range_.end, self.intent.unstored.end if self.intent.unstored is not None else 0)
            if range_.start < end and range_ not in self.done:
                joined = pieces.pop().start if pieces and pieces[-1].end == range_.start else range_.start
                pieces.append(Range(range_.partition, joined, end))
        return pieces

    def read_from(self, range_: Range) -> Offset:
        """Return from where on Kafka still has the records of a range."""
        return range_.start if self.intent.unstored is None else max(range_.start, self.intent.unstored.end)

    def _given_up(self, range_: Range) -> bool:
        return self.intent.unstored is not None and range_.end <= self.intent.unstored.end


@dataclass(frozen=True, slots=True)
class InDoubt:
    """The register has to be read again, because a write was not answered or because it is not clear how to go on."""

    possible: frozenset[CommittedOffset]
    """Values that can stand there: nobody else writes it while the partition is ours."""
    before: Idle | Pending
    """State before. Ranges that were stored stay stored."""


@dataclass(frozen=True, slots=True)
class Held:
    """A person decides. Nothing more is promised, executed or committed."""

    hold: Hold
    value: CommittedOffset | None = None


State = Unresolved | Idle | Pending | InDoubt | Held

# What a state asks for. Effects may be repeated; one that was not possible is asked for again by `owed`.


@dataclass(frozen=True, slots=True)
class Write:
    """Send a value to the register; then comes `Acknowledged` or `Unanswered`, or nothing when it was not sent."""

    value: CommittedOffset


@dataclass(frozen=True, slots=True)
class Record:
    """Note in the bucket that these offsets are in no object; then comes `Recorded`."""

    intent: Intent
    unstored: UnstoredPrefix
    ranges: tuple[Range, ...]
    """What is in no object: the unstored prefix, except ranges that are stored."""


Effect = Write | Record
