"""The state of a rollout between two decisions: ``status.rollout``. Everything else is observed anew."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from logpersister_operator.rollout.evidence import Tally
from logpersister_operator.rollout.transitions import Phase

MOST_FAILURES: Final = 5
"""Revisions that are remembered as failed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The candidate's members are watched: since when, and what had been counted by then."""

    since: datetime
    ranges: int = 0
    upload_failures: int = 0
    lag: int | None = None
    """Records that the group was behind; None: it was not known."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something looks wrong: since when, and what."""

    since: datetime
    cause: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A revision that failed, at which attempt, and why."""

    revision: str
    attempt: int
    cause: str
    time: datetime


@dataclass(frozen=True, slots=True)
class RolloutRecord:
    """The state of a rollout."""

    phase: Phase
    since: datetime
    """When this phase, or this step of it, began."""
    stable: str | None = None
    """The revision that has proven itself, to which a failure leads back; None for a resource that is new."""
    candidate: str | None = None
    """The revision that is rolled out, or was rolled back."""
    step: int = 0
    """0: the canary; then the steps of the spec; then all members."""
    reached: int = 0
    """The most members of the candidate that were ready at this step."""
    waiting: datetime | None = None
    """Since when members that were asked for are not ready, without one more getting ready."""
    rested: datetime | None = None
    """When all members of the step were ready: its pause began."""
    trial: Trial | None = None
    candidate_stored: Tally = field(default_factory=Tally)
    """Records of the candidate, or of its shadow, since the rollout began."""
    stable_stored: Tally = field(default_factory=Tally)
    """What members of the stable revision have stored."""
    flaps: int = 0
    """How often the canary became unready while it was watched."""
    suspicion: Suspicion | None = None
    failures: tuple[Failure, ...] = ()
    """The last revisions that failed, the newest first."""
    frozen: bool = False
    """While the resource is paused or something that it needs is missing, nothing moves and no clock runs."""
    began: datetime | None = None
    """When the rollout began; None when none is going on."""

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
