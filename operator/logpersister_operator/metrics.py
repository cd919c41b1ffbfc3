"""What the operator counts, for Prometheus."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from logpersister.report.instruments import Instruments
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.rollout.progress import Ended, Ending, RolloutProgress
from logpersister_operator.rollout.transitions import Phase

PREFIX: Final = "logpersister_operator"
_RECONCILE_SECONDS: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_ROLLOUT_SECONDS: Final = (60, 300, 600, 1200, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 7 * 24 * 3600)


@dataclass(frozen=True, slots=True)
class WatchAge:
    """How well one kind of object is known in one namespace, or in all."""

    kind: str
    namespace: str | None
    listed_seconds: float
    """Since the last complete list, or since the beginning when there was none."""
    heard_seconds: float
    """Since the API server answered last, by a list, an event or a bookmark; or since the beginning."""
    refusal: str
    """Why the API server refuses it now; empty when it does not."""


_OF_WATCHES: Final[Sequence[tuple[str, str, Callable[[WatchAge], float]]]] = (
    (
        "list_age_seconds",
        "Time since the last complete list of a kind; resource_namespace is empty for all namespaces",
        lambda one: one.listed_seconds,
    ),
    (
        "watch_age_seconds",
        "Time since the API server last told of a kind: by a list, an event or a bookmark",
        lambda one: one.heard_seconds,
    ),
    ("refused", "1 for a kind that the API server refuses to list or watch", lambda one: bool(one.refusal)),
)


class Metrics(Instruments):
    """All metrics, in a registry of their own."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(CollectorRegistry(), PREFIX)
        self._reconciles = self._counter("reconciles", "Reconciliations of one resource", "outcome")
        self._seconds = self._histogram("reconcile_seconds", "Duration of a reconciliation", _RECONCILE_SECONDS)
        self.status_writes = self._counter("status_writes", "Statuses written")
        self.status_refusals = self._counter(
            "status_refusals", "Statuses that the API server refused because the CRD is older than the operator"
        )
        self.applies = self._counter("applies", "Children applied", "kind")
        self.deletes = self._counter("deletes", "Children deleted", "kind")
        self.member_restarts = self._counter("member_restarts", "Members that hung and were restarted")
        self._lag_questions = self._counter("lag_questions", "Requests to Kafka for the lag of a group")
        self._lag_failures = self._counter("lag_failures", "Failed requests for the lag of a group")
        self._known = _Known(clock)
        self.registry.register(self._known)
        self._rollouts_ended = self._counter("rollouts_ended", "Ended rollouts", "outcome")
        self._rollout_duration = self._histogram(
            "rollout_duration_seconds", "Duration of ended rollouts", _ROLLOUT_SECONDS, "outcome"
        )
        for ending in Ending:  # so that the first of each kind is an increase
            self._rollouts_ended.labels(ending)

    def before_each_scrape(self, refresh: Callable[[], None]) -> None:
        """Call ``refresh`` before each scrape, to take in what is known of all resources."""
        self._known.refresh = refresh

    def reconciled(self, outcome: str, seconds: float) -> None:
        """Count a reconciliation: ``done``, ``refused`` (the API server did not take an object), ``failed``."""
        self._reconciles.labels(outcome).inc()
        self._seconds.observe(seconds)

    def lags_asked(self, groups: int, failures: int) -> None:
        """Count that Kafka was asked about groups; ``failures`` of them got no answer."""
        self._lag_questions.inc(groups)
        self._lag_failures.inc(failures)

    def resources(self, statuses: Mapping[ResourceKey, Mapping[str, Any]]) -> None:
        """Take in the statuses of all resources."""
        self._known.members = {key: status["members"] for key, status in statuses.items() if "members" in status}
        self._known.conditions = {
            key: {one["type"]: one["status"] for one in status.get("conditions", [])}
            for key, status in statuses.items()
        }

    def watches(self, ages: Iterable[WatchAge]) -> None:
        """Take in how well each kind is known in each namespace."""
        self._known.watches = list(ages)

    def targets(self, seconds: Mapping[ResourceKey, float]) -> None:
        """Take in how long records of all resources may wait."""
        self._known.targets = dict(seconds)

    def rollouts(self, found: Mapping[ResourceKey, RolloutProgress]) -> None:
        """Take in how far all resources are."""
        self._known.rollouts = dict(found)

    def rollouts_ended(self, found: Iterable[Ended]) -> None:
        for one in found:
            self._rollouts_ended.labels(one.ending).inc()
            if one.seconds is not None:
                self._rollout_duration.labels(one.ending).observe(one.seconds)


