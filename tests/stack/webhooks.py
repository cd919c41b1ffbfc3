"""A server that takes what is posted to it, and answers as it is told."""

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Posted:
    """A request."""

    path: str
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes


@dataclass
class Receiver:
    """What was posted, and how it is answered."""

    url: str = ""
    posted: list[Posted] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=lambda: [(204, "")])
    """Statuses with what is said, in turn; the last one for ever."""
    wait_seconds: float = 0.0
    """Until it answers."""
    closed: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiving(certificate: Path | None = None) -> Iterator[Receiver]:
    """Serve on loopback; with a certificate and its key in one file, by TLS."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.posted.append(Posted(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            found.closed.wait(found.wait_seconds)
            status, said = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
            self.send_response(status)
            if status in {301, 302, 307, 308}:
                self.send_header("Location", said)
            self.end_headers()
            self.wfile.write(said.encode() if status != 204 else b"")

        def log_message(self, *_: object) -> None:
            return None

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        server.daemon_threads = True
        scheme, host = "http", LOOPBACK
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme, host = "https", "localhost"
        found.url = f"{scheme}://{host}:{server.server_address[1]}/folders"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.closed.set()
        server.shutdown()
        thread.join()
