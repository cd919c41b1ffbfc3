"""What operators change on a real API server: one resource after the other, as their settings say."""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.test_rollouts import SPEC, members
from tests.stack.artifacts import ROOT
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


def test_other_pods_of_a_later_operator_are_tried_like_an_image(
    api_server: ApiServer, tmp_path: Path, namespace: str, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = SPEC["rollout"] | {"steps": [{"members": 1, "pause": {}}]}
    both = [Resource(api, namespace, name, lambda: "") for name in NAMES[:2]]
    with contextlib.ExitStack() as stack:
        for one in both:
            theirs = stack.enter_context(api_server.client())
            stack.enter_context(Kubelet(theirs, Resource(theirs, namespace, one.name, lambda: "")))
        with OperatorProcess(api_server, tmp_path, namespace):
            for one in both:
                one.apply(SMALL | {"rollout": steps})
            for one in both:
                one.wait("Ready", "True", "MembersReady")
        before = {one.name: _templates(one) for one in both}
        monkeypatch.setenv("PYTHONPATH", str(later_operator(tmp_path / "later")))
        with OperatorProcess(api_server, tmp_path, namespace, MAX_CONCURRENT_ROLLOUTS="1"):
            (turn,) = both[0].eventually("one resource waits for promotion", _promotable(both))
            (other,) = (one for one in both if one is not turn)
            other.eventually("the other waits for it", _waits_for(other, f"{namespace}/{turn.name}"))
            assert _templates(other) == before[other.name]
            now, (old,) = _templates(turn), before[turn.name]
            assert now.pop(old) == before[turn.name][old], "no member is restarted"
            assert [_probe(one)["failureThreshold"] for one in now.values()] == [5]
            turn.apply(
                SMALL | {"rollout": steps}, **{"logpersister.dev/promote": turn.status()["rollout"]["candidate"]}
            )
            turn.wait("Reconciling", "False", "UpToDate")
            other.eventually("then it is the other's turn", _promotable([other]))


def test_an_error_at_one_resource_is_shown_there_and_keeps_no_other_from_going_on(
    api_server: ApiServer, tmp_path: Path, namespace: str, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = both = [Resource(api, namespace, name, lambda: "") for name in NAMES[:2]]
    with contextlib.ExitStack() as stack:
        for resource in both:
            theirs = stack.enter_context(api_server.client())
            stack.enter_context(Kubelet(theirs, Resource(theirs, namespace, resource.name, lambda: "")))
        begin = "    own, paused = observed.own,"
        mistake = f'    if observed.key.name == "{one.name}":\n        raise KeyError("image")\n{begin}'
        changed = {"decide/decision.py": (begin, mistake)}
        monkeypatch.setenv("PYTHONPATH", str(changed_operator(tmp_path / "mistaken", changed)))
        with OperatorProcess(api_server, tmp_path, namespace):
            for resource in both:
                resource.apply(SMALL | {"storage": SPEC["storage"] | {"prefix": resource.name}})
            other.wait("Ready", "True", "MembersReady")
            assert "KeyError('image')" in one.wait("Reconciled", "False", "ReconciliationFailed")["message"]
            one.wait_events("ReconciliationFailed")
        monkeypatch.undo()
        with OperatorProcess(api_server, tmp_path, namespace):
            one.wait("Ready", "True", "MembersReady")
            assert one.condition("Reconciled")["reason"] == "Complete"


def test_namespaces_are_canaries_by_their_labels(
    api_server: ApiServer, tmp_path: Path, namespace: str, api: Client
) -> None:
    beside = f"{namespace}-beside"
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": beside}})
    one, other = both = Resource(api, namespace, "clicks", lambda: ""), Resource(api, beside, "views", lambda: "")
    with contextlib.ExitStack() as stack:
        for resource in both:
            theirs = stack.enter_context(api_server.client())
            stack.enter_context(Kubelet(theirs, Resource(theirs, resource.namespace, resource.name, lambda: "")))
        namespaces = f"{namespace},{beside}"
        with OperatorProcess(api_server, tmp_path, namespace, NAMESPACES=namespaces):
            for resource in both:
                # A step that waits for promotion keeps the others waiting for as long as the test looks.
                resource.apply(SMALL | {"rollout": SPEC["rollout"] | {"steps": [{"members": 1, "pause": {}}]}})
            for resource in both:
                resource.wait("Ready", "True", "MembersReady")
        _label(api, beside, stage="test")
        later = {"NAMESPACES": namespaces, "IMAGE": NEW_IMAGE, "CANARY_NAMESPACE_SELECTOR": "stage=test"}
        with OperatorProcess(api_server, tmp_path, namespace, kubeconfig=None, **later):
            other.wait("Reconciling", "True", "WaitingForPromotion")
            one.eventually("it waits for the canary", _waits_for(one, "come first: a resource of another namespace"))
            _label(api, beside)
            one.wait("Reconciling", "True", "WaitingForPromotion")


def _label(api: Client, namespace: str, **labels: str) -> None:
    """Give a namespace these labels, and take those that it was given before."""
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
    api.apply(f"/api/v1/namespaces/{namespace}", document, manager="whoever-labels")


def later_operator(folder: Path) -> Path:
    """Return where there is an operator that asks for other probes, and says so."""
    changes = {
        "render/rendering.py": (r"RENDERING: Final = \d+", "RENDERING: Final = 1000"),
        "render/pod.py": (r'"livenessProbe": (.*)failureThreshold=3', r'"livenessProbe": \1failureThreshold=5'),
    }
    return changed_operator(folder, changes)


def changed_operator(folder: Path, changes: Mapping[str, tuple[str, str]]) -> Path:
    """Return where there is an operator with other texts in some files, each in place of one that a pattern finds."""
    package = folder / "logpersister_operator"
    shutil.copytree(ROOT / "operator" / "logpersister_operator", package)
    for name, (old, new) in changes.items():
        text, count = re.subn(old, new, (package / name).read_text())
        assert count == 1, name
        (package / name).write_text(text)
    return folder


def _templates(resource: Resource) -> dict[str, Any]:
    """Return what the pods of each revision that has some are made of."""
    return {name: one["spec"]["template"] for name, one in resource.stateful_sets().items() if one["spec"]["replicas"]}


def _probe(template: Any) -> Any:
    return template["spec"]["containers"][0]["livenessProbe"]


def _promotable(resources: list[Resource]) -> Callable[[], list[Resource]]:
    return lambda: [one for one in resources if one.condition("Reconciling").get("reason") == "WaitingForPromotion"]


def _waits_for(resource: Resource, holder: str) -> Callable[[], bool]:
    def waits() -> bool:
        found = resource.condition("Reconciling")
        return found.get("reason") == "WaitingForTurn" and holder in found["message"]

    return waits
