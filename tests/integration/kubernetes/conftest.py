"""Fixtures on a real Kubernetes API server, which computes at rest, too, so it ends with the package."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.judge import Judge
from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack import artifacts
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.kubernetes.client import Document

CRD_FILE = Path(__file__).parents[3] / "crds" / "logpersisters.yaml"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Said = subprocess.CompletedProcess[str]
Plugin = Callable[..., Said]


@pytest.fixture(scope="package")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The API server of these tests. A test that stops it must leave it serving."""
    with ApiServer(tmp_path_factory.mktemp("kubernetes")) as server:
        yield server


@pytest.fixture(scope="package")
def api(api_server: ApiServer) -> Iterator[Client]:
    """A client that may do everything."""
    with api_server.client() as client:
        yield client


@pytest.fixture(scope="package")
def crd(api: Client) -> Document:
    """The definition of LogPersister as it is in ``crds/``, in force like those of our other kinds."""
    return {file.name: install_definition(api, file) for file in CRD_FILE.parent.glob("*.yaml")}[CRD_FILE.name]


def install_definition(api: Client, file: Path = CRD_FILE) -> Document:
    """Create a definition and wait until it is in force; return it."""
    document: Document = yaml.load(file.read_text(), yaml.CSafeLoader)  # in C, or it takes seconds
    api.create(_DEFINITIONS, document)
    path = f"{_DEFINITIONS}/{document['metadata']['name']}"
    eventually(f"{path} is established", lambda: "Established" in _true_conditions(api.get(path)))
    return document


def _true_conditions(definition: Document) -> set[str]:
    conditions = definition.get("status", {}).get("conditions") or []
    return {condition["type"] for condition in conditions if condition["status"] == "True"}


@pytest.fixture
def namespace(api: Client, unique: str) -> str:
    """A namespace of this test alone."""
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}})
    return unique


@pytest.fixture
def operator(api_server: ApiServer, tmp_path: Path, namespace: str) -> Iterator[OperatorProcess]:
    """The operator as a process of its own, for the test's namespace."""
    with OperatorProcess(api_server, tmp_path, namespace) as process:
        yield process


@pytest.fixture
def resource(api: Client, namespace: str, operator: OperatorProcess) -> Resource:
    """A resource that the operator looks after, once it is applied."""
    return Resource(api, namespace, "clicks", operator.tail)


@pytest.fixture
def kubelet(api_server: ApiServer, resource: Resource, operator: OperatorProcess) -> Iterator[Kubelet]:
    """Pods of that resource; with a client of its own, since it is a thread."""
    with api_server.client() as api:
        theirs = Resource(api, resource.namespace, resource.name, operator.tail)
        with Kubelet(api, theirs) as kubelet:
            yield kubelet


@pytest.fixture
def plugin(api_server: ApiServer, namespace: str, tmp_path: Path) -> Plugin:
    """``plugin("status", "NAME")`` in the namespace of the test, as people call it."""
    programs = f"{artifacts.ROOT / 'kubectl'}:{artifacts.go_program('kubectl').parent}:{os.environ['PATH']}"
    environment = {"PATH": programs, "HOME": str(tmp_path), "KUBECONFIG": str(api_server.kubeconfig)}
    environment["KUBECACHEDIR"] = str(api_server.kubeconfig.with_name("kubectl"))

    def run(*arguments: str) -> Said:
        command = ["kubectl", "logpersister", *arguments, "-n", namespace]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="package")
def judge(api: Client, crd: Document) -> Judge:
    """Who asks the API server and the model about the same documents."""
    return Judge(api)
