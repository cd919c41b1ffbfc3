"""A cluster of IPv6 alone: API server, Services, members and probes have no address of IPv4."""

from collections.abc import Iterator

import psutil
import pytest

from tests.integration.kubernetes.conftest import install_definition
from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import SPEC, OperatorProcess, Resource
from tests.integration.kubernetes.saying import saying
from tests.integration.kubernetes.test_operator import RECONCILIATIONS
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.ports import LOOPBACK, LOOPBACK_6

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]


@pytest.fixture
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("kubernetes"), host=LOOPBACK_6) as server:
        yield server


@pytest.fixture
def api(api_server: ApiServer) -> Iterator[Client]:
    with api_server.client() as client:
        yield client


@pytest.fixture
def crd(api: Client) -> None:
    install_definition(api)


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
        resource.eventually("what its member says", lambda: resource.status()["summary"]["uploaded"] == "11.8MiB")
    resource.eventually(
        "Kafka was asked", lambda: "[::1]:1: connection refused" in resource.condition("LagWithinTarget")["message"]
    )
    services = resource.children("api/v1", "services").values()
    assert [one["spec"]["ipFamilies"] for one in services] == [["IPv6"]] * len(services) != []
    assert operator.healthz() == operator.readyz() == 200, "at ::1, too"
    assert operator.metrics()[RECONCILIATIONS] > 0
    assert psutil.Process(operator.pid).net_connections("inet4") == []
    assert kubelet.broken == []
