"""An answer to the liveness probe while the operator itself has not begun: another replica leads, say."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, failure: Callable[[], str | None]) -> None:
        super().__init__(("", port), _Alive)
        self.failure = failure


class _Alive(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        failure = self.server.failure()
        content = (failure or "ok").encode()
        self.send_response(HTTPStatus.OK if failure is None else HTTPStatus.SERVICE_UNAVAILABLE)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing: a probe comes every few seconds."""


@contextmanager
def alive(port: int, failure: Callable[[], str | None]) -> Iterator[None]:
    """Answer every request on ``port`` as long as the block runs; then the port is free again.

    ``failure`` says why this process must be restarted; None is answered with 200.
    """
    server = _Server(port, failure)
    threading.Thread(target=server.serve_forever, args=(0.1,), name="standby", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
