"""A member's report on its duties: the work on whole topics beside its cycle. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

MAX_FAILING: Final = 10


@dataclass(frozen=True, slots=True)
class FailingTopic:
    """A topic of which the last attempt of a duty has failed, or goes on for too long."""

    topic: str
    failures: int
    message: str
    since: datetime
    hangs: bool = False
    """Whether an attempt goes on since then, and does not end."""


@dataclass(frozen=True, slots=True)
class DutyReport:
    """Where one duty of this member stands."""

    duty: str
    """A short stable word, for example ``finish``."""
    topics: int = 0
    """Topics for which this member has the duty now."""
    failing: int = 0
    first_failing: tuple[FailingTopic, ...] = ()
    """The first `MAX_FAILING` of them, those that have failed most often first."""
