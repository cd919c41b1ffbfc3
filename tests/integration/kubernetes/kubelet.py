"""Pods of members on an API server without nodes: they get ready, crash and go when the test says so."""

import contextlib
import threading
from collections.abc import Collection
from typing import Self

from tests.integration.kubernetes.operator_process import Resource
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Document

_PAUSE_SECONDS = 0.1


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
        self.addresses: dict[int, str] = {}
        """Of members by their number, of those that are not at 127.0.0.1."""
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
        while not self._stop.wait(_PAUSE_SECONDS):
            try:
                self._round()
            except Exception as error:  # noqa: BLE001 - the test must hear of it
                self.broken.append(repr(error))
                return

    def _round(self) -> None:
        sets, pods = self._resource.stateful_sets(), self._resource.children("api/v1", "pods")
        wanted = {f"{name}-{number}" for name, one in sets.items() for number in range(one["spec"]["replicas"])}
        if pods.keys() != wanted:
            for name in pods.keys() - wanted:
                with contextlib.suppress(Refused):  # it may be gone already
                    self._api.delete(f"{self._path}/{name}")
            for name in sorted(wanted - pods.keys()):
                self._start(name, sets[name.rpartition("-")[0]])
            pods = self._resource.children("api/v1", "pods")
        self._judge(pods.values())

    def _start(self, name: str, owner: Document) -> None:
        metadata = {"name": name, "namespace": self._resource.namespace}
        template = owner["spec"]["template"]["metadata"]
        metadata |= {part: template.get(part, {}) for part in ("labels", "annotations")}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        account = owner["spec"]["template"]["spec"]["serviceAccountName"]
        spec = {"serviceAccountName": account, "containers": [{"name": "member", "image": "x"}]}
        self._api.apply(f"{self._path}/{name}", pod | {"spec": spec})
        address = self.addresses.get(int(name.rpartition("-")[2]), "127.0.0.1")
        status = _crashing() if owner["metadata"]["name"] in self.crashing else _ready(address)
        self._api.apply(f"{self._path}/{name}/status", pod | {"status": status}, manager="kubelet")

    def _judge(self, pods: Collection[Document]) -> None:
        ready = [one for one in pods if "podIP" in one.get("status", {})]
        self.most = max(self.most, len(pods))
        if self._was_ready and not ready:
            self.broken.append("no member is ready")
        self._was_ready = bool(ready)


def _ready(address: str) -> Document:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    return {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [ready]}


def _crashing() -> Document:
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "no such bucket"}}
    container = {"name": "member", "image": "x", "imageID": "", "ready": False, "restartCount": 3}
    return {"phase": "Running", "containerStatuses": [container | {"state": waiting, "lastState": ended}]}
