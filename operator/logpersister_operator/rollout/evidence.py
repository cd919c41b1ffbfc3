"""What members of one revision have done, as they tell it themselves."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """All members of one revision together; counters begin anew when a member does."""

    answers: int = 0
    """Members that say something."""
    partitions: int = 0
    """That they have."""
    ranges: int = 0
    """That they have committed."""
    upload_failures: int = 0
    last_upload_failure: datetime | None = None
    behind: int | None = None
    """Records of their partitions that are not stored yet; None while they do not know."""
    overdue: bool = False
    """Whether the oldest of those should be stored by now."""


@dataclass(frozen=True, slots=True)
class GroupLag:
    """How far the whole group is behind, as Kafka tells it."""

    records: int
    over_target: bool = False
    """Whether that is more than the resource's target."""


NOTHING = Evidence()


def gained(now: int, before: int) -> int:
    """Return how much was counted since: a counter that is lower than before has begun anew."""
    return now - before if now >= before else now
