"""A new default image on a real API server: one resource after the other, as the operator's settings say."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.test_rollouts import SPEC, members
from tests.stack.kubernetes import ApiServer, Client

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

NAMES = ("clicks", "views", "orders")
NEW_IMAGE = "registry.example/logpersister:0.2.0"
SMALL = SPEC | {"members": 2}


@pytest.fixture
def resources(api: Client, namespace: str) -> list[Resource]:
    return [Resource(api, namespace, name, lambda: "") for name in NAMES]


@pytest.fixture
def kubelets(api_server: ApiServer, resources: list[Resource]) -> Iterator[None]:
    """Pods of all of them."""
    with contextlib.ExitStack() as stack:
        for one in resources:
            api = stack.enter_context(api_server.client())
            stack.enter_context(Kubelet(api, Resource(api, one.namespace, one.name, lambda: "")))
        yield


@pytest.mark.usefixtures("kubelets")
def test_a_new_default_image_reaches_one_resource_after_the_other(
    api_server: ApiServer, tmp_path: Path, namespace: str, resources: list[Resource]
) -> None:
    with OperatorProcess(api_server, tmp_path, namespace):
        for number, one in enumerate(resources):
            one.apply(SMALL | {"storage": SPEC["storage"] | {"prefix": f"raw-{number}"}})
        for one in resources:
            one.wait("Ready", "True", "MembersReady")
    old = {one.name: set(members(one)) for one in resources}
    # A step that waits for promotion keeps the place of the first one for as long as the test looks.
    steps = SPEC["rollout"] | {"steps": [{"members": 1, "pause": {}}]}
    for number, one in enumerate(resources):
        one.apply(SMALL | {"storage": SPEC["storage"] | {"prefix": f"raw-{number}"}, "rollout": steps})
    with OperatorProcess(api_server, tmp_path, namespace, IMAGE=NEW_IMAGE, MAX_CONCURRENT_ROLLOUTS="1"):
        rolled: list[str] = []
        for _ in NAMES:
            left = [one for one in resources if one.name not in rolled]
            (turn,) = left[0].eventually("one resource waits for promotion", _promotable(left))
            for one in left:
                if one is not turn:
                    holder = f"{namespace}/{turn.name}"
                    one.eventually(f"it waits for {holder}", _waits_for(one, holder))
                    assert one.status()["summary"]["state"] == "WaitingForTurn"
                    assert set(members(one)) == old[one.name], "nothing of it has changed"
            revision = turn.status()["rollout"]["candidate"]
            number = NAMES.index(turn.name)
            spec = SMALL | {"storage": SPEC["storage"] | {"prefix": f"raw-{number}"}, "rollout": steps}
            turn.apply(spec, **{"logpersister.dev/promote": revision})
            turn.wait("Reconciling", "False", "UpToDate")
            rolled.append(turn.name)
    for one in resources:
        images = {
            container["image"]
            for stateful_set in one.stateful_sets().values()
            if stateful_set["spec"]["replicas"]  # what is empty may not be deleted yet
            for container in stateful_set["spec"]["template"]["spec"]["containers"]
        }
        assert images == {NEW_IMAGE}


def _promotable(resources: list[Resource]) -> Callable[[], list[Resource]]:
    return lambda: [one for one in resources if one.condition("Reconciling").get("reason") == "WaitingForPromotion"]


def _waits_for(resource: Resource, holder: str) -> Callable[[], bool]:
    def waits() -> bool:
        found = resource.condition("Reconciling")
        return found.get("reason") == "WaitingForTurn" and holder in found["message"]

    return waits
