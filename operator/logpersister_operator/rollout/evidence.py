"""What members of one revision have done, by their own reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from logpersister_operator.field_types import Count, InStatus

MOST_COUNTED: Final = 20
"""Members of each side whose records are counted: a share is one of a sample, too, and the record is small."""


@dataclass(frozen=True, slots=True)
class ReportedCounters(InStatus):
    """The last counters that a member reported."""

    member: str
    """Name of its pod."""
    started: datetime
    """When the process started."""
    records: Count = 0
    """Records that it has stored since."""
    quarantined: Count = 0
    """Records among those that the parser refused."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All members of one revision together; counters begin anew when a member does."""

    answers: int = 0
    """Members that say something."""
    partitions: int = 0
    """Partitions that they have."""
    ranges: int = 0
    """Ranges that they have committed."""
    stored: tuple[ReportedCounters, ...] = ()
    """What each of them has stored."""
    example: str = ""
    """Where the newest of their records in quarantine are, and why, in words."""
    upload_failures: int = 0
    last_upload_failure: datetime | None = None
    behind: int | None = None
    """Records of their partitions that are not stored yet; None while they do not know."""
    overdue: bool = False
    """Whether the oldest of those should be stored by now."""


@dataclass(frozen=True, slots=True)
class Tally(InStatus):
    """Records that members of a revision have stored since the rollout began."""

    records: Count = 0
    """Number of records."""
    quarantined: Count = 0
    """Records among those that the parser refused."""
    told: Annotated[tuple[ReportedCounters, ...], Field(max_length=MOST_COUNTED)] = ()
    """The last counters of each member; its next report is compared with them. At most 20 members are counted."""

    def after(self, reported: Sequence[ReportedCounters], began: datetime | None) -> "Tally":
        """Return the tally after another report; ``began`` is the start of the rollout.

        It grows by what each process has counted since the last report, and those that start meanwhile count from their
        beginning. So it does not matter how long members had been counting before, nor that some of them leave, restart
        or do not answer now and then.
        """
        known = {one.member: one for one in self.told}
        counted = sorted(reported, key=lambda one: (one.member not in known, one.member))[:MOST_COUNTED]
        looks = [(one, _before(one, known.get(one.member), began)) for one in counted]
        silent = [one for one in self.told if one.member not in {other.member for other in counted}]
        return Tally(
            self.records + sum(gained(now.records, then.records) for now, then in looks),
            self.quarantined + sum(gained(now.quarantined, then.quarantined) for now, then in looks),
            tuple(sorted([*counted, *silent][:MOST_COUNTED], key=lambda one: one.member)),
        )


def _before(now: ReportedCounters, last: ReportedCounters | None, began: datetime | None) -> ReportedCounters:
    """Return the previous counters of a member; of a new member only what it counted since the rollout began.

    A restart is known without the member's clock, which may be behind the operator's.
    """
    if last is not None and last.started == now.started:
        return last
    is_new = last is not None or (began is not None and now.started >= began)
    return replace(now, records=0, quarantined=0) if is_new else now


@dataclass(frozen=True, slots=True)
class GroupLag:
    """How far the whole group is behind, as Kafka reports it."""

    records: int
    over_target: bool = False
    """Whether that is more than the resource's target."""


NOTHING = Evidence()


def gained(now: int, before: int) -> int:
    """Return how much was counted since: a counter that is lower than before has begun anew."""
    return now - before if now >= before else now
