"""Servers on loopback that answer each request as a function says."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from tests.stack.ports import LOOPBACK, in_url


@dataclass(frozen=True)
class Request:
    """A request as the server has read it."""

    method: str
    path: str
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes


@contextmanager
def silent() -> Iterator[str]:
    """Yield the URL of a server that takes connections and never answers."""
    with socket.create_server((LOOPBACK, 0), backlog=128) as server:
        yield f"http://{LOOPBACK}:{server.getsockname()[1]}"


@contextmanager
def serving(
    answer: Callable[[Request], tuple[int, bytes]],
    certificate: Path | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
    place: tuple[str, int] = (LOOPBACK, 0),
) -> Iterator[str]:
    """Answer GET and POST by status and body; yield the URL. With a certificate and its key in one file, by TLS.

    What is said with a redirection is where it points to. Each answer has the headers. Port 0 is a free one.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(found.get("content-length", "0")))
            status, said = answer(Request(self.command, self.path, found, body))
            self.send_response(status)
            if status in {301, 302, 307, 308}:
                self.send_header("Location", said.decode())
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said if status != 204 else b"")

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            return None

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET

    with Server(place, Handler) as server:
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"{scheme}://{in_url(place[0])}:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
