"""A rollout in numbers, for metrics: how far it is, and how those that have ended did."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.target_replicas import target_replica_counts
from logpersister_operator.rollout.transitions import ONGOING, Phase


class Ending(StrEnum):
    """How a rollout may end."""

    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    """A third revision took its place."""
    TAKEN_BACK = "taken_back"
    """The spec says the old revision again."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A rollout that is over."""

    ending: Ending
    seconds: float | None
    """How long it took; None when it is not known when it began."""


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """How far a resource is."""

    phase: Phase
    step: int
    wanted: int
    """Members of the new revision that this phase wants."""
    ready: int
    """Members of it that are ready."""
    began: datetime | None
    """When the rollout began; None when none is going on."""


def progress(record: RolloutRecord, inputs: RolloutInputs) -> RolloutProgress:
    """Return where a record is."""
    wanted = target_replica_counts(record, inputs).get(record.candidate or "", 0)
    return RolloutProgress(record.phase, record.step, wanted, inputs.fleet(record.candidate).ready, record.began)


def ended(path: Sequence[RolloutRecord], inputs: RolloutInputs) -> tuple[Ended, ...]:
    """Return the rollouts that ended on the way."""
    found = []
    for before, after in pairwise(path):
        ending = _ending(before, after)
        if ending is not None:
            seconds = None if before.began is None else (inputs.now - before.began).total_seconds()
            found.append(Ended(ending, seconds))
    return tuple(found)


def _ending(before: RolloutRecord, after: RolloutRecord) -> Ending | None:
    if before.phase not in ONGOING:
        return None
    if after.phase is Phase.STEADY:
        return Ending.COMPLETED
    if after.candidate != before.candidate:
        return Ending.SUPERSEDED
    if after.phase in ONGOING:
        return None
    return Ending.FAILED if after.failures[:1] != before.failures[:1] else Ending.TAKEN_BACK
