"""Members that say what the test wants, where the operator asks them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from logpersister_operator.render.network import HTTP_PORT
from tests.unit.kubernetes.samples import report

SAME: dict[str, Any] = {
    "since": "2026-11-21T12:00:00.000Z", "partitions": 4, "offsets": 1000, "ranges": 2,
    "records": {"stable": 1000, "shadow": 1000}, "objects": {"stable": 4, "shadow": 2},
    "bytes": {"stable": 9000, "shadow": 7000}, "checksums": {"compared": 2, "impossible": 0},
    "differences": 0, "examples": [], "error": None,
}  # fmt: skip
"""What a shadow says that stores the same."""


@contextmanager
def saying(address: str, **changes: Any) -> Iterator[dict[str, Any]]:
    """Serve ``/status`` of a member at an address; what is changed in the dictionary, it says from then on."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = report(observedAt=datetime.now(UTC).isoformat(), **changes).document
            content = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((address, HTTP_PORT), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield changes
        finally:
            server.shutdown()
            thread.join()
