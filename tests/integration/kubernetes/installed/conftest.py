"""An API server of these tests alone, on which definitions come and go; it writes down all that it is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kubernetes.installed.audit import Audit
from tests.integration.kubernetes.installed.installation import RBAC, Installation
from tests.stack.kubernetes import ApiServer, Client


@pytest.fixture(scope="package")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="package")
def api_server(tmp_path_factory: pytest.TempPathFactory, audit: Audit) -> Iterator[ApiServer]:
    # The plug-in asks for the right to block the deletion of an owner, as OpenShift does.
    flags = [*audit.flags, "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
    with ApiServer(tmp_path_factory.mktemp("kubernetes"), flags=flags) as started:
        yield started


@pytest.fixture(scope="package")
def api(api_server: ApiServer) -> Iterator[Client]:
    with api_server.client() as client:
        yield client


@pytest.fixture
def installation(api_server: ApiServer, api: Client, namespace: str, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(api_server, api, namespace, tmp_path)
    yield made
    path = f"/apis/logpersister.dev/v1alpha1/namespaces/{namespace}/logpersisters/clicks"
    # Definitions go last: they take resources with them while they go, and one that is found may be gone by then.
    if made.get(path) is not None:
        api.delete(path)
    made.remove_definitions()
    for plural in ("clusterroles", "clusterrolebindings"):
        for one in api.get(f"{RBAC}/{plural}")["items"]:
            if one["metadata"]["name"].startswith(f"{namespace}-"):
                api.delete(f"{RBAC}/{plural}/{one['metadata']['name']}")
