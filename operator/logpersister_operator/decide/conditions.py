"""Conditions by the conventions of Kubernetes (API conventions; kstatus of kubernetes-sigs/cli-utils)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal

from logpersister_operator.crd.status import Condition
from logpersister_operator.field_types import shortened


class Aspect(StrEnum):
    """Types of conditions, in the order in which they are shown."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    RECONCILED = "Reconciled"
    SPEC_VALID = "SpecValid"
    FEEDS_SPEAKING = "FeedsSpeaking"
    """This one and the next only of a FeedCollector."""
    KAFKA_REACHABLE = "KafkaReachable"
    UPLOADS_SUCCEEDING = "UploadsSucceeding"
    RECORDS_PARSING = "RecordsParsing"
    DUTIES_SUCCEEDING = "DutiesSucceeding"
    """Only where members work on whole topics, too."""
    DATA_COMPLETE = "DataComplete"
    LAG_WITHIN_TARGET = "LagWithinTarget"
    GROUP_STABLE = "GroupStable"
    GROUP_SHARED = "GroupShared"
    MEMBERS_PROGRESSING = "MembersProgressing"
    AUTOSCALING = "Autoscaling"
    """Only of a resource that has ``spec.autoscale``."""
    PAUSED = "Paused"
    RECONCILIATION_PAUSED = "ReconciliationPaused"
    """Only while it is."""


_WATCHED: Final = (Aspect.UPLOADS_SUCCEEDING, Aspect.DUTIES_SUCCEEDING, Aspect.MEMBERS_PROGRESSING)
"""While one of them is False, members are asked as often as while something changes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is found about one aspect."""

    aspect: StrEnum
    """Type of the condition: an `Aspect` of a LogPersister, or what conditions of another kind are about."""
    status: Literal["True", "False", "Unknown"]
    reason: str
    """One word for programs: docs/status.md says for each what to do."""
    message: str

    @property
    def holds(self) -> bool:
        return self.status == "True"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What somebody has to remove before the spec can run."""

    reason: str
    message: str


def yes(aspect: StrEnum, reason: str, message: str) -> Verdict:
    return Verdict(aspect, "True", reason, message)


def no(aspect: StrEnum, reason: str, message: str) -> Verdict:
    return Verdict(aspect, "False", reason, message)


def unknown(aspect: StrEnum, reason: str, message: str) -> Verdict:
    return Verdict(aspect, "Unknown", reason, message)


def conditions(
    before: Iterable[Condition], verdicts: Iterable[Verdict], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Return the conditions; the time of transition stays as long as the status does, whatever the message says."""
    known = {condition.type: condition for condition in before}
    return tuple(
        Condition(
            type=verdict.aspect,
            status=verdict.status,
            reason=verdict.reason,
            message=shortened(verdict.message),
            last_transition_time=_since(known.get(verdict.aspect), verdict, now),
            observed_generation=generation,
        )
        for verdict in verdicts
    )


def previous_verdict(before: Iterable[Condition], aspect: Aspect) -> Verdict | None:
    """Return the verdict on an aspect that the previous status has; None when it has none."""
    for condition in before:
        if condition.type == aspect:
            return Verdict(aspect, condition.status, condition.reason, condition.message)
    return None


def is_settled(status: Mapping[str, Any]) -> bool:
    """Whether time alone changes nothing: members are ready or not wanted, no upload or duty fails, none is stalled."""
    statuses = {one["type"]: one["status"] for one in status.get("conditions", [])}
    rests = "True" in (statuses.get(Aspect.READY), statuses.get(Aspect.PAUSED))
    return rests and "False" not in (statuses.get(aspect) for aspect in _WATCHED)


def _since(old: Condition | None, verdict: Verdict, now: datetime) -> datetime:
    if old is not None and old.status == verdict.status:
        return old.last_transition_time
    return now.replace(microsecond=0)  # whole seconds, as the API server writes times
