"""The shadow of a candidate: members in a group of their own, and what they found out about what both store."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from logpersister.report.shadow import Both
from logpersister_operator.field_types import Cause, Count, InStatus
from logpersister_operator.rollout import evidence, fleet
from logpersister_operator.rollout.evidence import Evidence
from logpersister_operator.rollout.fleet import Fleet

MOST_EXAMPLES: Final = 5
_NEITHER: Final = Both()


@dataclass(frozen=True, slots=True)
class Comparison(InStatus):
    """What all members of a shadow have compared together."""

    answers: Count = 0
    """Members that compare."""
    partitions: Count = 0
    """Partitions of which something is compared."""
    ranges: Count = 0
    """Ranges of the shadow that are compared."""
    records: Both = _NEITHER
    """Records in them."""
    objects: Both = _NEITHER
    """Objects that hold them."""
    bytes: Both = _NEITHER
    """Size of those."""
    checksums: Count = 0
    """Checksums of records that were compared."""
    differences: Count = 0
    """Differences that were found."""
    examples: Annotated[tuple[Cause, ...], Field(max_length=MOST_EXAMPLES)] = ()
    """The first of them."""
    error: Annotated[Cause, Field(exclude_if=lambda text: not text)] = ""
    """Why nothing more can be compared."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """What is seen of the present try."""

    fleet: Fleet = fleet.NONE
    evidence: Evidence = evidence.NOTHING
    comparison: Comparison = Comparison()


UNSEEN = Shadow()
