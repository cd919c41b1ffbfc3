"""The shadow of a candidate: members in a group of their own, and what they found out about what both store."""

from dataclasses import dataclass
from typing import Final

from logpersister.report.shadow import Both
from logpersister_operator.rollout import evidence, fleet
from logpersister_operator.rollout.evidence import Evidence
from logpersister_operator.rollout.fleet import Fleet

_NEITHER: Final = Both()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What all members of a shadow have compared together."""

    answers: int = 0
    """Members that compare."""
    partitions: int = 0
    ranges: int = 0
    """Ranges of the shadow that are compared."""
    records: Both = _NEITHER
    objects: Both = _NEITHER
    bytes: Both = _NEITHER
    checksums: int = 0
    """Checksums that were compared."""
    differences: int = 0
    examples: tuple[str, ...] = ()
    """Some differences, in words."""
    error: str = ""
    """Why a member cannot go on comparing."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """What is seen of the present try."""

    fleet: Fleet = fleet.NONE
    evidence: Evidence = evidence.NOTHING
    comparison: Comparison = Comparison()


UNSEEN = Shadow()
