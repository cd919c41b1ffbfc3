"""Shadows by the operator as a process, on a real API server; their pods get ready and tell what the test says."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import SPEC as LEAST
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.saying import SAME, saying

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

ADDRESS = "127.0.78.1"
ROLLOUT: dict[str, Any] = {
    "shadow": {"groupId": "clicks-shadow", "prefix": "shadow", "duration": "1s", "minRanges": 2},
    "canary": {"analysis": {"duration": "0s", "minRanges": 0}},
}
SPEC = LEAST | {
    "members": 2,
    "rollout": ROLLOUT,
}
CHANGED = SPEC | {"output": {"compression": "zstd"}}
EXAMPLE = {"topic": "clicks", "partition": 3, "start": 100, "end": 200, "message": "99 records instead of 100"}


@pytest.fixture
def kubelet(kubelet: Kubelet) -> Kubelet:
    """Lets shadows answer where the test does it for them."""
    kubelet.shadow_address = ADDRESS
    return kubelet


def uids(resource: Resource) -> dict[str, str]:
    return {name: str(pod["metadata"]["uid"]) for name, pod in resource.children("api/v1", "pods").items()}


def names(resource: Resource, group: str, plural: str) -> set[str]:
    return set(resource.children(group, plural))


def group(resource: Resource) -> str:
    """Return the group of the shadow when its pod is there."""

    def found() -> str | None:
        there = [name for name in uids(resource) if "-shadow-" in name]
        told: str | None = ((resource.status().get("rollout") or {}).get("shadow") or {}).get("groupId")
        return told if there else None

    told: str = resource.eventually("a shadow", found)
    return told


def only(resource: Resource, revision: str) -> Callable[[], bool]:
    """Return whether nothing is there but a revision."""
    return lambda: (
        names(resource, "apis/apps/v1", "statefulsets") == {revision}
        and names(resource, "api/v1", "configmaps") == {revision}
        and all(name.rpartition("-")[0] == revision for name in uids(resource))
    )


def test_one_that_differs_or_is_taken_back_was_never_in_the_group(
    resource: Resource, operator: OperatorProcess, kubelet: Kubelet
) -> None:
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    (old,), before = resource.stateful_sets(), uids(resource)
    resource.apply(CHANGED)
    first = group(resource)
    operator.kill()
    operator.start()
    with saying(ADDRESS, group=first, shadow=SAME | {"differences": 1, "examples": [EXAMPLE]}):
        message = resource.wait("Stalled", "True", "RolloutFailed")["message"]
    assert "clicks partition 3 offsets 100 to 200: 99 records instead of 100" in message
    resource.eventually("the shadow is gone", only(resource, old))

    resource.apply(CHANGED | {"rollout": ROLLOUT | {"attempt": 1}})
    assert group(resource) != first
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    resource.eventually("the shadow is gone", only(resource, old))

    assert uids(resource) == before, "the old members were left alone"
    assert len(kubelet.seen) == 2
    assert all(name == old or name.endswith("-shadow") for name in kubelet.seen), "it had no members of its own"
    assert kubelet.broken == []
