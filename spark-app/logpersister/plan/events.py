"""Events that can happen to one partition, as its protocol knows them (plan/protocol.py). Pure."""

from dataclasses import dataclass

from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset, Intent, UnstoredPrefix
from logpersister.ranges import NewestEvent, Offset, Range


@dataclass(frozen=True, slots=True)
class Resolved:
    """The register was read, fenced, and it is known what should stand there (plan/recovery.py)."""

    read: CommittedOffset | None
    target: CommittedOffset | Hold
    topic_id: str | None
    """Present id of the topic."""


@dataclass(frozen=True, slots=True)
class LookedAhead:
    """The bucket was asked for the first object of our generation at or behind the offset."""

    found: Offset | None


@dataclass(frozen=True, slots=True)
class Due:
    """These ranges are to be written; or nothing of the intent will be stored: Kafka has lost what comes next."""

    intent: Intent


@dataclass(frozen=True, slots=True)
class Gone:
    """Kafka has lost promised records that are not stored yet: the log begins behind them. It is to be recorded."""

    log_start: Offset


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Kafka has taken a value."""

    value: CommittedOffset


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A value was sent, and it is not known whether it arrived."""

    value: CommittedOffset


@dataclass(frozen=True, slots=True)
class Stored:
    """Every object of a range is durable: an execution has ended, or the bucket was found to have it as a whole."""

    range: Range
    newest: NewestEvent | None = None
    """Newest event time of its records; None: not known."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of an unstored prefix is durable in the bucket."""

    unstored: UnstoredPrefix


@dataclass(frozen=True, slots=True)
class Reconsider:
    """The promise cannot be kept where it was made: how to go on has to be resolved again."""


@dataclass(frozen=True, slots=True)
class Block:
    """Every way on would lose or repeat records."""

    hold: Hold


Event = Resolved | LookedAhead | Due | Gone | Acknowledged | Unanswered | Stored | Recorded | Reconsider | Block
