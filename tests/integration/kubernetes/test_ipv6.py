"""A cluster of IPv6 alone: the operator in it, and executors, with the rights that members have.

API server, Services, members and probes have no address of IPv4; tests/cluster has them in a cluster of IPv4.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from logpersister.manifest import parse
from logpersister.pipeline.kubernetes import DRIVER_LABEL
from logpersister.pipeline.leftovers import end_leftovers
from logpersister_operator.render.accounts import driver_role, service_accounts
from logpersister_operator.render.application import Application
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.conftest import install_definition
from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import SPEC, OperatorProcess, Resource
from tests.integration.kubernetes.saying import saying
from tests.integration.kubernetes.test_operator import RECONCILIATIONS
from tests.stack import reaper
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.kubernetes.client import Document
from tests.stack.ports import LOOPBACK, LOOPBACK_6
from tests.unit.kubernetes.samples import resource as sample

DRIVER = "clicks-backup-0a1b2c3d4e5f-1"
PLURALS = {
    "ServiceAccount": "api/v1/namespaces/{}/serviceaccounts",
    "Role": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}
MakePod = Callable[..., None]


@pytest.fixture(scope="module")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("kubernetes"), host=LOOPBACK_6) as server:
        yield server


@pytest.fixture(scope="module")
def api(api_server: ApiServer) -> Iterator[Client]:
    with api_server.client() as client:
        yield client


@pytest.fixture
def crd(api: Client) -> None:
    install_definition(api)


@pytest.fixture
def account(api_server: ApiServer, api: Client, namespace: str, tmp_path: Path) -> Path:
    """What Kubernetes mounts into a member's pod: the account that the operator makes, with its rights."""
    app = Application.of(
        parse(sample(spark={"executors": 2})), namespace=namespace, uid="1", image="image", secrets_digest=""
    )
    for child in (*service_accounts(app), *driver_role(app)):
        metadata = {name: child["metadata"][name] for name in ("name", "namespace", "labels")}  # of no resource here
        api.create(f"/{PLURALS[child['kind']].format(namespace)}", child | {"metadata": metadata})
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/clicks-backup-member/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    (tmp_path / "token").write_text(api.create(path, request)["status"]["token"])
    cluster = json.loads(api_server.kubeconfig.read_text())["clusters"][0]["cluster"]
    (tmp_path / "ca.crt").write_bytes(Path(cluster["certificate-authority"]).read_bytes())
    return tmp_path


@pytest.fixture
def environment(api_server: ApiServer, namespace: str, tmp_path: Path) -> dict[str, str]:
    """What a member's pod is told."""
    template = tmp_path / "executor.json"
    template.write_text(json.dumps(pod_document("template", namespace)))
    return {
        "POD_NAME": DRIVER,
        "POD_IP": LOOPBACK_6,
        "POD_NAMESPACE": namespace,
        "LOGPERSISTER_EXECUTOR_IMAGE": "image",
        "LOGPERSISTER_EXECUTOR_TEMPLATE": str(template),
        "LOGPERSISTER_EXECUTOR_ACCOUNT": "clicks-backup-executor",
        "KUBERNETES_SERVICE_HOST": LOOPBACK_6,
        "KUBERNETES_SERVICE_PORT": str(api_server.kube_apiserver.port),
    }


@pytest.fixture
def make_pod(api: Client, namespace: str, account: Path) -> MakePod:
    def make(name: str, **labels: str) -> None:
        api.create(f"/api/v1/namespaces/{namespace}/pods", pod_document(name, namespace, labels))

    return make


def pod_document(name: str, namespace: str, labels: dict[str, str] | None = None) -> Document:
    container = {"name": "executor", "image": "image"}
    spec = {
        "serviceAccountName": "clicks-backup-executor",
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pods(api: Client, namespace: str) -> set[str]:
    return {one["metadata"]["name"] for one in api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]}


def test_those_of_the_pod_end_and_no_others(
    api: Client, namespace: str, account: Path, environment: dict[str, str], make_pod: MakePod
) -> None:
    for name, driver in (("own-1", DRIVER), ("own-2", DRIVER), ("another-1", f"{DRIVER}0"), ("another-2", "clicks")):
        make_pod(name, **{DRIVER_LABEL: driver})
    make_pod(DRIVER)
    with capture_logs() as logs:
        end_leftovers(environment, account)
    assert pods(api, namespace) == {DRIVER, "another-1", "another-2"}
    assert [(log["event"], sorted(log["pods"])) for log in logs] == [("executors.ended", ["own-1", "own-2"])]
    with capture_logs() as logs:
        end_leftovers(environment, account)
    assert not logs, "there was nothing to end"


