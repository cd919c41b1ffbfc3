"""The inputs of the rollout's state machine, without the record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from logpersister.manifest.blocks.rollout import AnalysisSpec, RolloutSpec
from logpersister_operator.rollout import evidence, fleet
from logpersister_operator.rollout.evidence import Evidence, GroupLag
from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.record import Failure
from logpersister_operator.rollout.shadow_evidence import UNSEEN, Shadow


@dataclass(frozen=True, slots=True)
class RolloutInputs:
    """What is wanted and what is observed, at one moment."""

    now: datetime
    revision: str
    """The one that the spec describes."""
    members: int
    """How many are wanted."""
    policy: RolloutSpec = field(default_factory=RolloutSpec)
    fleets: Mapping[str, Fleet] = field(default_factory=dict)
    """Members by revision; every one that has a StatefulSet or pods."""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    refuse_alike: bool = False
    """Whether the parsers of candidate and stable revision are known to refuse the same records."""
    shadow: Shadow = UNSEEN
    """The shadow of the candidate, as far as it is of the present try. Its members are in no fleet."""
    lag: GroupLag | None = None
    """None while Kafka cannot be asked."""
    promote: str = ""
    """``<revision>.<step>``, or ``<revision>`` for all steps."""
    abort: str = ""
    """``<revision>.<time>``: the rollout of that revision that began, or failed, at that time is withdrawn."""
    retry: str = ""
    """``<revision>.<time>``: the failure of that revision at that time counts no more."""
    paused: bool = False
    """No member shall run."""
    blocked: str = ""
    """Why nothing may change now, such as a Secret that is missing."""
    refused: str = ""
    """What the API server said to the candidate's objects."""
    unattended: bool = False
    """Nothing may change, and no clock runs: reconciliation is paused."""
    deleting: bool = False

    def fleet(self, revision: str | None) -> Fleet:
        return self.fleets.get(revision or "", fleet.NONE)

    def evidence_of(self, revision: str | None) -> Evidence:
        return self.evidence.get(revision or "", evidence.NOTHING)

    def is_promoted(self, revision: str | None, step: int) -> bool:
        """Whether somebody lets a revision go on behind a step."""
        promoted, _, number = self.promote.strip().partition(".")
        if not revision or promoted != revision:
            return False
        return not number or (number.isdecimal() and int(number) >= step)

    def is_aborted(self, revision: str | None, time: datetime | None) -> bool:
        return _names(self.abort, revision, time)

    def is_retried(self, failure: Failure) -> bool:
        return _names(self.retry, failure.revision, failure.time)

    @property
    def analysis(self) -> AnalysisSpec:
        return self.policy.canary.analysis

    @property
    def most(self) -> int:
        """How many members there may be at any time, of all revisions together."""
        return self.members + self.policy.surge(self.members)


def _names(annotation: str, revision: str | None, time: datetime | None) -> bool:
    """Whether an annotation names this try of a revision: it has no effect on a later one."""
    named, _, when = annotation.strip().partition(".")
    try:
        return bool(revision) and named == revision and datetime.fromisoformat(when) == time
    except ValueError:
        return False
