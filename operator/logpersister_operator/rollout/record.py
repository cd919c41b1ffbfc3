"""The state of a rollout between two decisions: ``status.rollout``. Everything else is observed anew."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from logpersister_operator.field_types import Cause, Count, InStatus, Revision
from logpersister_operator.rollout.evidence import Tally
from logpersister_operator.rollout.transitions import Phase

MOST_FAILURES: Final = 5
"""Revisions that are remembered as failed."""


@dataclass(frozen=True, slots=True)
class Trial(InStatus):
    """What had been counted when the new revision began to be watched."""

    since: datetime
    """When that was."""
    ranges: Count = 0
    """Ranges that its members had committed."""
    upload_failures: Count = 0
    """Uploads of its members that had failed."""
    lag: Count | None = None
    """Records that the group was behind; not set while that was not known."""


@dataclass(frozen=True, slots=True)
class Suspicion(InStatus):
    """Something that looks wrong."""

    since: datetime
    """The time since when."""
    cause: Cause
    """What looks wrong."""


@dataclass(frozen=True, slots=True)
class Failure(InStatus):
    """A revision that failed."""

    revision: Revision
    """The revision that failed."""
    attempt: Count
    """The spec.rollout.attempt at which it failed."""
    cause: Cause
    """The cause of the failure."""
    time: datetime
    """The time of the failure."""


_Stored = Annotated[Tally, Field(exclude_if=lambda tally: not tally.told)]


@dataclass(frozen=True, slots=True)
class RolloutRecord(InStatus):
    """Where a rollout is. The operator goes on from here after it was restarted: do not change it."""

    phase: Phase
    """What is going on (docs/upgrades.md)."""
    since: datetime
    """When this phase, or this step of it, began."""
    stable: Revision | None = None
    """The revision that has proven itself, to which a failure leads back."""
    candidate: Revision | None = None
    """The revision that is rolled out, or was rolled back."""
    step: Count = 0
    """0 for the canary, then the steps of the spec, then all members."""
    reached: Count = 0
    """The most members of the candidate that were ready at this step."""
    waiting: datetime | None = None
    """Since when members are not ready, without one more getting ready."""
    rested: datetime | None = None
    """When all members of the step were ready."""
    trial: Trial | None = None
    """What had been counted when the candidate began to be watched."""
    candidate_stored: _Stored = field(default_factory=Tally)
    """What members of the candidate, or of its shadow, have stored in this rollout."""
    stable_stored: _Stored = field(default_factory=Tally)
    """What those of the stable revision have stored in the same time."""
    flaps: Count = 0
    """How often the canary became unready while it was watched."""
    suspicion: Suspicion | None = None
    """What looks wrong with the candidate."""
    failures: Annotated[tuple[Failure, ...], Field(max_length=MOST_FAILURES)] = ()
    """The last revisions that failed, the newest first. One that failed is not tried again before
    spec.rollout.attempt changes."""
    frozen: bool = False
    """True while nothing moves, since the resource is paused or a Secret is missing."""
    began: datetime | None = None
    """When the rollout began; not set when none is going on."""

    @property
    def leads(self) -> str | None:
        """The revision that runs, or is on its way to."""
        back = self.phase in (Phase.STEADY, Phase.RETURNING, Phase.HALTED)
        return self.stable if back else self.candidate

    def failure_of(self, revision: str | None, attempt: int) -> Failure | None:
        """Return how a revision failed at this attempt."""
        return next((one for one in self.failures if (one.revision, one.attempt) == (revision, attempt)), None)

    def has_failed(self, revision: str) -> bool:
        """Whether a revision has failed, at whatever attempt, and not proven itself since."""
        return any(one.revision == revision for one in self.failures)

    def with_failure(self, failure: Failure) -> "RolloutRecord":
        """Remember a failure in place of an older one of the same revision."""
        return replace(self, failures=(failure, *self.without_failure(failure.revision).failures)[:MOST_FAILURES])

    def without_failure(self, revision: str | None) -> "RolloutRecord":
        return replace(self, failures=tuple(one for one in self.failures if one.revision != revision))
