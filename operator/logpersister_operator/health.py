"""Answers to the probes of the kubelet, from the beginning of the process to its end, and what tells them."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from logpersister.report.listening import ANY_INTERFACE, family_of, take_both_families

PERIOD_SECONDS: Final = 1.0
LIMIT_SECONDS: Final = 120.0
"""Reconciliations have deadlines, so a pool that is only busy has a free thread again before that."""
LOOP_SECONDS: Final = 30.0
"""Nothing in the event loop takes longer."""
Check = Callable[[], str | None]
"""Returns what is wrong; None when nothing is."""


class Health:
    """What the probes are answered. Thread-safe."""

    def __init__(self, failure: Check, unready: Check) -> None:
        """Begin; ``failure`` says why the process must be restarted, ``unready`` what it still waits for."""
        self.failure = failure
        self.unready = unready


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, health: Health) -> None:
        self.address_family = family_of(ANY_INTERFACE)
        super().__init__((ANY_INTERFACE, port), _Probes)
        self.health = health

    def server_bind(self) -> None:
        take_both_families(self.socket)
        super().server_bind()


class _Probes(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer ``/readyz``, and anything else as ``/healthz``."""
        health = self.server.health
        wrong = health.unready() if self.path.startswith("/readyz") else health.failure()
        content = (wrong or "ok").encode()
        self.send_response(HTTPStatus.OK if wrong is None else HTTPStatus.SERVICE_UNAVAILABLE)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing: a probe comes every few seconds."""


@contextmanager
def serve(port: int, health: Health) -> Iterator[None]:
    """Answer probes on ``port`` as long as the block runs; then the port is free again."""
    server = _Server(port, health)
    threading.Thread(target=server.serve_forever, args=(0.1,), name="health", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class Watchdog:
    """A task of the event loop that notes each turn, and when its last task came through the pool."""

    def __init__(self, pool: ThreadPoolExecutor, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._clock = clock
        self._turned = self._passed = clock()

    def failure(self) -> str | None:
        """Return why the operator must be restarted; None while it lives."""
        turned, passed = self._clock() - self._turned, self._turned - self._passed
        if turned > LOOP_SECONDS:
            return f"the event loop has not turned for {turned:.0f} s"
        if passed > LIMIT_SECONDS:
            return f"no reconciliation has begun for {passed:.0f} s: all threads are blocked"
        return None

    async def run(self) -> None:
        sent: Future[None] | None = None
        while True:
            now = self._clock()
            if sent is None or sent.done():
                self._passed, sent = now, self._pool.submit(lambda: None)
            self._turned = now
            await asyncio.sleep(PERIOD_SECONDS)
