"""What is worth an event: the steps that a rollout takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.record import Record
from logpersister_operator.rollout.transitions import ONGOING, Phase
from logpersister_operator.rollout.words import compared, failure_message, message


class Happening(StrEnum):
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
class News:
    """Something that happened."""

    reason: Happening
    message: str
    warning: bool = False


def news(path: Sequence[Record], situation: Situation) -> list[News]:
    """Return what happened on the way."""
    found = [_of(before, after, situation) for before, after in pairwise(path)]
    return [one for one in found if one is not None]


def _of(before: Record, after: Record, situation: Situation) -> News | None:
    newest = after.failures[0] if after.failures else None
    if newest is not None and newest not in before.failures:
        return News(Happening.FAILED, failure_message(after, newest, situation), warning=True)
    if (before.phase, before.step, before.candidate) == (after.phase, after.step, after.candidate):
        return None
    told = _told(before, after, situation)
    return None if told is None else News(*told)


def _told(  # noqa: PLR0911 - one line a phase
    before: Record, after: Record, situation: Situation
) -> tuple[Happening, str] | None:
    new, old = after.candidate, after.stable
    match after.phase:
        case Phase.CANARY if before.phase is Phase.SHADOWING and before.candidate == new:
            return Happening.SHADOW_PASSED, f"a canary of revision {new} joins the group: {compared(situation)}"
        case Phase.SHADOWING | Phase.CANARY | Phase.RECREATING:
            third = before.phase in ONGOING and before.candidate != new
            instead = f", instead of {before.candidate}" if third else ""
            first = ", which is compared in the shadow first" * (after.phase is Phase.SHADOWING)
            return Happening.STARTED, f"from revision {old} to {new}{first}{instead}"
        case Phase.ROLLING:
            members = situation.policy.members(after.step, situation.members)
            return Happening.STEP, f"revision {new} gets {members} of {situation.members} members"
        case Phase.WAITING:
            return Happening.WAITS, message(after, situation)
        case Phase.RETURNING:
            goes_on = "goes on" if before.phase is Phase.SHADOWING else "gets its members back"
            return Happening.WITHDRAWN, f"revision {new} is withdrawn, {old} {goes_on}"
        case Phase.STEADY if before.phase in ONGOING:
            return Happening.COMPLETED, f"revision {old} has all members"
        case Phase.STEADY | Phase.HALTED if before.phase is Phase.RETURNING:
            return Happening.RETURNED, f"revision {old} runs, {before.candidate} has no members"
        case _:
            return None