class _Known(Collector):
    """Series of what is known of resources and watches, made at each scrape: time goes on between reconciliations."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.refresh: Callable[[], None] = lambda: None
        self.watches: Sequence[WatchAge] = ()
        self.rollouts: Mapping[ResourceKey, RolloutProgress] = {}
        self.members: Mapping[ResourceKey, Mapping[str, Any]] = {}
        """The section of the status."""
        self.conditions: Mapping[ResourceKey, Mapping[str, str]] = {}
        self.targets: Mapping[ResourceKey, float] = {}
        self._clock = clock

    def collect(self) -> Iterator[GaugeMetricFamily]:
        self.refresh()
        yield from self._of_watches()
        yield from self._of_rollouts()
        members = _family("members", "Members of a resource, of all revisions", "state")
        for key, section in self.members.items():
            members.add_metric([*_labels(key), "ready"], section["ready"])
            members.add_metric([*_labels(key), "wanted"], section["desired"])
        yield members
        conditions = _family(
            "condition", "1 for the present status of a condition of a resource", "type", "status", "resource_kind"
        )
        for key, of_one in self.conditions.items():
            for kind, status in of_one.items():
                conditions.add_metric([*_labels(key), kind, status, key.kind], 1.0)
        yield conditions
        resources = GaugeMetricFamily(f"{PREFIX}_resources", "Resources by condition", labels=("condition", "status"))
        for labels, count in Tally(one for of_one in self.conditions.values() for one in of_one.items()).items():
            resources.add_metric(labels, count)
        yield resources
        targets = _family("lag_target_seconds", "Target lag of a resource, of the topic with the longest target")
        for key, seconds in self.targets.items():
            targets.add_metric(_labels(key), seconds)
        yield targets

    def _of_watches(self) -> Iterator[GaugeMetricFamily]:
        for name, text, value in _OF_WATCHES:
            family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=("kind", "resource_namespace"))
            for one in self.watches:
                family.add_metric((one.kind, one.namespace or ""), value(one))
            yield family

    def _of_rollouts(self) -> Iterator[GaugeMetricFamily]:
        phases = _family("rollout_phase", "1 for the present phase of a resource, 0 for the others", "phase")
        steps = _family("rollout_step", "Step of the present rollout; 0 is the canary")
        members = _family("rollout_members", "Ready and wanted members of the revision that is rolled out", "state")
        seconds = _family("rollout_seconds", "Time since the present rollout began")
        for key, one in self.rollouts.items():
            for phase in Phase:
                phases.add_metric([*_labels(key), phase], float(phase is one.phase))
            if one.began is not None:
                steps.add_metric(_labels(key), one.step)
                members.add_metric([*_labels(key), "ready"], one.ready)
                members.add_metric([*_labels(key), "wanted"], one.wanted)
                seconds.add_metric(_labels(key), max(0.0, (self._clock() - one.began).total_seconds()))
        yield from (phases, steps, members, seconds)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    # Prometheus would take a label `namespace` for that of the operator's own pod.
    names = ["resource_namespace", "resource_name", *labels]
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=names)


def _labels(key: ResourceKey) -> list[str]:
    return [key.namespace, key.name]
