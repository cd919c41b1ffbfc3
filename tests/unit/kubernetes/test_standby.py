"""What answers the liveness probe before the operator has begun, and what it waits for."""

import threading
import urllib.error
import urllib.request
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3.exceptions
from kubernetes.client import ApiException

from logpersister_operator import standby
from logpersister_operator.cluster import connection
from tests.stack.ports import LOOPBACK, free_port


def test_it_is_alive_as_long_as_the_block_runs_and_then_frees_the_port() -> None:
    port = free_port()
    for failure in (None, "the Lease has not been requested for 60 s"):
        with standby.alive(port, lambda failure=failure: failure):  # type: ignore[misc]
            if failure is None:
                with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/healthz", timeout=5) as answer:
                    assert answer.status == 200
            else:
                with pytest.raises(urllib.error.HTTPError, match="503"):
                    urllib.request.urlopen(f"http://{LOOPBACK}:{port}/healthz", timeout=5)


class Discovery:
    """Answers one after another; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def get_api_resources(self, group: str, version: str, **_: Any) -> SimpleNamespace:
        assert (group, version) == ("logpersister.dev", "v1alpha1")
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(resources=[SimpleNamespace(name=name) for name in answer])


def wait(monkeypatch: pytest.MonkeyPatch, discovery: Discovery, stop: threading.Event) -> bool:
    monkeypatch.setattr("kubernetes.client.CustomObjectsApi", lambda _: discovery)
    monkeypatch.setattr(connection, "LOOK_SECONDS", 0.001)
    return connection.wait_until_served(SimpleNamespace(), stop)  # type: ignore[arg-type]


def test_it_waits_for_the_definition_whatever_stands_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    discovery = Discovery(
        ApiException(404, "Not Found"),
        ApiException(503, "Service Unavailable"),
        urllib3.exceptions.HTTPError("connection refused"),
        ["others"],
        ["logpersisters", "logpersisters/status"],
    )
    assert wait(monkeypatch, discovery, threading.Event())


def test_it_ends_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    assert not wait(monkeypatch, Discovery(ApiException(404, "Not Found")), stop)
