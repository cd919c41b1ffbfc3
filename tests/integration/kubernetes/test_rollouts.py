"""Rollouts by the operator as a process, on a real API server; pods get ready, crash and go when the test says so."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack.kubernetes import ApiServer, Client, Refused
from tests.stack.kubernetes.client import Document

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

MEMBERS = 3
SPEC: dict[str, Any] = {
    "kafka": {"bootstrapServers": "127.0.0.1:1", "topics": ["clicks"]},
    "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
    "members": MEMBERS,
    "rollout": {"canary": {"analysis": {"duration": "1s", "minRanges": 0}}, "progressDeadline": "60s"},
}
CHANGED = {"output": {"compression": "zstd"}}


class Kubelet:
    """Makes and ends pods as StatefulSets want it, in a thread, and notes what was broken at any moment."""

    def __init__(self, api: Client, resource: Resource) -> None:
        self._api = api
        self._resource = resource
        self._path = f"/api/v1/namespaces/{resource.namespace}/pods"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.crashing: set[str] = set()
        """Names of StatefulSets whose members crash."""
        self.broken: list[str] = []
        self.most = 0
        self._was_ready = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            try:
                self._round()
            except Exception as error:  # noqa: BLE001 - the test must hear of it
                self.broken.append(repr(error))
                return

    def _round(self) -> None:
        sets, pods = self._resource.stateful_sets(), self._resource.children("api/v1", "pods")
        wanted = {f"{name}-{number}" for name, one in sets.items() for number in range(one["spec"]["replicas"])}
        for name in pods.keys() - wanted:
            with contextlib.suppress(Refused):  # it may be gone already
                self._api.delete(f"{self._path}/{name}")
        for name in sorted(wanted - pods.keys()):
            self._start(name, sets[name.rpartition("-")[0]])
        self._judge()

    def _start(self, name: str, owner: Document) -> None:
        metadata = {"name": name, "namespace": self._resource.namespace}
        labels = owner["spec"]["template"]["metadata"]["labels"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"labels": labels}}
        account = owner["spec"]["template"]["spec"]["serviceAccountName"]
        spec = {"serviceAccountName": account, "containers": [{"name": "member", "image": "x"}]}
        self._api.apply(f"{self._path}/{name}", pod | {"spec": spec})
        status = _crashing() if owner["metadata"]["name"] in self.crashing else _ready()
        self._api.apply(f"{self._path}/{name}/status", pod | {"status": status}, manager="kubelet")

    def _judge(self) -> None:
        pods = self._resource.children("api/v1", "pods").values()
        ready = [one for one in pods if "podIP" in one.get("status", {})]
        self.most = max(self.most, len(pods))
        if self._was_ready and not ready:
            self.broken.append("no member is ready")
        self._was_ready = bool(ready)


def _ready() -> Document:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    return {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}], "conditions": [ready]}


def _crashing() -> Document:
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "no such bucket"}}
    container = {"name": "member", "image": "x", "imageID": "", "ready": False, "restartCount": 3}
    return {"phase": "Running", "containerStatuses": [container | {"state": waiting, "lastState": ended}]}


@pytest.fixture
def operator(api_server: ApiServer, tmp_path: Path, namespace: str) -> Iterator[OperatorProcess]:
    with OperatorProcess(api_server, tmp_path, namespace) as process:
        yield process


@pytest.fixture
def resource(api: Client, namespace: str, operator: OperatorProcess) -> Resource:
    return Resource(api, namespace, "clicks", operator.tail)


@pytest.fixture
def kubelet(api_server: ApiServer, resource: Resource, operator: OperatorProcess) -> Iterator[Kubelet]:
    with api_server.client() as api:
        theirs = Resource(api, resource.namespace, resource.name, operator.tail)
        with Kubelet(api, theirs) as kubelet:
            yield kubelet


def members(resource: Resource) -> dict[str, int]:
    return {name: one["spec"]["replicas"] for name, one in resource.stateful_sets().items()}


def _reaches(resource: Resource, name: str, number: int) -> Callable[[], bool]:
    return lambda: members(resource).get(name, 0) >= number


def test_a_canary_takes_over_though_the_operator_is_killed(
    resource: Resource, operator: OperatorProcess, kubelet: Kubelet
) -> None:
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    (old,) = members(resource)
    resource.apply(SPEC | CHANGED)
    resource.eventually("a canary", lambda: len(members(resource)) == 2)
    (new,) = members(resource).keys() - {old}
    for step in (1, 2):
        operator.kill()
        operator.start()
        resource.eventually(f"{step} new members", _reaches(resource, new, step))
    resource.eventually("the old ones have left", lambda: members(resource) == {new: MEMBERS})
    resource.wait("Ready", "True", "MembersReady")
    assert kubelet.broken == []
    assert kubelet.most <= MEMBERS + 1
    assert "RolloutCompleted" in {one["reason"] for one in resource.events()}


def test_a_canary_that_crashes_is_withdrawn(resource: Resource, operator: OperatorProcess, kubelet: Kubelet) -> None:
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    (old,) = members(resource)
    kubelet.crashing = _AllBut(old)
    resource.apply(SPEC | CHANGED)
    resource.wait("Reconciling", "True", "TryingCanary")
    operator.kill()
    operator.start()
    message = resource.wait("Stalled", "True", "RolloutFailed")["message"]
    assert "no such bucket" in message
    assert "spec.rollout.attempt to 1" in message
    assert members(resource) == {old: MEMBERS}
    assert resource.status()["summary"]["state"].startswith("Failed, revision")
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    kubelet.crashing = set()
    again = SPEC["rollout"] | {"attempt": 1}
    resource.apply(SPEC | CHANGED | {"rollout": again})
    resource.wait("Reconciling", "True", "TryingCanary")
    assert kubelet.broken == []
    assert kubelet.most <= MEMBERS + 1


class _AllBut(set[str]):
    """All names but one."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __contains__(self, name: object) -> bool:
        return name != self._name
