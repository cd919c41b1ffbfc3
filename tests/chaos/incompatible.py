"""A version of the schema of sales is registered that can read none before it: they are held until that is mended.

Held means that nothing is promised, and others go on. Somebody mends it by what `Choices.incompatible` says.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka.errors import KafkaError

from tests.chaos import sales
from tests.chaos.check import Progress, TopicPartition
from tests.chaos.disturbances import Disturbance
from tests.chaos.examination import progress
from tests.chaos.stage import Stage

_ASK_SECONDS = 1.0
_PATIENCE_SECONDS = 180.0
"""How long to wait for what a run must meet (`goals`): members may be dead, frozen, or without the registry."""
_REASON = "schema-incompatible"

Places = set[tuple[str, TopicPartition]]
"""Partitions of groups."""
Stands = Mapping[str, Mapping[TopicPartition, Progress]]
"""By group."""


@dataclass(eq=False, kw_only=True)
class IncompatibleVersion(Disturbance):
    """It stays until all partitions are held, and something of other topics was stored meanwhile."""

    _stage: Stage = field(init=False)
    _began: float = field(default=0.0, init=False)
    _asked: float = field(default=0.0, init=False)
    _version_before: int = field(default=0, init=False)
    _held: Places = field(default_factory=set, init=False)
    _when_held: Stands | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        return "schema-incompatible"

    def ready(self, stage: Stage) -> bool:
        """Whether every partition has rows of a version before: the first one of a partition holds nothing."""
        if not self._has_registry(stage) or not self._is_time():
            return False
        stands = _stands(stage)
        return stands is not None and all(
            one.committed for group in stands.values() for (topic, _), one in group.items() if topic == sales.TOPIC
        )

    def begin(self, stage: Stage) -> str:
        assert stage.writers is not None
        self._stage, self._began = stage, time.monotonic()
        stage.busy.add(sales.TOPIC)
        self._version_before = stage.writers.refuse()
        return f"the version after {self._version_before} can read none before it"

    def over(self) -> bool:
        if not self._has_registry(self._stage) or not self._is_time():
            return False
        return self._is_met() or time.monotonic() - self._began > _PATIENCE_SECONDS

    def end(self, stage: Stage) -> str:
        assert stage.writers is not None
        stage.happened.held_partitions = len(self._held)
        stage.happened.never_held = len(self._wanted() - self._held)
        groups = stage.settings.outputs_of(sales.TOPIC)
        if stage.settings.choices.incompatible == "pin":
            for output in groups:
                stage.pin(output, self._version_before)
            said = f"version {self._version_before} is named by the manifests"
        else:
            said = f"version {stage.writers.mend()} is registered once more, and can read all"
        for output in groups:
            stage.crew.renew(output.name)
        stage.busy.discard(sales.TOPIC)
        return f"{len(self._held)} partitions were held; {said}, and members begin anew"

    def _is_met(self) -> bool:
        """Look at what is held, and whether nothing of that and something else has moved since all of it is."""
        self._held |= self._told_by_members()
        if self._wanted() - self._held:
            return False
        now = _stands(self._stage)
        if now is None:
            return False
        if self._when_held is None:
            self._when_held = now
            return False
        stored_beside, moved = compared(self._when_held, now)
        self._stage.broken += [f"{place} has moved, and was held for the schema" for place in moved]
        self._stage.happened.stored_beside = stored_beside
        stands_alone = all(len(output.topics) == 1 for output in self._stage.settings.outputs_of(sales.TOPIC))
        return bool(stored_beside or stands_alone or moved)

    def _told_by_members(self) -> Places:
        groups = {output.name for output in self._stage.settings.outputs_of(sales.TOPIC)}
        return {
            (place.group, (event["topic"], event["partition"]))
            for place in self._stage.crew.places
            if place.group in groups and place.process is not None
            for event in place.process.events("partition.held", reason=_REASON)
        }

    def _wanted(self) -> Places:
        return {
            (output.name, (sales.TOPIC, number))
            for output in self._stage.settings.outputs_of(sales.TOPIC)
            for number in range(self._stage.partitions[sales.TOPIC])
        }

    def _is_time(self) -> bool:
        """Whether brokers may be asked again: it is tried many times in a second."""
        now = time.monotonic()
        if now - self._asked < _ASK_SECONDS:
            return False
        self._asked = now
        return True

    def _has_registry(self, stage: Stage) -> bool:
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
