"""Answers to the probes of the kubelet, from the beginning of the process to its end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from logpersister.report.listening import ANY_INTERFACE, family_of, take_both_families

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
