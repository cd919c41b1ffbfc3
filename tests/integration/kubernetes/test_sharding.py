"""Two operators on a real API server, each with the resources that its label selector names."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.test_rollouts import SPEC
from tests.stack.kubernetes import ApiServer, Client

pytestmark = pytest.mark.usefixtures("crd")


def label(api: Client, resource: Resource, shard: str) -> None:
    """Give a resource to a shard, as ``kubectl label`` does."""
    document: dict[str, Any] = {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister"}
    metadata = {"name": resource.name, "namespace": resource.namespace, "labels": {"shard": shard}}
    api.apply(resource.path, document | {"metadata": metadata, "spec": SPEC}, manager="whoever-labels")


def sharded(api_server: ApiServer, directory: Path, namespace: str, shard: str) -> OperatorProcess:
    """Return the operator of a shard, with a Lease of its own."""
    ours = directory / shard
    ours.mkdir()
    return OperatorProcess(
        api_server, ours, namespace, RESOURCE_SELECTOR=f"shard={shard}", LEASE=f"{namespace}/operator-{shard}"
    )


def applied(operator: OperatorProcess, resource: Resource) -> int:
    """Return how many children of a resource an operator has applied."""
    name = f"{resource.namespace}/{resource.name}"
    return sum(one["resource"] == name for one in operator.events("child.applied"))


def uid(resource: Resource, stateful_set: str) -> str | None:
    found: str | None = resource.stateful_sets().get(stateful_set, {}).get("metadata", {}).get("uid")
    return found


def test_each_resource_has_the_operator_that_its_label_names_and_changes_it_with_its_label(
    api_server: ApiServer, api: Client, namespace: str, tmp_path: Path
) -> None:
    with sharded(api_server, tmp_path, namespace, "a") as a, sharded(api_server, tmp_path, namespace, "b") as b:
        moved, stays = (Resource(api, namespace, name, lambda: a.tail() + b.tail()) for name in ("moved", "stays"))
        label(api, moved, "a")
        label(api, stays, "b")
        before = moved.wait_stateful_sets(1)
        stays.wait_stateful_sets(1)
        moved.wait_for_rest()  # the first one has nothing left to apply
        assert (applied(b, moved), applied(a, stays)) == (0, 0)

        label(api, moved, "b")
        series = f'resource_name="{moved.name}"'
        moved.eventually("the first one knows it no more", lambda: not any(series in one for one in a.metrics()))
        moved.eventually("the second one does", lambda: any(series in one for one in b.metrics()))
        ((name, made),) = before.items()
        ours, theirs = applied(a, moved), applied(b, moved)
        api.delete(f"/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}")
        moved.eventually("it is made again", lambda: uid(moved, name) not in (None, made["metadata"]["uid"]))
        moved.eventually("by the second one", lambda: applied(b, moved) > theirs)
        assert applied(a, moved) == ours

        moved.delete()
        moved.eventually("it is drained and gone", lambda: moved.get() is None)
        assert stays.get() is not None
