"""The entry point: from the record and what is observed to the next record and what is to be done."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from logpersister_operator.rollout import shadow_analysis
from logpersister_operator.rollout.advance import advance_phase
from logpersister_operator.rollout.analysis import due
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.invariants import check
from logpersister_operator.rollout.next_replicas import next_replica_counts
from logpersister_operator.rollout.progress import Ended, RolloutProgress, ended, progress
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.rollout_events import Event, rollout_events
from logpersister_operator.rollout.words import words


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """The output of the state machine, to be carried out in this order."""

    record: RolloutRecord
    """What is written before anything is done."""
    members: Mapping[str, int]
    """How many members each revision shall have. One with none that has none left is no longer needed. Empty: nothing
    may be touched."""
    shadow: int = 0
    """How many members the shadow of the candidate shall have; with none it is no longer needed."""
    words: str = ""
    events: tuple[Event, ...] = ()
    look: datetime | None = None
    """When time alone may change something."""
    progress: RolloutProgress | None = None
    ended: tuple[Ended, ...] = ()
    """Ended rollouts."""


def next_step(record: RolloutRecord | None, inputs: RolloutInputs) -> RolloutStep:
    """Decide. Raises RolloutError where a decision would break an invariant, which is a mistake in this package."""
    path = advance_phase(record, inputs)
    last = path[-1]
    held = inputs.deleting or inputs.unattended or (bool(inputs.blocked) and not inputs.paused)
    members = {} if held else next_replica_counts(last, inputs)
    shadow = 0 if held else shadow_analysis.members(last, inputs)
    check(path, inputs, members, shadow)
    return RolloutStep(
        last,
        members,
        shadow,
        words(last, inputs),
        tuple(rollout_events(path, inputs)),
        _look(last, inputs),
        progress(last, inputs),
        ended(path, inputs),
    )


def _look(record: RolloutRecord, inputs: RolloutInputs) -> datetime | None:
    return None if record.frozen or inputs.deleting else due(record, inputs)
