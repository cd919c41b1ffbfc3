"""Two operators and one Lease on a real API server: connections drop, hang and heal, processes stop and go on."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.operator_process import SPEC, OperatorProcess, Resource
from tests.stack.fault_proxy import FaultProxy, Stall
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.kubernetes.client import Document

pytestmark = pytest.mark.usefixtures("crd")


@dataclass(frozen=True)
class Replica:
    """An operator and its way to the API server."""

    process: OperatorProcess
    proxy: FaultProxy

    def leads(self) -> bool:
        return bool(self.process.events("leader.elected"))

    def acts(self) -> bool:
        return bool(self.process.events("operator.started"))

    def failures(self) -> int:
        """Return how often it got no answer about the Lease."""
        return len(self.process.events("leader.not_renewed") + self.process.events("leader.not_elected"))


@dataclass(frozen=True)
class Pair:
    """Two of them: the one that acts, and the one that waits."""

    first: Replica
    second: Replica
    api: Client
    namespace: str

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        eventually(what, condition, explain=self._tails)

    def lease(self) -> Document:
        return self.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/operator")

    def _tails(self) -> str:
        return f"{self.first.process.tail()}\n--\n{self.second.process.tail()}"

    def renewed(self) -> None:
        """Wait until the Lease is renewed once more."""
        before = self.lease()["spec"]["renewTime"]
        self.wait("it is renewed", lambda: self.lease()["spec"]["renewTime"] != before)


@pytest.fixture
def pair(api_server: ApiServer, api: Client, namespace: str, tmp_path: Path) -> Iterator[Pair]:
    replicas: list[Replica] = []
    with ExitStack() as stack:
        for name in ("first", "second"):
            directory = tmp_path / name
            directory.mkdir()
            proxy = stack.enter_context(FaultProxy(api_server.kube_apiserver.port))
            config = json.loads(api_server.kubeconfig.read_text())
            config["clusters"][0]["cluster"]["server"] = f"https://{proxy.address}"
            kubeconfig = directory / "kubeconfig"
            kubeconfig.write_text(json.dumps(config))
            lease = {"LEASE": f"{namespace}/operator", "LEASE_SECONDS": "6"}
            process = OperatorProcess(api_server, directory, namespace, kubeconfig=kubeconfig, **lease)
            replica = Replica(process, proxy)
            stack.enter_context(process)
            replicas.append(replica)
            if name == "first":
                eventually("the first one acts", replica.acts, explain=process.tail)
        pair = Pair(replicas[0], replicas[1], api, namespace)
        pair.wait("the second one waits", lambda: pair.second.process.healthz() == 200)
        yield pair


def test_dropped_connections_end_no_leader_and_no_candidate(pair: Pair) -> None:
    for replica in (pair.first, pair.second):
        replica.proxy.stop()
        pair.wait("it finds nobody", replica.failures)
        replica.proxy.start()
        pair.renewed()
    assert not pair.second.leads()
    assert pair.first.process.code is None
    pair.first.process.kill()
    pair.wait("the other still can", pair.second.acts)


def test_a_leader_whose_connections_hang_has_ended_before_another_begins(pair: Pair) -> None:
    hang = Stall(times=None)
    pair.first.proxy.inject(hang)
    pair.wait("the other leads", pair.second.leads)
    assert pair.first.process.code == 1
    assert pair.first.process.events("leader.lost")
    pair.first.proxy.remove(hang)


def test_a_leader_that_was_stopped_ends_when_it_goes_on_and_writes_nothing(pair: Pair, api: Client) -> None:
    resource = Resource(api, pair.namespace, "clicks", pair.second.process.tail)
    resource.apply(SPEC)
    resource.wait_stateful_sets(1)
    resource.wait_for_rest()  # or a line of something that was applied before would be written afterwards
    pair.first.process.suspend()
    written = pair.first.process.events("child.applied")
    pair.wait("the other acts", pair.second.acts)
    resource.apply(SPEC | {"networkPolicy": "Restricted"})
    resource.eventually("a policy", lambda: resource.children("apis/networking.k8s.io/v1", "networkpolicies"))
    pair.first.process.resume()
    pair.wait("the first one has ended", lambda: pair.first.process.code is not None)
    assert pair.first.process.code in (1, -signal.SIGALRM)
    assert pair.first.process.events("child.applied") == written
