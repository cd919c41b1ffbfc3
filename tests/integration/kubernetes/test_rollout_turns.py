"""What operators change on a real API server: one resource after the other, as their settings say."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.test_rollouts import SPEC
from tests.stack.kubernetes import ApiServer, Client

pytestmark = pytest.mark.usefixtures("crd")

NEW_IMAGE = "registry.example/logpersister:0.2.0"
SMALL = SPEC | {"members": 2}


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
        later["LEASE"] = f"{namespace}/later"  # that of the first has not expired
        with OperatorProcess(api_server, tmp_path, namespace, kubeconfig=None, **later):
            other.wait("Reconciling", "True", "WaitingForPromotion")
            one.eventually("it waits for the canary", _waits_for(one, "come first: a resource of another namespace"))
            _label(api, beside)
            one.wait("Reconciling", "True", "WaitingForPromotion")


def _label(api: Client, namespace: str, **labels: str) -> None:
    """Give a namespace these labels, and take those that it was given before."""
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
    api.apply(f"/api/v1/namespaces/{namespace}", document, manager="whoever-labels")


def _waits_for(resource: Resource, holder: str) -> Callable[[], bool]:
    def waits() -> bool:
        found = resource.condition("Reconciling")
        return found.get("reason") == "WaitingForTurn" and holder in found["message"]

    return waits
