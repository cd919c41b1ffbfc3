"""Letting go of resources before the operator is uninstalled, when the API server does not make it easy."""

from collections.abc import Iterator
from types import SimpleNamespace

from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import DEPLOYMENT, LOGPERSISTER, Document, Kind
from logpersister_operator.release import Release, Target
from logpersister_operator.supervision import FINALIZER


class Api:
    """Resources in memory, and an API server that fails when it is told to. No other objects are there."""

    def __init__(self, *names: str, **failures: list[Exception]) -> None:
        self.resources = [_resource(name) for name in names]
        self.failures = failures
        """By what is asked for: ``scale``, ``list``, or a resource by its name."""

    def _fail(self, name: str) -> None:
        if failures := self.failures.get(name):
            raise failures.pop(0)

    def patch(self, kind: Kind, namespace: str, name: str, change: Document, subresource: str | None = None) -> None:
        self._fail("scale" if kind is DEPLOYMENT else name)
        for stored in (one["metadata"] for one in self.resources if one["metadata"]["name"] == name):
            assert change["metadata"]["resourceVersion"] == stored["resourceVersion"]
            stored["finalizers"] = change["metadata"]["finalizers"]

    def pages(self, kind: Kind, namespace: str | None = None, *, labels: str = "") -> Iterator[Document]:
        if kind is LOGPERSISTER:
            self._fail("list")
        yield {"items": self.resources if kind is LOGPERSISTER else []}

    def finalizers(self) -> list[list[str]]:
        return [one["metadata"]["finalizers"] for one in self.resources]


def _resource(name: str) -> Document:
    return {"metadata": {"name": name, "namespace": "logs", "resourceVersion": "7", "finalizers": [FINALIZER]}}


def run(api: Api) -> int:
    time = SimpleNamespace(now=0.0)

    def sleep(seconds: float) -> None:
        time.now += seconds

    target = Target("system", "operator", "app=operator", seconds=30)
    return Release(api, target, clock=lambda: time.now, sleep=sleep).run()  # type: ignore[arg-type]


def test_one_that_has_changed_meanwhile_is_looked_at_again() -> None:
    api = Api("a", "b", a=[ClusterError("Conflict (409)", 409)], b=[ClusterError("Not Found (404)", 404)])
    assert run(api) == 2
    assert api.finalizers() == [[], []]


def test_an_api_server_that_is_away_for_a_moment() -> None:
    api = Api(
        "a",
        scale=[ClusterError("connection refused")],
        list=[ClusterError("Internal Server Error (500)", 500)],
        a=[ClusterError("Too Many Requests (429)", 429)],
    )
    assert run(api) == 1
