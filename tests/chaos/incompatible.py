"""A version of the schema of sales is registered that can read none before it: they are held until that is mended.

Held means that nothing is promised, that others go on, and that whoever takes over from a member that is killed or
frozen holds them, too. Somebody mends it by what `Choices.incompatible` says.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka.errors import KafkaError

from tests.chaos import sales
from tests.chaos.check import Progress, TopicPartition
from tests.chaos.crew import Place
from tests.chaos.disturbances import Disturbance, OfMember
from tests.chaos.examination import progress
from tests.chaos.stage import Stage

_ASK_SECONDS = 1.0
_PATIENCE_SECONDS = 180.0
"""How long to wait for what a run must meet (`goals`): members may be dead, frozen, or without the registry."""
_REASON = "schema-incompatible"

Places = set[tuple[str, int]]
"""Partitions of sales in groups."""
Stands = Mapping[str, Mapping[TopicPartition, Progress]]
"""By group."""


@dataclass(eq=False, kw_only=True)
class IncompatibleVersion(Disturbance):
    """It stays until all that must be met was met, or patience ends."""

    name = "schema-incompatible"
    meanwhile: OfMember
    """What happens to a member that holds partitions, once all of them are held."""
    _stage: Stage = field(init=False)
    _began: float = field(default=0.0, init=False)
    _asked: float = field(default=0.0, init=False)
    _version_before: int = field(default=0, init=False)
    _held: set[tuple[str, str, int]] = field(default_factory=set, init=False)
    """By process, group and partition."""
    _when_held: Stands | None = field(default=None, init=False)
    _held_by_then: int = field(default=0, init=False)
    _meanwhile_until: float | None = field(default=None, init=False)
    """When what happens to a member is over; None: it has not begun, or is over."""

    def ready(self, stage: Stage) -> bool:
        """Whether every partition has rows of a version before: the first one of a partition holds nothing."""
        if not _has_registry(stage) or not self._is_time():
            return False
        stands = _stands(stage)
        return stands is not None and all(
            one.committed for group in stands.values() for of, one in group.items() if of[0] == sales.TOPIC
        )

    def begin(self, stage: Stage) -> str:
        assert stage.writers is not None
        self._stage, self._began = stage, time.monotonic()
        stage.busy.add(sales.TOPIC)
        self.meanwhile.suits = self._holds
        self._version_before = stage.writers.refuse()
        return f"the version after {self._version_before} can read none before it"

    def over(self) -> bool:
        if not _has_registry(self._stage) or not self._is_time():
            return False
        self._held |= {one for place in self._stage.crew.places for one in self._told_by(place)}
        is_met = self._meet()
        if self._meanwhile_until is not None:
            return False  # who is frozen wakes up first
        return is_met or time.monotonic() - self._began > _PATIENCE_SECONDS

    def end(self, stage: Stage) -> str:
        assert stage.writers is not None
        held = {(group, partition) for _, group, partition in self._held}
        stage.happened.held_partitions = len(held)
        stage.happened.never_held = len(self._wanted() - held)
        groups = stage.settings.outputs_of(sales.TOPIC)
        match stage.settings.choices.incompatible:
            case "pin":
                for output in groups:
                    stage.pin(output, self._version_before)
                said = f"version {self._version_before} is named by the manifests"
            case "mend":
                stage.writers.mend()
                said = "a version is registered that can read all"
            case _:
                stage.writers.delete_refused()
                said = "the version is deleted"
        for output in groups:
            stage.crew.renew(output.name)
        stage.busy.discard(sales.TOPIC)
        return f"{len(held)} partitions were held; {said}, and members begin anew"

    def _meet(self) -> bool:
        """Do what is next, and return whether all was met."""
        if self._wanted() - {(group, partition) for _, group, partition in self._held}:
            return False
        if self._when_held is None:
            self._when_held = self._begin_meanwhile()
            return False
        if self._meanwhile_until is not None:
            self._end_meanwhile()
        now = _stands(self._stage)
        if now is None:
            return False
        happened = self._stage.happened
        happened.stored_beside, moved = compared(self._when_held, now)
        happened.held_again = len(self._held) - self._held_by_then
        self._stage.broken += [f"{partition} has moved, and was held for the schema" for partition in moved]
        stands_alone = all(len(output.topics) == 1 for output in self._stage.settings.outputs_of(sales.TOPIC))
        return bool(moved) or (happened.held_again > 0 and (happened.stored_beside > 0 or stands_alone))

    def _begin_meanwhile(self) -> Stands | None:
        """Do something to a member; return where the groups stood before, None if it cannot be done now."""
        stands = _stands(self._stage)
        if stands is None or not self.meanwhile.ready(self._stage):
            return None
        self._held_by_then = len(self._held)
        self._stage.chronicle.tell(
            self.meanwhile.name, f"while partitions are held: {self.meanwhile.begin(self._stage)}"
        )
        if self.meanwhile.seconds:
            self._meanwhile_until = time.monotonic() + self.meanwhile.seconds
        return stands

    def _end_meanwhile(self) -> None:
        if self._meanwhile_until is not None and self._meanwhile_until <= time.monotonic():
            self._meanwhile_until = None
            self._stage.chronicle.tell(f"{self.meanwhile.name}.ends", self.meanwhile.end(self._stage))

    def _holds(self, place: Place) -> bool:
        return bool(self._told_by(place))

    def _told_by(self, place: Place) -> set[tuple[str, str, int]]:
        """Return what the process of a place has held."""
        if place.process is None or place.group not in {one for one, _ in self._wanted()}:
            return set()
        events = place.process.events("partition.held", reason=_REASON)
        return {(place.process.log.name, place.group, event["partition"]) for event in events}

    def _wanted(self) -> Places:
        groups = [output.name for output in self._stage.settings.outputs_of(sales.TOPIC)]
        return {(group, number) for group in groups for number in range(self._stage.partitions[sales.TOPIC])}

    def _is_time(self) -> bool:
        """Whether brokers may be asked again: it is tried many times in a second."""
        now = time.monotonic()
        if now - self._asked < _ASK_SECONDS:
            return False
        self._asked = now
        return True


def _has_registry(stage: Stage) -> bool:
    return "registry" not in stage.busy and stage.registry.serves()


def _stands(stage: Stage) -> Stands | None:
    """Return where the groups with sales stand; None: brokers do not say so now."""
    if "broker" in stage.busy:
        return None
    try:
        return {
            output.name: progress(stage.kafka.bootstrap, output) for output in stage.settings.outputs_of(sales.TOPIC)
        }
    except (KafkaError, OSError):
        return None


def compared(before: Stands, now: Stands) -> tuple[int, list[str]]:
    """Return how many records of other topics were stored, and which partitions of sales have moved."""
    stored, moved = 0, []
    for group, partitions in before.items():
        for of, one in partitions.items():
            by = now[group][of].committed - one.committed
            if of[0] != sales.TOPIC:
                stored += by
            elif by:
                moved.append(f"{group}: {of[0]}-{of[1]}")
    return stored, moved
