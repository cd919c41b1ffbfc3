"""Places among the resources that roll out at once. Thread-safe."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from logpersister_operator.crd.status_rollout import record_of
from logpersister_operator.decide.revisions.rollout_turns import (
    RolloutLimits,
    RolloutStanding,
    first_standing,
    standing,
    turn,
)
from logpersister_operator.observe.resource import key_of
from logpersister_operator.observed_state import ObservedState, ResourceKey
from logpersister_operator.render.application import Application


class RolloutPlaces:
    """Gives out places, one resource after the other, and wakes those that wait when one gets free."""

    def __init__(self, limits: RolloutLimits, wake: Callable[[ResourceKey], None]) -> None:
        self._limits = limits
        self._wake = wake
        self._standings: dict[ResourceKey, RolloutStanding] = {}
        self._lock = threading.Lock()

    def select(self, namespaces: frozenset[str]) -> None:
        """Take in which namespaces are canaries by their labels."""
        with self._lock:
            if namespaces == self._limits.selected_namespaces:
                return
            self._limits = replace(self._limits, selected_namespaces=namespaces)
        self._wake_waiting()

    def seen(self, resource: Mapping[str, Any]) -> None:
        """Take in that a resource is there; before any is reconciled, all that are there have been seen."""
        with self._lock:
            self._standings.setdefault(key_of(resource), first_standing(record_of(resource.get("status") or {})))

    def unable(self, key: ResourceKey) -> None:
        """Take in that a resource cannot roll out now: nothing valid to run is known, or it cannot be reconciled.

        It has its place until its rollout ends, but nobody waits for it to get one.
        """
        with self._lock:
            before = self._standings.get(key, RolloutStanding())
            found = self._standings[key] = RolloutStanding(holds=before.holds)
        if found != before:
            self._wake_waiting()

    def gone(self, resource: Mapping[str, Any]) -> None:
        """Take in that a resource is there no more."""
        with self._lock:
            self._standings.pop(key_of(resource), None)
        self._wake_waiting()

    def ask(self, observed: ObservedState, app: Application, *, paused: bool) -> str:
        """Return why the rollout of a resource has to wait, in words; empty when it may go on, or none is wanted.

        Whoever may begin has its place at once: two threads never give out the last one twice.
        """
        if not self._limits.are_set:
            return ""
        key = observed.key
        with self._lock:
            before = self._standings.get(key)
            held = before is not None and before.holds
            found = standing(observed, app, paused=paused, held=held)
            if found.wants and held:
                found = replace(found, holds=True)
            self._standings[key] = found
            reason = turn(key, self._standings, self._limits) if found.wants else ""
            if found.wants and not reason:
                found = self._standings[key] = replace(found, holds=True)
        if found != before:
            self._wake_waiting(key)
        return reason

    def _wake_waiting(self, but: ResourceKey | None = None) -> None:
        with self._lock:
            waiting = [key for key, one in self._standings.items() if one.wants and not one.holds]
        for key in waiting:
            if key != but:
                self._wake(key)
