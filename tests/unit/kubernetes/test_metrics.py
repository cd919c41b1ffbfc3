"""What the operator counts about rollouts, from what it decides."""

from datetime import timedelta
from typing import Any

import pytest

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.metrics import Metrics
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.rollout.progress import Ending, RolloutProgress
from tests.unit.kubernetes.samples import NOW, Life, by_reference, decide, lag, observed, resource

KEY = ResourceKey("logs", "clicks-backup")
CHANGED: dict[str, Any] = {"output": {"text": {"compression": "zstd"}}}


class Watched:
    """A resource of two members, minute by minute, as the operator's metrics show it."""

    def __init__(self, **rollout: Any) -> None:
        self.now = NOW
        self.metrics = Metrics(lambda: self.now)
        self.life = Life(resource(members=2, rollout={"canary": {"analysis": {"minRanges": 0}}} | rollout))
        self.minutes(3)

    def minute(self, *pods: Document) -> RolloutProgress:
        """Let a minute pass; there are these pods at its end."""
        self.now += timedelta(minutes=1)
        plan = self.life.step(now=self.now, lag=lag())
        assert plan.progress is not None
        self.metrics.rollouts_ended(plan.ended)
        self.metrics.rollouts({KEY: plan.progress})
        self.metrics.resources({KEY: plan.status})
        self.life.children |= by_reference(pods)
        return plan.progress

    def minutes(self, count: int) -> None:
        """Let minutes pass in which whoever starts gets ready."""
        for _ in range(count):
            self.minute()
            self.life.get_ready()

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"logpersister_operator_{name}", labels)

    def gauge(self, name: str, **labels: str) -> float | None:
        return self.value(f"rollout_{name}", resource_namespace="logs", resource_name="clicks-backup", **labels)

    def ended(self) -> dict[str, float]:
        found = {ending.value: self.value("rollouts_ended_total", outcome=ending) or 0 for ending in Ending}
        return {name: count for name, count in found.items() if count}


def test_a_rollout_in_numbers_from_its_begin_to_its_end() -> None:
    watched = Watched(steps=[{"members": 1, "pause": {}}])
    assert (watched.gauge("phase", phase="Steady"), watched.gauge("seconds"), watched.ended()) == (1, None, {})
    watched.life.change(**CHANGED)
    watched.minutes(2)
    assert (watched.gauge("phase", phase="Canary"), watched.gauge("phase", phase="Steady")) == (1, 0)
    assert (watched.gauge("step"), watched.gauge("seconds")) == (0, 60)
    assert (watched.gauge("members", state="ready"), watched.gauge("members", state="wanted")) == (1, 1)
    watched.now += timedelta(seconds=30)
    assert watched.gauge("seconds") == 90, "time goes on between two reconciliations"
    watched.minutes(8)
    assert (watched.gauge("phase", phase="Waiting"), watched.gauge("step")) == (1, 1)
    watched.life.annotate(**{"logpersister.dev/promote": watched.life.resource["status"]["revision"]})
    watched.minutes(6)
    assert (watched.gauge("phase", phase="Steady"), watched.gauge("members", state="ready")) == (1, None)
    assert watched.ended() == {"completed": 1}
    assert watched.value("rollout_duration_seconds_bucket", outcome="completed", le="600.0") == 0
    assert watched.value("rollout_duration_seconds_bucket", outcome="completed", le="1200.0") == 1
    by = {"resource_namespace": "logs", "resource_name": "clicks-backup"}
    assert [watched.value("members", **by, state=state) for state in ("ready", "wanted")] == [2, 2]
    watched.metrics.rollouts({})
    watched.metrics.resources({})
    assert watched.gauge("phase", phase="Steady") is None, "the resource is gone"
    assert watched.value("members", **by, state="wanted") is None


def test_conditions_of_each_resource_by_its_name() -> None:
    metrics = Metrics()

    def value(name: str, kind: str, status: str) -> float | None:
        labels = {"resource_namespace": "logs", "resource_name": name, "type": kind, "status": status}
        labels["resource_kind"] = "LogPersister"
        return metrics.registry.get_sample_value("logpersister_operator_condition", labels)

    good, bad = ({"conditions": [{"type": "Ready", "status": status}]} for status in ("True", "False"))
    metrics.resources({ResourceKey("logs", "one"): good, ResourceKey("logs", "two"): bad})
    assert (value("one", "Ready", "True"), value("two", "Ready", "False")) == (1, 1)
    assert value("one", "Ready", "False") is None
    metrics.resources({ResourceKey("logs", "one"): bad})
    assert (value("one", "Ready", "True"), value("one", "Ready", "False")) == (None, 1)
    assert value("two", "Ready", "False") is None, "it is gone"


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({"upload": {"maxAge": "15m"}}, 1860),
        ({"upload": {"maxAge": "15m"}, "targetLag": "1h"}, 3600),
        ({"upload": {"maxAge": "15m"}, "overrides": [{"topicPattern": "^slow", "upload": {"maxAge": "1h"}}]}, 7260),
        ({"upload": {"maxAge": "15m"}, "overrides": [{"topicPattern": "^fast", "upload": {"maxAge": "1m"}}]}, 1860),
    ],
)
def test_how_long_records_of_a_resource_may_wait(spec: dict[str, Any], seconds: float) -> None:
    assert decide(observed(resource(**spec))).target_seconds == seconds
