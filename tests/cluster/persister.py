"""A resource in the cluster as its user sees it: by kubectl, its status, its pods, its bucket."""

import copy
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.environment import OPERATOR_NAMESPACE, PATIENCE_SECONDS
from tests.cluster.explanation import conditions, explain
from tests.cluster.kubectl import Document, Kubectl
from tests.integration.harness.group import Group
from tests.integration.harness.waiting import eventually

MEMBERS = "app.kubernetes.io/component=member"
EXECUTORS = "app.kubernetes.io/component=executor"
_OPERATORS = "app.kubernetes.io/name=logpersister-operator"


class Persister:
    """One LogPersister; ``spec`` is what it was given last."""

    kind = "LogPersister"

    def __init__(self, kubectl: Kubectl, name: str, spec: Mapping[str, Any], topic: str, directory: Path) -> None:
        self.kubectl = kubectl
        self.name = name
        self.topic = topic
        self.spec: Document = copy.deepcopy(dict(spec))
        self.group = Group(self.spec["kafka"]["bootstrapServers"], name)
        self._directory = directory

    def apply(self, **sections: Any) -> None:
        """Apply the spec with the sections given replaced; None takes one out."""
        self.spec = {name: section for name, section in (self.spec | sections).items() if section is not None}
        self.kubectl.apply(self.document)

    @property
    def document(self) -> Document:
        return {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": self.kind,
            "metadata": {"name": self.name, "namespace": self.kubectl.namespace},
            "spec": self.spec,
        }

    @property
    def label(self) -> str:
        """Label of its children; those of a LogPersister have its name alone."""
        return self.name if self.kind == Persister.kind else f"{self.kind.lower()}.{self.name}"

    def manifest(self) -> Path:
        """Write the resource to a file, for the commands that read one."""
        file = self._directory / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(self.document))
        return file

    def delete(self) -> None:
        self.kubectl.delete(self.kind, self.name)

    def metadata(self) -> Mapping[str, Any]:
        return self._found().get("metadata") or {}

    def status(self) -> Mapping[str, Any]:
        return self._found().get("status") or {}

    def condition(self, kind: str) -> Mapping[str, Any]:
        return next((one for one in self.status().get("conditions", []) if one["type"] == kind), {})

    def wait(self, kind: str, status: str, reason: str = "") -> Mapping[str, Any]:
        """Wait for a condition, for a reason unless that does not matter; return it."""

        def met() -> Mapping[str, Any] | None:
            found = self.condition(kind)
            if not found or found["status"] != status or (reason and found["reason"] != reason):
                return None
            return found

        found: Mapping[str, Any] = self.eventually(f"{kind} is {status} {reason}", met)
        return found

    def wait_stored(self) -> None:
        """Wait until all that the topic holds is stored, and the status tells so."""
        self.group.wait_current(self.topic, seconds=PATIENCE_SECONDS, explain=self.explain)
        self.eventually("no lag", lambda: self.status().get("lag", {}).get("records") == 0)

    def wait_shared(self, members: int, partitions: int) -> None:
        """Wait until so many members have so many partitions among them, and each has some."""

        def shared() -> bool:
            found = self.status()["members"]
            shares = [one.get("partitions", 0) for one in found["list"]]
            return found["ready"] == len(shares) == members and all(shares) and sum(shares) == partitions

        self.eventually(f"{members} members share {partitions} partitions", shared)

    def wait_steady(self, members: int) -> str:
        """Wait until one revision runs, with so many members, and what the spec says is done; return the revision."""

        def steady() -> bool:
            current = self.condition("Ready").get("observedGeneration") == self.metadata()["generation"]
            phase = (self.status().get("rollout") or {}).get("phase")
            return current and phase == "Steady" and len(self.restarts()) == members

        self.eventually("one revision runs", steady)
        self.wait("Ready", "True", "MembersReady")
        return str(self.status()["revision"])

    def stored(self) -> int:
        """Return how many records its members have stored since they started, by the status."""
        return int(self.status().get("uploads", {}).get("records", 0))

    def pods(self, component: str = MEMBERS) -> dict[str, Document]:
        """Return the pods of members, or of executors, by name; without those that are on their way out."""
        found = self.kubectl.list("pods", f"logpersister.dev/resource={self.label},{component}")
        return {one["metadata"]["name"]: one for one in found if "deletionTimestamp" not in one["metadata"]}

    def executors(self) -> dict[str, Document]:
        """Return the pods of executors that are ready, by name."""
        return {name: pod for name, pod in self.pods(EXECUTORS).items() if ready(pod)}

    def restarts(self) -> dict[str, int]:
        """Return how often the containers of each member were restarted, by the uid of its pod."""
        return {
            pod["metadata"]["uid"]: sum(one["restartCount"] for one in pod["status"].get("containerStatuses", []))
            for pod in self.pods().values()
        }

    def drain(self, nodes: Collection[str], component: str = MEMBERS) -> None:
        """Evict its pods as when these nodes are drained; nothing new comes to them until they are uncordoned."""
        selector = f"logpersister.dev/resource={self.label},{component}"
        options = ("--force", "--ignore-daemonsets", "--delete-emptydir-data")
        self.kubectl("drain", *nodes, f"--pod-selector={selector}", *options)

    def member_status(self, pod: str) -> Document:
        """Return what a member says of itself."""
        path = f"/api/v1/namespaces/{self.kubectl.namespace}/pods/{pod}:8080/proxy/status"
        found: Document = json.loads(self.kubectl("get", "--raw", path))
        return found

    def eventually(self, what: str, condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
        return eventually(f"{self.name}: {what}", condition, seconds=seconds, explain=self.explain)

    def _found(self) -> Document:
        return self.kubectl.get(self.kind, self.name) or {}

    def explain(self) -> str:
        """Return what helps to understand why something did not come about."""
        document = self._found()
        numbers = {key: value for key, value in (document.get("status") or {}).items() if key != "conditions"}
        selector = f"logpersister.dev/resource={self.label}"
        return "\n".join(
            [
                f"\n{self.name}: {json.dumps(numbers)[:2000]}",
                conditions(document),
                explain(self.kubectl, selector),
                explain(Kubectl(OPERATOR_NAMESPACE), _OPERATORS),
            ]
        )


def ready(pod: Document) -> bool:
    """Whether a pod is ready."""
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def waits_for_a_node(pod: Document) -> bool:
    """Whether no node takes a pod."""
    return any(one.get("reason") == "Unschedulable" for one in pod["status"].get("conditions", []))
