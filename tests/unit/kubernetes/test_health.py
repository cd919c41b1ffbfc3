"""What answers the probes, and what the operator waits for before it begins."""

import asyncio
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from logpersister_operator.health import LIMIT_SECONDS, LOOP_SECONDS, Health, Watchdog, serve
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


def test_an_event_loop_that_stands_still_and_a_pool_that_is_blocked_end_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("logpersister_operator.health.PERIOD_SECONDS", 0.001)
    now, free = 0.0, Event()

    async def live() -> None:
        nonlocal now
        task = asyncio.create_task(watchdog.run())
        async with asyncio.timeout(60):
            while watchdog.failure() is not None:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.001)
            pool.submit(free.wait, 60)
            while "all threads are blocked" not in (watchdog.failure() or ""):
                now += LIMIT_SECONDS + 1
                await asyncio.sleep(0.002)
            free.set()
            while watchdog.failure() is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        task.cancel()

    with ThreadPoolExecutor(1) as pool:
        watchdog = Watchdog(pool, lambda: now)
        now = LOOP_SECONDS
        assert watchdog.failure() is None
        now += 1
        assert watchdog.failure() == "the event loop has not turned for 31 s"
        asyncio.run(live())
