"""What answers the probes, and what the operator waits for before it begins."""

import asyncio
import contextlib
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from logpersister_operator.cluster import definition
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.health import Health, serve
from logpersister_operator.watchdog import LOOP_SECONDS, EventLoopWatchdog
from tests.stack.ports import LOOPBACK, free_port


def ask(port: int, path: str, host: str = LOOPBACK) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_probes_are_answered_as_long_as_the_block_runs_and_then_the_port_is_free() -> None:
    port = free_port()
    health = Health(lambda: None, lambda: "lists are not complete")
    for _ in range(2):
        with serve(port, health):
            assert ask(port, "/healthz") == ask(port, "/healthz", "[::1]") == (200, "ok"), "the kubelet has one family"
            assert ask(port, "/readyz") == (503, "lists are not complete")
    with serve(port, health):
        health.failure, health.unready = lambda: "the Lease has not been requested for 60 s", lambda: None
        assert ask(port, "/healthz") == (503, "the Lease has not been requested for 60 s")
        assert ask(port, "/readyz") == (200, "ok")


def test_an_event_loop_that_stands_still_ends_the_process() -> None:
    now = 0.0
    watchdog = EventLoopWatchdog(lambda: now)
    now = LOOP_SECONDS
    assert watchdog.failure() is None
    now += 1
    assert watchdog.failure() == "the event loop has not turned for 31 s"

    async def turn() -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(watchdog.run(), 0.01)

    asyncio.run(turn())
    assert watchdog.failure() is None


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