def test_a_member_starts_though_they_cannot_be_ended(account: Path, environment: dict[str, str]) -> None:
    (account / "token").write_text("nobody's")
    with capture_logs() as logs:
        end_leftovers(environment, account)
        end_leftovers(environment | {"KUBERNETES_SERVICE_PORT": "1"}, account)
        end_leftovers(environment, account / "missing")
    assert [log["event"] for log in logs] == ["executors.left_behind"] * 3
    assert logs[0]["error"].startswith("401: ")


OOM_KILLED = {"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
KILLED = 6
"""So many of two executors may fail; by default Spark stops itself after the fifth."""


def test_executors_come_beside_those_that_are_there_and_in_place_of_killed_ones_until_too_many_fail_the_probe(
    api: Client, namespace: str, account: Path, environment: dict[str, str], make_pod: MakePod
) -> None:
    make_pod(DRIVER)
    of_a_release_before = {f"{DRIVER}-exec-1", f"{DRIVER}-exec-2"}
    for name in of_a_release_before:  # as Spark named them, and without our label
        make_pod(name)
    make_pod("own-1", **{DRIVER_LABEL: DRIVER})

    def new() -> list[Document]:
        found = api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return [one for one in found if one["metadata"]["name"] not in {DRIVER, "own-1", *of_a_release_before}]

    def names() -> set[str]:
        return {str(one["metadata"]["name"]) for one in new()}

    with driver(account, environment) as log:
        eventually("two new ones", lambda: len(new()) == 2, seconds=300, explain=log.read_text)
        assert "own-1" not in pods(api, namespace)
        assert {one["metadata"]["labels"][DRIVER_LABEL] for one in new()} == {DRIVER}
        variables = {one["name"]: one.get("value", "") for one in new()[0]["spec"]["containers"][0]["env"]}
        before, _, port = variables["SPARK_DRIVER_URL"].rpartition(":")
        assert before.endswith("@[::1]")
        socket.create_connection((LOOPBACK_6, int(port)), timeout=60).close()
        killed: set[str] = set()

        def kill_next() -> None:
            eventually("one in its place", lambda: names() - killed, explain=log.read_text)
            name = min(names() - killed)
            kill(api, namespace, name)
            killed.add(name)
            eventually("it is removed", lambda: name not in names(), explain=log.read_text)

        while len(killed) < KILLED:
            kill_next()
        eventually("two that live", lambda: len(names() - killed) == 2, explain=log.read_text)
        assert "FAILED spark" not in log.read_text()
        kill_next()
        eventually("the member ends", lambda: "SparkLostError" in log.read_text(), explain=log.read_text)
        said = log.read_text()
    assert "FAILED spark: Spark has stopped by itself" in said
    assert "executors.ended" in said
    assert "already exists" not in said


def kill(api: Client, namespace: str, name: str) -> None:
    """Tell of a pod what a kubelet tells whose kernel has run out of memory."""
    container = {"name": "executor", "image": "image", "imageID": "", "ready": False, "restartCount": 0}
    status = {"phase": "Failed", "containerStatuses": [container | OOM_KILLED]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
    api.apply(f"/api/v1/namespaces/{namespace}/pods/{name}/status", pod | {"status": status}, manager="kubelet")


@contextmanager
def driver(account: Path, environment: dict[str, str]) -> Iterator[Path]:
    """Run Spark's driver in a process of its own; yield its log."""
    log = account / "driver.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.kubernetes.driver", str(account), str(KILLED)],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    reaper.register(process.pid)
    try:
        yield log
    finally:
        process.kill()  # its JVM ends when its own standard input closes
        process.communicate()
        reaper.forget(process.pid)


@pytest.mark.usefixtures("crd")
def test_the_operator_works_in_it(
    api_server: ApiServer, resource: Resource, operator: OperatorProcess, kubelet: Kubelet
) -> None:
    server = api_server.kube_apiserver
    assert server.url == f"https://[::1]:{server.port}"
    with Client(LOOPBACK, server.port, server.context()) as stranger, pytest.raises(ConnectionRefusedError):
        stranger.get("/version")
    kubelet.addresses = {0: LOOPBACK_6}
    with saying(LOOPBACK_6):
        resource.apply(SPEC | {"kafka": SPEC["kafka"] | {"bootstrapServers": "[::1]:1"}})
        resource.wait("Ready", "True", "MembersReady")
        resource.wait("UploadsSucceeding", "True", "Succeeding")
        resource.eventually("what its member says", lambda: resource.status()["summary"].get("uploaded") == "11.8MiB")
    resource.eventually(
        "Kafka was asked",
        lambda: "[::1]:1: connection refused" in resource.condition("LagWithinTarget").get("message", ""),
    )
    services = resource.children("api/v1", "services").values()
    assert [one["spec"]["ipFamilies"] for one in services] == [["IPv6"]] * len(services) != []
    assert operator.healthz() == operator.readyz() == 200, "at ::1, too"
    assert operator.metrics()[RECONCILIATIONS] > 0
    assert psutil.Process(operator.pid).net_connections("inet4") == []
    assert kubelet.broken == []
