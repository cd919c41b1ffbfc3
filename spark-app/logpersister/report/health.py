"""Liveness and readiness of a member: each answer names the component and since when.

A component proves that it lives by a **heartbeat** (`Probe.beat`) which may not be older than its limit, and by its
thread, if it names one. What must have happened once or must hold now before the member counts as ready is a
**condition** (`Condition.set`). Nothing here waits or asks a component anything, so a wedged one cannot wedge the
answer.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """One line of an answer."""

    component: str
    ok: bool
    message: str
    since_seconds: float
    """How long ago: the last heartbeat, or the last change of a condition."""

    def __str__(self) -> str:
        return f"{'ok' if self.ok else 'FAILED'} {self.component}: {self.message}"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """An answer to a probe: ok when every component is."""

    components: tuple[ComponentHealth, ...]

    @property
    def ok(self) -> bool:
        return all(component.ok for component in self.components)

    def __str__(self) -> str:
        return "\n".join(map(str, self.components)) or "ok: no components registered"


class Probe:
    """The heartbeat of one component. `beat` is cheap and may be called from any thread."""

    def __init__(self, component: str, max_age: timedelta, startup: timedelta, clock: Callable[[], float]) -> None:
        self.component = component
        self._max_age = max_age.total_seconds()
        self._startup = startup.total_seconds()
        self._clock = clock
        self._lock = threading.Lock()
        self._created = clock()
        self._last: float | None = None
        self._failure: tuple[float, str] | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    def beat(self) -> None:
        """The component just did its work. Takes back an earlier `fail`."""
        with self._lock:
            self._last = self._clock()
            self._failure = None

    def fail(self, message: str) -> None:
        """The component knows that it is broken beyond repair; a restart is the cure."""
        with self._lock:
            if self._failure is None:
                self._failure = (self._clock(), message)

    def watch(self, thread: threading.Thread) -> None:
        """Fail the probe as soon as `thread` is dead, without waiting for the heartbeat to grow old."""
        with self._lock:
            self._thread = thread

    def stop(self) -> None:
        """The component ended as it should (shutdown): no more heartbeats are expected."""
        with self._lock:
            self._stopped = True

    def health(self) -> ComponentHealth:
        with self._lock:
            now = self._clock()
            age = now - (self._created if self._last is None else self._last)
            if self._stopped:
                return ComponentHealth(self.component, ok=True, message="stopped as asked", since_seconds=age)
            if self._failure is not None:
                since, message = self._failure
                return ComponentHealth(self.component, ok=False, message=message, since_seconds=now - since)
            # A thread that has not been started has no ident; it is not dead yet.
            if self._thread is not None and self._thread.ident is not None and not self._thread.is_alive():
                message = f"thread {self._thread.name} is dead"
                return ComponentHealth(self.component, ok=False, message=message, since_seconds=age)
            if self._last is None:
                ok = age <= self._startup
                message = f"no heartbeat yet, {age:.1f} s after the start (limit {self._startup:g} s)"
            else:
                ok = age <= self._max_age
                message = f"last heartbeat {age:.1f} s ago (limit {self._max_age:g} s)"
            return ComponentHealth(self.component, ok, message, age)


class Condition:
    """Something that must hold for the member to be ready; not met until `set` says so."""

    def __init__(self, component: str, clock: Callable[[], float]) -> None:
        self.component = component
        self._clock = clock
        self._lock = threading.Lock()
        self._met = False
        self._message = "not yet"
        self._since = clock()

    def set(self, met: bool, message: str = "") -> None:  # noqa: FBT001 - the value, not a mode
        """State whether it holds. The time since when moves only when that changes."""
        with self._lock:
            if met != self._met:
                self._since = self._clock()
            self._met = met
            self._message = message or ("met" if met else "not met")

    @property
    def met(self) -> bool:
        with self._lock:
            return self._met

    def health(self) -> ComponentHealth:
        with self._lock:
            since = self._clock() - self._since
            return ComponentHealth(self.component, self._met, f"{self._message} (since {since:.1f} s)", since)


class Health:
    """All probes and conditions of one member; made once, handed to the components and to the server.

    - live (`/healthz`): no probe has failed, is too old, or has a dead thread. Kubernetes restarts the pod otherwise.
    - ready (`/readyz`): live, and every condition is met.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._probes: dict[str, Probe] = {}
        self._conditions: dict[str, Condition] = {}

    def probe(self, component: str, max_age: timedelta, startup: timedelta | None = None) -> Probe:
        """Register a heartbeat; a name that is registered again replaces the earlier probe.

        `startup` is the time until the first one (default: `max_age`): to start Spark takes longer than to answer.
        """
        probe = Probe(component, max_age, max_age if startup is None else startup, self._clock)
        with self._lock:
            self._probes[component] = probe
        return probe

    def condition(self, component: str) -> Condition:
        """Register a condition of readiness, not met at first."""
        condition = Condition(component, self._clock)
        with self._lock:
            self._conditions[component] = condition
        return condition

    def live(self) -> HealthReport:
        with self._lock:
            probes = tuple(self._probes.values())
        return HealthReport(tuple(probe.health() for probe in probes))

    def ready(self) -> HealthReport:
        with self._lock:
            conditions = tuple(self._conditions.values())
        return HealthReport(self.live().components + tuple(condition.health() for condition in conditions))
