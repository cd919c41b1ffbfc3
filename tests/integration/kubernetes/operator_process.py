"""The operator as a process of its own, for one namespace, beside a real API server."""

import itertools
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from logpersister_operator.cluster.access import find_access
from logpersister_operator.cluster.connection import Connection
from tests.integration.harness.event_log import EventLog
from tests.integration.harness.forks import OPERATOR, Fork, is_new
from tests.integration.harness.waiting import eventually
from tests.stack import reaper
from tests.stack.kubernetes import ApiServer, Client, Refused
from tests.stack.kubernetes.client import Document
from tests.stack.ports import free_port, in_url

IMAGE = "registry.example/logpersister:0.1.0"
SPEC: dict[str, Any] = {
    "kafka": {"bootstrapServers": "127.0.0.1:1", "topics": ["clicks"]},
    "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
}
"""That of a group whose broker refuses."""
_QUICK = {"LAG_SECONDS": "1", "REPORT_SECONDS": "1", "SECRET_SECONDS": "2"}
_OF_THE_IMAGE = {"MALLOC_ARENA_MAX": "2"}
_LEASE = "LOGPERSISTER_OPERATOR_LEASE"
_STOP_SECONDS = 30


def connect(kubeconfig: Path) -> Connection:
    """Return a connection of the operator's own kind, with these credentials."""
    return Connection(find_access({"KUBECONFIG": str(kubeconfig)}))


