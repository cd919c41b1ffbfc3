"""Letting go of resources before the operator is uninstalled, when the API server does not make it easy."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.client import ApiException

from logpersister_operator import release
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.release import Release, Target, TimeUpError
from logpersister_operator.supervision import FINALIZER

TARGET = Target("system", "operator", "app=operator")


class Api:
    """Resources in memory, and an API server that fails when it is told to."""

    def __init__(self, *resources: Document) -> None:
        self.resources = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in resources}
        self.pods = 0
        self.deployed = True
        self.replicas = 1
        self.failures: dict[str, list[Exception]] = {}
        self.listed: list[str] = []

    def _fail(self, name: str) -> None:
        if failures := self.failures.get(name):
            raise failures.pop(0)

    def patch_namespaced_deployment_scale(self, name: str, namespace: str, body: Document, **_: Any) -> None:
        self._fail("scale")
        if not self.deployed:
            raise ApiException(404, "Not Found")
        assert (namespace, name) == ("system", "operator")
        self.replicas = body["spec"]["replicas"]

    def list_namespaced_pod(self, namespace: str, label_selector: str, **_: Any) -> SimpleNamespace:
        assert (namespace, label_selector) == ("system", "app=operator")
        self.pods -= 1
        return SimpleNamespace(items=[object()] * max(0, self.pods))

    def list_cluster_custom_object(self, *_where: str, **options: Any) -> Document:
        return self._page("", **options)

    def list_namespaced_custom_object(
        self, _group: str, _version: str, namespace: str, *_: str, **options: Any
    ) -> Document:
        return self._page(namespace, **options)

    def _page(self, namespace: str, *, limit: int, _continue: str, **_: Any) -> Document:
        self._fail("list")
        self.listed.append(namespace)
        found = [one for (where, _), one in sorted(self.resources.items()) if namespace in ("", where)]
        begin = int(_continue or 0)
        more = str(begin + limit) if begin + limit < len(found) else ""
        return {"items": found[begin : begin + limit], "metadata": {"continue": more}}

    def patch_namespaced_custom_object(self, *where: Any, **options: Any) -> None:
        *_, namespace, _plural, name, change = where
        self._fail(name)
        assert options["_content_type"] == "application/merge-patch+json"
        stored = self.resources[namespace, name]
        if change["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise ApiException(409, "Conflict")
        stored["metadata"]["finalizers"] = change["metadata"]["finalizers"]

    def finalizers(self) -> list[list[str]]:
        return [one["metadata"]["finalizers"] for one in self.resources.values()]


def resource(name: str, namespace: str = "logs", finalizers: tuple[str, ...] = (FINALIZER,)) -> Document:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": "7", "finalizers": list(finalizers)}
    return {"metadata": metadata}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    def run(api: Api, target: Target = TARGET) -> int:
        for name in ("AppsV1Api", "CoreV1Api", "CustomObjectsApi"):
            monkeypatch.setattr(f"kubernetes.client.{name}", lambda _: api)
        time = SimpleNamespace(now=0.0)

        def sleep(seconds: float) -> None:
            time.now += seconds

        return Release(SimpleNamespace(), target, 30, clock=lambda: time.now, sleep=sleep).run()  # type: ignore[arg-type]

    return run  # type: ignore[return-value]


def test_only_our_finalizer_goes(run: Callable[..., int]) -> None:
    api = Api(resource("a"), resource("b", finalizers=("other", FINALIZER)), resource("c", finalizers=("other",)))
    assert run(api) == 2
    assert api.finalizers() == [[], ["other"], ["other"]]
    assert api.replicas == 0


def test_pages(run: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "PAGE", 2)
    api = Api(*(resource(f"r{number}") for number in range(5)))
    assert run(api) == 5
    assert api.finalizers() == [[]] * 5


def test_only_in_its_namespaces(run: Callable[..., int]) -> None:
    api = Api(resource("a", "ours"), resource("a", "theirs"))
    assert run(api, Target("system", "operator", "app=operator", ("ours", "empty"))) == 1
    assert api.finalizers() == [[], [FINALIZER]]
    assert set(api.listed) == {"ours", "empty"}


def test_one_that_has_changed_meanwhile_is_looked_at_again(run: Callable[..., int]) -> None:
    api = Api(resource("a"), resource("b"))
    api.failures = {"a": [ApiException(409, "Conflict")], "b": [ApiException(404, "Not Found")]}
    assert run(api) == 2
    assert api.finalizers() == [[], []]


def test_an_api_server_that_is_away_for_a_moment(run: Callable[..., int]) -> None:
    api = Api(resource("a"))
    api.failures = {
        "scale": [OSError("connection refused")],
        "list": [ApiException(500, "Internal Server Error")],
        "a": [ApiException(429, "Too Many Requests")],
    }
    assert run(api) == 1


def test_without_a_deployment_or_a_definition_there_is_nothing_to_do(run: Callable[..., int]) -> None:
    api = Api()
    api.deployed = False
    api.failures = {"list": [ApiException(404, "Not Found")]}
    assert run(api) == 0


def test_it_touches_no_resource_before_the_operator_is_gone(run: Callable[..., int]) -> None:
    api = Api(resource("a"))
    api.pods = 5
    assert run(api) == 1
    api = Api(resource("a"))
    api.pods = 1000
    with pytest.raises(TimeUpError, match="pods are still there"):
        run(api)
    assert api.finalizers() == [[FINALIZER]]


def test_when_the_time_is_up_it_says_what_is_left_and_why(run: Callable[..., int]) -> None:
    api = Api(resource("a"))
    api.failures = {"a": [ApiException(403, "Forbidden")] * 100}
    with pytest.raises(TimeUpError, match="still resources with our finalizer: 403 Forbidden"):
        run(api)
