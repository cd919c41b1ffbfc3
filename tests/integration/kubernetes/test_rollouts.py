"""Rollouts by the operator as a process, on a real API server; pods get ready, crash and go when the test says so."""

from collections.abc import Callable

import pytest

from logpersister_operator.render.workload import RESTART_ANNOTATION
from tests.integration.kubernetes.conftest import Plugin
from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import SPEC as LEAST
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource

pytestmark = pytest.mark.usefixtures("crd")

MEMBERS = 3
SPEC = LEAST | {
    "members": MEMBERS,
    "rollout": {"canary": {"analysis": {"duration": "1s", "minRanges": 0}}, "progressDeadline": "60s"},
}
CHANGED = {"output": {"text": {"compression": "zstd"}}}


def members(resource: Resource) -> dict[str, int]:
    return {name: one["spec"]["replicas"] for name, one in resource.stateful_sets().items()}


def restarts(resource: Resource) -> dict[str, str | None]:
    """Return when the members of each StatefulSet were to be restarted last."""
    templates = {name: one["spec"]["template"]["metadata"] for name, one in resource.stateful_sets().items()}
    return {name: one.get("annotations", {}).get(RESTART_ANNOTATION) for name, one in templates.items()}


def _reaches(resource: Resource, name: str, number: int) -> Callable[[], bool]:
    return lambda: members(resource).get(name, 0) >= number


def test_a_canary_takes_over_though_the_operator_is_killed(
    resource: Resource, operator: OperatorProcess, kubelet: Kubelet
) -> None:
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    (old,) = members(resource)
    resource.apply(SPEC | CHANGED)
    resource.eventually("a canary", lambda: len(members(resource)) == 2)
    (new,) = members(resource).keys() - {old}
    for step in (1, 2):
        operator.kill()
        operator.start()
        resource.eventually(f"{step} new members", _reaches(resource, new, step))
    resource.eventually("the old ones have left", lambda: members(resource) == {new: MEMBERS})
    resource.wait("Ready", "True", "MembersReady")
    assert kubelet.broken == []
    assert kubelet.most <= MEMBERS + 1
    resource.wait_events("RolloutCompleted")
    assert operator.metrics()['logpersister_operator_rollouts_ended_total{outcome="completed"}'] == 1
    duration = operator.metrics()['logpersister_operator_rollout_duration_seconds_sum{outcome="completed"}']
    assert duration >= 1, "from before the operator was killed"


def test_a_canary_that_crashes_is_withdrawn(
    resource: Resource, operator: OperatorProcess, kubelet: Kubelet, plugin: Plugin
) -> None:
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    (old,) = members(resource)
    kubelet.crashing = _AllBut(old)
    resource.apply(SPEC | CHANGED)
    resource.wait("Reconciling", "True", "TryingCanary")
    operator.kill()
    operator.start()
    message = resource.wait("Stalled", "True", "RolloutFailed")["message"]
    assert "no such bucket" in message
    assert "kubectl logpersister retry, or spec.rollout.attempt 1" in message
    resource.eventually("what the canary left goes", lambda: members(resource) == {old: MEMBERS})
    assert resource.status()["summary"]["state"].startswith("Failed, revision")
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    kubelet.crashing = set()
    slow = {"canary": {"analysis": {"duration": "9m", "minRanges": 0}}, "progressDeadline": "1h"}
    resource.apply(SPEC | CHANGED | {"rollout": slow})
    resource.wait("Stalled", "True", "RolloutFailed")
    assert plugin("retry", resource.name).returncode == 0
    resource.wait("Reconciling", "True", "TryingCanary")
    assert plugin("abort", resource.name).returncode == 0
    assert "aborted by the annotation" in resource.wait("Stalled", "True", "RolloutFailed")["message"]
    resource.eventually("the canary leaves", lambda: members(resource) == {old: MEMBERS})
    assert plugin("restart", resource.name).returncode == 0
    asked = (resource.get() or {})["metadata"]["annotations"][RESTART_ANNOTATION]
    resource.eventually("Kubernetes is told to restart", lambda: restarts(resource) == {old: asked})
    assert kubelet.broken == []
    assert kubelet.most <= MEMBERS + 1


class _AllBut(set[str]):
    """All names but one."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __contains__(self, name: object) -> bool:
        return name != self._name
