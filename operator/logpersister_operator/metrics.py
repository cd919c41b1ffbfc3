"""What the operator counts, for Prometheus."""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """All metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "logpersister_operator_reconciles", "Rounds about one resource", ["outcome"], registry=self.registry
        )
        self._seconds = Histogram(
            "logpersister_operator_reconcile_seconds",
            "Duration of a round",
            buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
            registry=self.registry,
        )
        self._status_writes = Counter("logpersister_operator_status_writes", "Statuses written", registry=self.registry)
        self._status_refusals = Counter(
            "logpersister_operator_status_refusals",
            "Statuses that the API server did not take: its definition of LogPersister is older than the operator",
            registry=self.registry,
        )
        self._applies = Counter("logpersister_operator_applies", "Children applied", ["kind"], registry=self.registry)
        self._deletes = Counter("logpersister_operator_deletes", "Children deleted", ["kind"], registry=self.registry)
        self._lag_questions = Counter(
            "logpersister_operator_lag_questions",
            "Times that Kafka was asked for the lag of a group",
            registry=self.registry,
        )
        self._lag_failures = Counter(
            "logpersister_operator_lag_failures",
            "Times that the lag of a group could not be read",
            registry=self.registry,
        )
        self._resources = Gauge(
            "logpersister_operator_resources", "Resources by condition", ["condition", "status"], registry=self.registry
        )

    def reconciled(self, outcome: str, seconds: float) -> None:
        """Count a round: ``done``, ``refused`` (the API server did not take an object), ``failed``."""
        self._reconciles.labels(outcome).inc()
        self._seconds.observe(seconds)

    def status_written(self) -> None:
        self._status_writes.inc()

    def status_refused(self) -> None:
        self._status_refusals.inc()

    def applied(self, kind: str) -> None:
        self._applies.labels(kind).inc()

    def deleted(self, kind: str) -> None:
        self._deletes.labels(kind).inc()

    def lag_asked(self) -> None:
        self._lag_questions.inc()

    def lag_failed(self) -> None:
        self._lag_failures.inc()

    def resources(self, statuses: Iterable[Mapping[str, Any]]) -> None:
        """Take in the statuses of all resources."""
        tally = Tally(
            (condition["type"], condition["status"])
            for status in statuses
            for condition in status.get("conditions", [])
        )
        self._resources.clear()
        for (condition, status), count in tally.items():
            self._resources.labels(condition, status).set(count)

    def render(self) -> bytes:
        return generate_latest(self.registry)
