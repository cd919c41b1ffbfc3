"""This operator takes over what that of an earlier commit has made: no member is restarted, no hash changes."""

import runpy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from logpersister.manifest.spec import Spec
from logpersister_operator.render.application import secret_names
from tests.integration.harness.earlier import PACKAGES, check_out, python_path
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.kubernetes.client import Document

pytestmark = pytest.mark.usefixtures("crd")

_RICH: Final = "tests/unit/manifest/rich.py"
_STORAGE: Final = {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"}


def _small(**sections: Any) -> Document:
    kafka = {"bootstrapServers": "127.0.0.1:1", "topics": ["clicks"]}
    return {"kafka": kafka, "storage": _STORAGE, **sections}


@dataclass(frozen=True, slots=True)
class Earlier:
    """What was checked out of that commit; its operator runs with today's dependencies."""

    folder: Path

    @property
    def python_path(self) -> str:
        return python_path(self.folder)

    def specs(self) -> dict[str, Document]:
        """Return specs by name of resource: fields are those that the earlier operator knows."""
        return {
            "small": _small(),
            "executors": _small(members=3, spark={"executors": 2}, networkPolicy="Restricted", image="own.example/a:1"),
            "rich": runpy.run_path(str(self.folder / _RICH))["BY_NAME"]["spec"],
        }


@pytest.fixture
def earlier(tmp_path: Path) -> Earlier:
    return Earlier(check_out(tmp_path / "earlier", *PACKAGES, _RICH))


def made(resource: Resource) -> Document:
    """Return what decides whether anybody is restarted: the pods that are asked for, and what they mount."""
    sets = {name: (one["spec"]["template"], one["spec"]["replicas"]) for name, one in resource.stateful_sets().items()}
    configs = {name: one["data"] for name, one in resource.children("api/v1", "configmaps").items()}
    return {"sets": sets, "configs": configs, "revision": resource.status()["revision"]}


def test_an_upgraded_operator_restarts_nobody(
    api_server: ApiServer,
    api: Client,
    namespace: str,
    tmp_path: Path,
    earlier: Earlier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    specs = earlier.specs()
    for name in secret_names(Spec.model_validate(specs["rich"])):
        metadata = {"name": name, "namespace": namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {}}
        api.create(f"/api/v1/namespaces/{namespace}/secrets", secret)
    old, new = tmp_path / "old", tmp_path / "new"
    resources = {name: Resource(api, namespace, name, lambda: "") for name in specs}
    for folder in (old, new):
        folder.mkdir()
    with monkeypatch.context() as environment:
        environment.setenv("PYTHONPATH", earlier.python_path)
        operator = OperatorProcess(api_server, old, namespace).start()
    try:
        eventually("it leads", lambda: operator.events("leader.elected"), explain=operator.tail)
        for name, resource in resources.items():
            resource.apply(specs[name])
        for resource in resources.values():
            resource.wait_stateful_sets(1)
            resource.wait("Reconciling", "True", "StartingMembers")
            for name in resource.stateful_sets():
                resource.get_ready(name)
            resource.wait("Ready", "True", "MembersReady")
    finally:
        operator.kill()
    before = {name: made(resource) for name, resource in resources.items()}

    with OperatorProcess(api_server, new, namespace, LEASE=f"{namespace}/new") as operator:
        eventually("it leads", lambda: operator.events("leader.elected"), explain=operator.tail)
        for changes in ({"targetLag": "3d"}, {}):  # no revision has it; there and back, so that each was reconciled
            for name, resource in resources.items():
                resource.apply(specs[name] | changes)
                resource.eventually("this operator has seen it", partial(_is_observed, resource))

        assert {name: made(resource) for name, resource in resources.items()} == before


def _is_observed(resource: Resource) -> bool:
    found = resource.get() or {}
    current: bool = resource.condition("Ready").get("observedGeneration") == found["metadata"]["generation"]
    return current
