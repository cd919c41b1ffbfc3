"""What answers the liveness probe before the operator has begun, and what it waits for."""

import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from logpersister_operator import standby
from logpersister_operator.cluster import definition
from logpersister_operator.cluster.connection import ClusterError
from tests.stack.ports import LOOPBACK, free_port


def test_it_is_alive_as_long_as_the_block_runs_and_then_frees_the_port() -> None:
    port = free_port()
    for failure in (None, "the Lease has not been requested for 60 s"):
        with standby.alive(port, lambda failure=failure: failure):  # type: ignore[misc]
            if failure is None:
                with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/healthz", timeout=60) as answer:
                    assert answer.status == 200
            else:
                with pytest.raises(urllib.error.HTTPError, match="503"):
                    urllib.request.urlopen(f"http://{LOOPBACK}:{port}/healthz", timeout=60)


class Discovery:
    """Answers one after another; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def request(self, method: str, path: str, *, seconds: float) -> dict[str, Any]:
        assert (method, path) == ("GET", "/apis/logpersister.dev/v1alpha1")
        assert seconds > 0
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {"resources": [{"name": name} for name in answer]}


def wait(monkeypatch: pytest.MonkeyPatch, discovery: Discovery, stop: threading.Event) -> bool:
    monkeypatch.setattr(definition, "LOOK_SECONDS", 0.001)
    return definition.wait_until_served(discovery, stop)  # type: ignore[arg-type]


def test_it_waits_for_the_definition_whatever_stands_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    discovery = Discovery(
        ClusterError("not found", 404),
        ClusterError("unavailable", 503),
        ClusterError("connection refused"),
        ["others"],
        ["logpersisters", "logpersisters/status"],
    )
    assert wait(monkeypatch, discovery, threading.Event())


def test_it_ends_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    assert not wait(monkeypatch, Discovery(ClusterError("not found", 404)), stop)
