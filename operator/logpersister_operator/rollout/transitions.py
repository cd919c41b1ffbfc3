"""The phases of a rollout and which may follow which. docs/design/rollout.md shows them as a diagram."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    """What is going on."""

    STARTING = "Starting"
    """The first revision starts; there is none to go back to."""
    STEADY = "Steady"
    """One revision runs."""
    SHADOWING = "Shadowing"
    """Members of a new revision run beside the old one in a group of their own, and what both store is compared."""
    CANARY = "Canary"
    """A few members try a new revision, and are watched."""
    ROLLING = "Rolling"
    """Members of the new revision take over, as many as the step says."""
    WAITING = "Waiting"
    """The step's members run; somebody must let it go on."""
    RECREATING = "Recreating"
    """The old members stop, then the new ones start."""
    RETURNING = "Returning"
    """The new members leave, the old ones come back."""
    HALTED = "Halted"
    """The new revision has failed; nothing changes before the spec does."""


ONGOING: Final = frozenset({Phase.SHADOWING, Phase.CANARY, Phase.ROLLING, Phase.WAITING, Phase.RECREATING})
"""Phases in which a new revision is rolled out."""

_BEGIN: Final = frozenset({Phase.SHADOWING, Phase.CANARY, Phase.RECREATING})
_AGAINST: Final = frozenset({Phase.RETURNING, Phase.HALTED})

TRANSITIONS: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.STARTING: frozenset({Phase.STARTING, Phase.STEADY}) | _BEGIN,
    Phase.STEADY: _BEGIN | {Phase.HALTED},
    Phase.SHADOWING: _BEGIN | _AGAINST,
    Phase.CANARY: frozenset({Phase.ROLLING}) | _BEGIN | _AGAINST,
    Phase.ROLLING: frozenset({Phase.ROLLING, Phase.WAITING, Phase.STEADY}) | _BEGIN | _AGAINST,
    Phase.WAITING: frozenset({Phase.ROLLING, Phase.STEADY}) | _BEGIN | _AGAINST,
    Phase.RECREATING: frozenset({Phase.STEADY}) | _BEGIN | _AGAINST,
    Phase.RETURNING: frozenset({Phase.STEADY, Phase.HALTED}) | _BEGIN,
    Phase.HALTED: _AGAINST | _BEGIN,
}
"""What may follow each phase. A phase that follows itself begins anew, for another revision or step."""


def may_follow(before: Phase, after: Phase) -> bool:
    return after in TRANSITIONS[before]
