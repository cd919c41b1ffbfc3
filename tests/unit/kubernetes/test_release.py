"""Letting go of resources before the operator is uninstalled, when the API server does not make it easy."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import DEPLOYMENT, LOGPERSISTER, POD, RESOURCES, Document, Kind
from logpersister_operator.release import Release, Target
from logpersister_operator.supervision import FINALIZER

TARGET = Target("system", "operator", "app=operator", seconds=30)


class Api:
    """Resources in memory, and an API server that fails when it is told to."""

    def __init__(self, *resources: Document) -> None:
        self.resources = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in resources}
        self.pods = 0
        self.deployed = True
        self.replicas = 1
        self.failures: dict[str, list[Exception]] = {}
        self.listed: list[str | None] = []
        self.labels = ""

    def _fail(self, name: str) -> None:
        if failures := self.failures.get(name):
            raise failures.pop(0)

    def patch(self, kind: Kind, namespace: str, name: str, change: Document, subresource: str | None = None) -> None:
        if kind is DEPLOYMENT:
            self._fail("scale")
            if not self.deployed:
                raise ClusterError("Not Found (404)", 404)
            assert (namespace, name, subresource) == ("system", "operator", "scale")
            self.replicas = change["spec"]["replicas"]
            return
        self._fail(name)
        stored = self.resources[namespace, name]
        if change["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise ClusterError("Conflict (409)", 409)
        stored["metadata"]["finalizers"] = change["metadata"]["finalizers"]

    def pages(self, kind: Kind, namespace: str | None = None, *, labels: str = "") -> Iterator[Document]:
        if kind is POD:
            assert (namespace, labels) == ("system", "app=operator")
            self.pods -= 1
            yield {"items": [object()] * max(0, self.pods)}
            return
        if kind is not LOGPERSISTER:
            assert kind in RESOURCES
            yield {"items": []}
            return
        self._fail("list")
        self.labels = labels
        self.listed.append(namespace)
        found = [one for (where, _), one in sorted(self.resources.items()) if namespace in (None, where)]
        for begin in range(0, len(found), 2):
            yield {"items": found[begin : begin + 2]}

    def finalizers(self) -> list[list[str]]:
        return [one["metadata"]["finalizers"] for one in self.resources.values()]


def resource(name: str, namespace: str = "logs", finalizers: tuple[str, ...] = (FINALIZER,)) -> Document:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": "7", "finalizers": list(finalizers)}
    return {"metadata": metadata}


@pytest.fixture
def run() -> Callable[..., int]:
    def run(api: Api, target: Target = TARGET) -> int:
        time = SimpleNamespace(now=0.0)

        def sleep(seconds: float) -> None:
            time.now += seconds

        return Release(api, target, clock=lambda: time.now, sleep=sleep).run()  # type: ignore[arg-type]

    return run


def test_one_that_has_changed_meanwhile_is_looked_at_again(run: Callable[..., int]) -> None:
    api = Api(resource("a"), resource("b"))
    api.failures = {"a": [ClusterError("Conflict (409)", 409)], "b": [ClusterError("Not Found (404)", 404)]}
    assert run(api) == 2
    assert api.finalizers() == [[], []]


def test_an_api_server_that_is_away_for_a_moment(run: Callable[..., int]) -> None:
    api = Api(resource("a"))
    api.failures = {
        "scale": [ClusterError("connection refused")],
        "list": [ClusterError("Internal Server Error (500)", 500)],
        "a": [ClusterError("Too Many Requests (429)", 429)],
    }
    assert run(api) == 1
