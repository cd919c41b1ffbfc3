"""An answer to the liveness probe while the operator itself has not begun: another replica leads, say."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Alive(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing: a probe comes every few seconds."""


@contextmanager
def alive(port: int) -> Iterator[None]:
    """Answer every request on ``port`` with 200 as long as the block runs; then the port is free again."""
    server = ThreadingHTTPServer(("", port), _Alive)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.1,), name="standby", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
