"""What answers the probes, and what the operator waits for before it begins."""

import asyncio
import contextlib
import urllib.error
import urllib.request

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