class OperatorProcess:
    """Starts, stops and kills the operator; its log is a file of JSON lines."""

    def __init__(
        self, server: ApiServer, directory: Path, namespace: str, *, kubeconfig: Path | None = None, **settings: str
    ) -> None:
        self.log = directory / "operator.log"
        self._events = EventLog(self.log)
        self._host = in_url(server.host)
        self._health, self._metrics = free_port(), free_port()
        ours = {
            "IMAGE": IMAGE,
            "NAMESPACES": namespace,
            "HEALTH_PORT": str(self._health),
            "METRICS_PORT": str(self._metrics),
            **_QUICK,
            **settings,
        }
        variables = {f"LOGPERSISTER_OPERATOR_{name}": value for name, value in ours.items()}
        self._environment = {
            **os.environ,
            **_OF_THE_IMAGE,
            "KUBECONFIG": str(kubeconfig or server.kubeconfig),
            **variables,
        }
        self._leases = (f"{namespace}/operator-{number}" for number in itertools.count())
        """One for each start: a test of restarts need not wait until that of the one that was killed has expired."""
        self._process: subprocess.Popen[bytes] | Fork | None = None

    def start(self) -> Self:
        lease = {_LEASE: next(self._leases)} if _LEASE not in self._environment else {}
        self._process = self._begin(self._environment | lease)
        reaper.register(self._process.pid)
        return self

    def _begin(self, environment: Mapping[str, str]) -> "subprocess.Popen[bytes] | Fork":
        self.log.touch()
        if not is_new(environment):
            return Fork(OPERATOR, (), environment, self.log)
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "logpersister_operator"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def stop(self) -> int:
        """End it in order; return the exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(_STOP_SECONDS)
        finally:
            self.kill()

    def suspend(self) -> None:
        """Let it stand still; return when all of its threads do."""
        os.kill(self.pid, signal.SIGSTOP)
        threads = Path(f"/proc/{self.pid}/task")

        def stopped() -> bool:
            states = [(one / "stat").read_text().rpartition(") ")[2][0] for one in threads.iterdir()]
            return set(states) == {"T"}

        eventually("it stands still", stopped)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        reaper.forget(self._process.pid)

    def healthz(self) -> int:
        """Return the HTTP status of the liveness probe; 0 without an answer."""
        return self._get(self._health, "/healthz")[0]

    def readyz(self) -> int:
        """Return the HTTP status of the readiness probe; 0 without an answer."""
        return self._get(self._health, "/readyz")[0]

    def metrics(self) -> dict[str, float]:
        lines = (line for line in self._get(self._metrics, "/metrics")[1].splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def page(self, path: str) -> str:
        """Return a page as a browser gets it; empty without an answer."""
        return self._get(self._metrics, path, Accept="text/html")[1]

    def events(self, name: str) -> list[dict[str, Any]]:
        return self._events.events(name)

    def tail(self) -> str:
        return "\n".join(line[:500] for line in self.log.read_text(errors="replace").splitlines()[-30:])

    def _get(self, port: int, path: str, **headers: str) -> tuple[int, str]:
        try:
            request = urllib.request.Request(f"http://{self._host}:{port}{path}", headers=headers)
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


class Resource:
    """One LogPersister on a real API server, and its children; StatefulSets get ready when the test says so."""

    kind, plural = "LogPersister", "logpersisters"

    def __init__(self, api: Client, namespace: str, name: str, explain: Callable[[], str]) -> None:
        self._api = api
        self.namespace = namespace
        self.name = name
        self._explain = explain
        self.path = f"/apis/logpersister.dev/v1alpha1/namespaces/{namespace}/{self.plural}/{name}"

    @property
    def label(self) -> str:
        """Label of its children."""
        return self.name

    def apply(self, spec: Mapping[str, Any], **annotations: str) -> None:
        """Apply the spec, and the annotations, as ``kubectl apply --server-side`` does."""
        metadata = {"name": self.name, "namespace": self.namespace, "annotations": annotations}
        document = {"apiVersion": "logpersister.dev/v1alpha1", "kind": self.kind, "metadata": metadata}
        self._api.apply(self.path, {**document, "spec": spec})

    def get(self) -> Document | None:
        return _or_none(lambda: self._api.get(self.path))

    def status(self) -> Mapping[str, Any]:
        return (self.get() or {}).get("status") or {}

    def condition(self, kind: str) -> Mapping[str, Any]:
        return next((one for one in self.status().get("conditions", []) if one["type"] == kind), {})

    def wait(self, kind: str, status: str, reason: str) -> Mapping[str, Any]:
        """Wait for a condition; return it."""

        def met() -> Mapping[str, Any] | None:
            found = self.condition(kind)
            return found if (found.get("status"), found.get("reason")) == (status, reason) else None

        found: Mapping[str, Any] = self.eventually(f"{kind} is {status}, {reason}", met)
        return found

    def eventually(self, what: str, condition: Callable[[], Any]) -> Any:
        return eventually(what, condition, explain=lambda: f"{self.status()}\n{self._explain()}")

    def children(self, group: str, plural: str) -> dict[str, Document]:
        """Return the children of a kind by name."""
        path = f"/{group}/namespaces/{self.namespace}/{plural}"
        found = self._api.get(path, labelSelector=f"logpersister.dev/resource={self.label}")["items"]
        return {one["metadata"]["name"]: one for one in found}

    def stateful_sets(self) -> dict[str, Document]:
        return self.children("apis/apps/v1", "statefulsets")

    def wait_stateful_sets(self, count: int) -> dict[str, Document]:
        """Wait until there are so many; return them."""
        self.eventually(f"{count} StatefulSets", lambda: len(self.stateful_sets()) == count)
        return self.stateful_sets()

    def wait_finalizer(self) -> None:
        """Wait until the operator looks after it."""
        self.eventually("a finalizer", lambda: "finalizers" in (self.get() or {}).get("metadata", {}))

    def get_ready(self, name: str, *, collisions: int = 0) -> None:
        """Do what the controller of StatefulSets does when all pods are ready, for one that is not gone."""
        found = self.stateful_sets().get(name)
        if found is None:
            return
        status = {
            "replicas": found["spec"]["replicas"],
            "readyReplicas": found["spec"]["replicas"],
            "updatedReplicas": found["spec"]["replicas"],
            "observedGeneration": found["metadata"]["generation"],
            "collisionCount": collisions,
        }
        path = f"/apis/apps/v1/namespaces/{self.namespace}/statefulsets/{name}"
        document = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": self.namespace},
            "status": status,
        }
        _or_none(lambda: self._api.apply(f"{path}/status", document, manager="statefulset-controller"))

    def wait_for_rest(self) -> None:
        """Let all members get ready, and wait until nothing is left to write; of a spec whose broker refuses."""
        for name in self.stateful_sets():
            self.get_ready(name)
        self.wait("Ready", "True", "MembersReady")
        self.eventually("Kafka was asked", lambda: "refused" in self.condition("LagWithinTarget").get("message", ""))

    def touch_children(self) -> None:
        """Change something of a child that nobody minds: its controller notes how many replicas it has seen."""
        for name in self.stateful_sets():
            self.get_ready(name, collisions=1)

    def delete(self) -> None:
        self._api.delete(self.path)

    def wait_events(self, reason: str) -> list[Document]:
        """Wait for an Event, which is posted after the status that says the same; return all with this reason."""
        found: list[Document] = self.eventually(
            f"an Event {reason}", lambda: [one for one in self.events() if one["reason"] == reason]
        )
        return found

    def events(self) -> list[Document]:
        found: list[Document] = self._api.get(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [one for one in found if one["involvedObject"]["name"] == self.name]


def _or_none(ask: Callable[[], Document]) -> Document | None:
    try:
        return ask()
    except Refused as error:
        if error.code == 404:
            return None
        raise
