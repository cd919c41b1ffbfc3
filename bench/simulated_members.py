"""Members that only say how they are: pods without a node, and one server that answers for all of them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from tests.integration.kubernetes.saying import saying
from tests.stack.kubernetes import Client
from tests.stack.topics import produce
from tests.unit.kubernetes.samples import report

ADDRESS: Final = "127.0.0.77"
"""Of all pods; nobody else listens there."""


def make_pod(api: Client, stateful_set: dict[str, Any]) -> None:
    """Do what controller and kubelet do for the first member of a StatefulSet."""
    template, namespace = stateful_set["spec"]["template"], stateful_set["metadata"]["namespace"]
    name = f"{stateful_set['metadata']['name']}-0"
    labels = template["metadata"]["labels"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels}}
    account = template["spec"]["serviceAccountName"]
    spec = {"serviceAccountName": account, "containers": [{"name": "member", "image": "x"}]}
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    api.apply(path, pod | {"spec": spec})
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    status = {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}], "conditions": [ready]}
    api.apply(f"{path}/status", pod | {"status": status}, manager="kubelet")


class SimulatedMembers:
    """What all members say, and whether they store more and more."""

    def __init__(self, said: dict[str, Any], bootstrap: str, topic: str) -> None:
        self._said = said
        self._bootstrap = bootstrap
        self._topic = topic
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._store, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _store(self) -> None:
        began = time.monotonic()
        while not self._ended.wait(1.0):
            produce(self._bootstrap, self._topic, [b"record"])
            document = report().document
            assert document is not None
            self._said["uploads"] = document["uploads"] | {"objects": round(time.monotonic() - began)}


@contextmanager
def members(bootstrap: str, topic: str) -> Iterator[SimulatedMembers]:
    """Answer for all members; within the block of what is yielded they store, and the topic grows, each second."""
    with saying(ADDRESS) as said:
        yield SimulatedMembers(said, bootstrap, topic)
