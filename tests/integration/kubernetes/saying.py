"""Members that say what the test wants, where the operator asks them."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from logpersister.report.listening import family_of
from logpersister_operator.render.network import HTTP_PORT
from tests.unit.kubernetes.samples import report


@contextmanager
def saying(address: str, **changes: Any) -> Iterator[dict[str, Any]]:
    """Serve ``/status`` of a member at an address; what is changed in the dictionary, it says from then on."""

    def document() -> Mapping[str, Any] | None:
        return report(observedAt=datetime.now(UTC).isoformat(), **changes).document

    with answering(address, document):
        yield changes


@contextmanager
def answering(address: str, document: Callable[[], Mapping[str, Any] | None]) -> Iterator[None]:
    """Serve a document at an address, where the operator asks pods for their ``/status``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(document()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        address_family = family_of(address)

    with Server((address, HTTP_PORT), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
