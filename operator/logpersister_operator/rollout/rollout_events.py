"""What is worth an event: the steps that a rollout takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.transitions import ONGOING, Phase
from logpersister_operator.rollout.words import compared, failure_message, message


class EventReason(StrEnum):
    """Reasons of events."""

    STARTED = "RolloutStarted"
    SHADOW_PASSED = "ShadowPassed"
    STEP = "RolloutStep"
    WAITS = "RolloutWaits"
    FAILED = "RolloutFailed"
    WITHDRAWN = "RolloutWithdrawn"
    RETURNED = "RolloutReturned"
    COMPLETED = "RolloutCompleted"


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event about the resource."""

    reason: str
    message: str
    warning: bool = False


def rollout_events(path: Sequence[RolloutRecord], inputs: RolloutInputs) -> list[Event]:
    """Return what happened on the way."""
    found = [_of(before, after, inputs) for before, after in pairwise(path)]
    return [one for one in found if one is not None]


def _of(before: RolloutRecord, after: RolloutRecord, inputs: RolloutInputs) -> Event | None:
    newest = after.failures[0] if after.failures else None
    if newest is not None and newest not in before.failures:
        return Event(EventReason.FAILED, failure_message(after, newest, inputs), warning=True)
    if (before.phase, before.step, before.candidate) == (after.phase, after.step, after.candidate):
        return None
    described = _described(before, after, inputs)
    return described and Event(*described)


def _described(  # noqa: PLR0911 - one line a phase
    before: RolloutRecord, after: RolloutRecord, inputs: RolloutInputs
) -> tuple[EventReason, str] | None:
    new, old = after.candidate, after.stable
    match after.phase:
        case Phase.CANARY if before.phase is Phase.SHADOWING and before.candidate == new:
            return EventReason.SHADOW_PASSED, f"a canary of revision {new} joins the group: {compared(inputs)}"
        case Phase.SHADOWING | Phase.CANARY | Phase.RECREATING:
            third = before.phase in ONGOING and before.candidate != new
            instead = f", instead of {before.candidate}" if third else ""
            first = ", which is compared in the shadow first" * (after.phase is Phase.SHADOWING)
            return EventReason.STARTED, f"from revision {old} to {new}{first}{instead}"
        case Phase.ROLLING:
            members = inputs.policy.members_after(after.step, inputs.members)
            return EventReason.STEP, f"revision {new} gets {members} of {inputs.members} members"
        case Phase.WAITING:
            return EventReason.WAITS, message(after, inputs)
        case Phase.RETURNING:
            goes_on = "goes on" if before.phase is Phase.SHADOWING else "gets its members back"
            return EventReason.WITHDRAWN, f"revision {new} is withdrawn, {old} {goes_on}"
        case Phase.STEADY if before.phase in ONGOING:
            return EventReason.COMPLETED, f"revision {old} has all members"
        case Phase.STEADY | Phase.HALTED if before.phase is Phase.RETURNING:
            return EventReason.RETURNED, f"revision {old} runs, {before.candidate} has no members"
        case _:
            return None
