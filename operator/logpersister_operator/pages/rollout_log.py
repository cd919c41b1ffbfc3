"""Which steps the rollouts of groups took while this operator ran: a status has only the present one. Pure."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.transitions import Phase

STEPS: Final = 20
"""Steps that are remembered of a group."""


@dataclass(frozen=True, slots=True)
class Step:
    """A phase of a rollout, or a step of it."""

    since: datetime
    phase: Phase
    number: int
    """0 is the canary."""
    stable: str
    candidate: str


class RolloutLog:
    """The last steps of each group, seen from time to time: a step may be shorter than the time between two looks."""

    def __init__(self) -> None:
        self._steps: dict[ResourceKey, deque[Step]] = {}

    def take(self, records: dict[ResourceKey, RolloutRecord]) -> None:
        """Take in the records of all groups; those that are gone are forgotten."""
        self._steps = {key: self._steps.get(key) or deque(maxlen=STEPS) for key in records}
        for key, one in records.items():
            step = Step(one.since, one.phase, one.step, one.stable or "", one.candidate or "")
            steps = self._steps[key]
            if not steps or steps[-1] != step:
                steps.append(step)

    def of(self, key: ResourceKey) -> list[Step]:
        """Return the steps of a group, the newest first."""
        return list(reversed(self._steps.get(key, ())))
