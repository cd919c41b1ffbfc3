"""One way through a tree of decisions: named deviations from what happens by itself, which is always the first option.

A path is replayed from its deviations alone, because nothing else in the small world is left to chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tests.model.decisions import Fault, Place


class Cost(Enum):
    """What a deviation is counted as."""

    FREE = "free"
    """Another ordinary order of events."""
    FAULT = "fault"
    PAUSE = "pause"
    """Something stands still while others go on: a preemption."""


class Option(NamedTuple):
    """One of several things that can happen."""

    what: str
    cost: Cost = Cost.FREE


class Bounds(NamedTuple):
    """How much of what may happen on a path."""

    faults: int
    pauses: int

    def less(self, cost: Cost) -> "Bounds | None":
        """Return what is left after a deviation; None when it cannot be afforded."""
        left = Bounds(self.faults - (cost is Cost.FAULT), self.pauses - (cost is Cost.PAUSE))
        return left if min(left) >= 0 else None

    def covers(self, other: "Bounds") -> bool:
        return self.faults >= other.faults and self.pauses >= other.pauses


Deviations = tuple[tuple[int, int], ...]
"""Number of the decision and number of the option, for each decision that was not the first option."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A path that begins like another one and deviates once more."""

    deviations: Deviations
    left: Bounds
    """What may still happen after the last deviation."""
    spent: int = 0
    """Faults and pauses so far."""


class Path:
    """Decides by deviations, and notes where else it could have gone afterwards."""

    def __init__(
        self, branch: Branch, faults: frozenset[Fault], bytes_per_record: Mapping[str, int], *, log_changes: bool
    ) -> None:
        """Begin.

        Args:
            branch: where not the first option is taken.
            faults: those that can happen at all.
            bytes_per_record: by who asks.
            log_changes: whether the log may change while somebody asks for it.
        """
        deviations = branch.deviations
        self._deviations = dict(deviations)
        self._branch = branch
        self.last = deviations[-1][0] if deviations else -1
        self._faults = faults
        self._bytes_per_record = bytes_per_record
        self._log_changes = log_changes
        self.left = branch.left
        self.decisions = 0
        self.branches: list[Branch] = []
        self.turns_go_on = True
        """Whether the first option in the middle of a turn is always that it goes on."""
        self.closed = False
        """Whether from now on everything happens by itself."""

    @property
    def is_new(self) -> bool:
        """Whether all deviations lie behind: what comes now, no other path has seen."""
        return self.decisions > self.last

    def decide(self, options: Sequence[Option]) -> int:
        """Return which option is taken, and note the others."""
        if self.closed:
            return 0
        number = self.decisions
        self.decisions += 1
        if number <= self.last:
            chosen = self._deviations.get(number, 0)
            if chosen >= len(options):
                raise ValueError(f"decision {number} has {len(options)} options: the deviations are of another world")
            return chosen
        for index in range(1, len(options)):
            cost = options[index].cost
            left = self.left.less(cost)
            if left is not None:
                deviations = (*self._branch.deviations, (number, index))
                self.branches.append(Branch(deviations, left, self._branch.spent + (cost is not Cost.FREE)))
        return 0

    def is_settled(self) -> bool:
        """Whether the next decision is known already to be for the first option; if it is, it is passed over."""
        settled = self.closed or (self.decisions <= self.last and self.decisions not in self._deviations)
        self.decisions += settled
        return settled

    # as Decisions

    def fails(self, fault: Fault) -> bool:
        if fault not in self._faults:
            return False
        cost = Cost.FREE if fault in (Fault.COMMIT_OUT_OF_TIME, Fault.FORMER_ANSWERS) else Cost.FAULT
        return self.decide((Option("all is well"), Option(fault, cost))) == 1

    def stands_still(self, where: Place) -> bool:
        """Every place is one where the world decides who goes on: by itself, it is he who does."""
        if where is Place.ASKED_LOG and not self._log_changes:
            return False  # nobody could tell the difference
        return not (self.is_settled() if self.turns_go_on else self.closed)

    def silence(self) -> float:
        return 0.0

    def bytes_per_record(self, who: str) -> int:
        return self._bytes_per_record.get(who, self._bytes_per_record["others"])
