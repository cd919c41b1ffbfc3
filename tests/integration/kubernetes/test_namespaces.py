"""An operator of named namespaces on a real API server: one goes away, and rights go away."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.installation import NAME, Installation
from tests.integration.kubernetes.operator_process import Resource
from tests.integration.kubernetes.test_rights import SMALL, make_namespace, start_operator
from tests.stack.kubernetes import ApiServer, Client

pytestmark = pytest.mark.timeout(400)

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with ApiServer(tmp_path_factory.mktemp("kubernetes")) as started:
        yield started


@pytest.fixture
def api(server: ApiServer) -> Any:
    with server.client() as client:
        yield client


def wait_made_again(api: Client, resource: Resource) -> None:
    """Delete the StatefulSet of a resource, and wait until the operator has made it again."""
    ((name, before),) = resource.wait_stateful_sets(1).items()
    api.delete(f"/apis/apps/v1/namespaces/{resource.namespace}/statefulsets/{name}")

    def made() -> bool:
        return {one["metadata"]["uid"] for one in resource.stateful_sets().values()} - {
            before["metadata"]["uid"]
        } != set()

    resource.eventually("it is made again", made)


def delete_namespace(api: Client, resource: Resource) -> None:
    """Delete a namespace as its controller does, which is not here: rights may be gone before the rest."""
    namespace = resource.namespace
    api.delete(f"/api/v1/namespaces/{namespace}")
    for kind in ("rolebindings", "roles"):
        api.delete(f"{RBAC}/namespaces/{namespace}/{kind}/{NAME}-operator")
    for name in resource.stateful_sets():
        api.delete(f"/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}")
    resource.delete()


def test_a_namespace_that_is_deleted_gets_free_and_the_others_go_on(
    server: ApiServer, api: Client, tmp_path: Path, unique: str
) -> None:
    installation = Installation(server, api, make_namespace(api, unique), tmp_path)
    stays, leaves, later = (make_namespace(api, f"{unique}-{name}") for name in ("stays", "leaves", "later"))
    installation.install(
        {"namespaces": [stays, leaves, later], "crds": {"keep": False}, "rbac": {"namespaceDeletion": True}}
    )
    installation.wait_for_definition()
    with start_operator(installation) as operator:
        first, second, third = (Resource(api, name, "clicks", operator.tail) for name in (stays, leaves, later))
        for resource in (first, second, third):
            resource.apply(SMALL)
            resource.wait_finalizer()
        first.wait_stateful_sets(1)
        eventually("everything is listed", lambda: operator.readyz() == 200, explain=operator.tail)
        told = [one for one in operator.metrics() if one.startswith("logpersister_operator_watch_age_seconds")]
        assert len(told) == 3 * 10
        delete_namespace(api, second)
        second.eventually("its finalizer comes off", lambda: second.get() is None)
        wait_made_again(api, first)
        assert operator.healthz() == operator.readyz() == 200

        # What begins with a namespace that is gone, or going, goes on, too.
        operator.kill()
        delete_namespace(api, third)
        binding = f"{RBAC}/namespaces/{stays}/rolebindings/{NAME}-operator"
        rights = api.get(binding)
        api.delete(binding)
        operator.start()
        eventually("it lives", lambda: operator.healthz() == 200, explain=operator.tail)
        eventually("it is refused", lambda: operator.events("watch.interrupted"), explain=operator.tail)
        assert operator.readyz() == 503, "so `helm --wait` fails"
        del rights["metadata"]["resourceVersion"], rights["metadata"]["uid"]
        api.create(f"{RBAC}/namespaces/{stays}/rolebindings", rights)
        eventually("it is ready", lambda: operator.readyz() == 200, seconds=90, explain=operator.tail)
        assert operator.metrics()[f'logpersister_operator_refused{{kind="Pod",resource_namespace="{later}"}}'] == 1
        third.eventually("its finalizer comes off", lambda: third.get() is None)
        wait_made_again(api, first)
        assert operator.code is None
        assert operator.stop() == 0
