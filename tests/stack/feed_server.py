"""An HTTP server of feeds that misbehaves in all the ways that real ones do: by path, and says what it has served."""

import gzip
import json
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.stack.ports import LOOPBACK

HUGE = 3_000_000


class FeedServer(ThreadingHTTPServer):
    """Feeds by the first step of their path; the rest of a path makes another feed of the same kind."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, certificate: Path | None = None, host: str = LOOPBACK) -> None:
        super().__init__((host, 0), _Handler)
        self.scheme = "http"
        self.ended = threading.Event()
        self.change_seconds = 1.0
        """How long `/changing` stays as it is."""
        self.lock = threading.Lock()
        self.requests: dict[str, list[tuple[float, dict[str, str]]]] = defaultdict(list)
        """When and with which headers (names in lower case) each path was asked."""
        self.served: dict[str, dict[bytes, float]] = defaultdict(dict)
        """Contents by path that were sent as a whole, and when each was for the first time."""
        self.elsewhere = ""
        """URL to which `/elsewhere` redirects."""
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
            self.scheme = "https"

    @property
    def url(self) -> str:
        host = "localhost" if self.scheme == "https" else self.server_address[0]
        return f"{self.scheme}://{host!s}:{self.server_address[1]}"

    def times(self, path: str) -> list[float]:
        """Return when a path was asked."""
        with self.lock:
            return [when for when, _ in self.requests[path]]

    def asked(self, path: str) -> list[dict[str, str]]:
        """Return the headers with which a path was asked."""
        with self.lock:
            return [headers for _, headers in self.requests[path]]

    def handle_error(self, *_: Any) -> None:
        """Clients go when they have enough."""


class _Handler(BaseHTTPRequestHandler):
    server: FeedServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        with self.server.lock:
            self.server.requests[self.path].append((time.time(), headers))
        if self.path.startswith("http://"):
            self._proxied()
            return
        kind = self.path.split("/")[1].partition("?")[0].partition(".")[0]
        getattr(self, f"_{kind}")(headers, body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        return None

    def _send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _changing(self, headers: dict[str, str], body: bytes) -> None:
        self._serve(json.dumps({"path": self.path, "number": self._number()}).encode())

    def _prices(self, headers: dict[str, str], body: bytes) -> None:
        self._serve(json.dumps({"at": time.time_ns(), "prices": {"bolt": 100 + self._number() % 1000}}).encode())

    def _stations(self, headers: dict[str, str], body: bytes) -> None:
        text = f"<stations>\n<generated>{time.time_ns()}</generated>\n<t>{self._number()}</t>\n</stations>"
        self._serve(text.encode(), Content_Type="application/xml")

    def _number(self) -> int:
        """Return a number that changes now and then."""
        return int(time.time() / self.server.change_seconds)

    def _serve(self, value: bytes, **headers: str) -> None:
        self._send(value, 200, **headers)
        with self.server.lock:
            self.server.served[self.path].setdefault(value, time.time())

    def _clock(self, headers: dict[str, str], body: bytes) -> None:
        self._send(json.dumps({"at": time.time_ns(), "data": {"items": [1, 2]}}).encode())

    def _steady(self, headers: dict[str, str], body: bytes) -> None:
        if headers.get("if-none-match") == '"one"':
            self._send(b"", 304, ETag='"one"')
        else:
            self._send(b'{"steady": true}', ETag='"one"', Last_Modified="Sat, 28 Nov 2026 00:00:00 GMT")

    def _echo(self, headers: dict[str, str], body: bytes) -> None:
        self._send(json.dumps({"method": self.command, "body": body.decode(), "path": self.path}).encode())

    def _odd(self, headers: dict[str, str], body: bytes) -> None:
        if headers.get("if-none-match") == "\xe9":
            self._send(b"", 304)
            return
        self.wfile.write(b"HTTP/1.1 200 OK\r\nETag: \xe9\nX-Injected: yes\r\nContent-Length: 2\r\n\r\n{}")

    def _proxied(self) -> None:
        self._send(b'{"proxied": true}')

    def _gzip(self, headers: dict[str, str], body: bytes) -> None:
        self._send(gzip.compress(b'{"packed": true}'), Content_Encoding="gzip")

    def _bomb(self, headers: dict[str, str], body: bytes) -> None:
        self._send(gzip.compress(bytes(HUGE)), Content_Encoding="gzip")

    def _huge(self, headers: dict[str, str], body: bytes) -> None:
        self._send(bytes(HUGE))

    def _html(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"<html>sorry</html>", Content_Type="text/html; charset=utf-8")

    def _limited(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"", 429, Retry_After="1")

    def _broken(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"oh", 503)

    def _gone(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"", 404)

    def _short(self, headers: dict[str, str], body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"short")
        self.close_connection = True

    def _moved(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"", 302, Location=self.path.replace("/moved/", "/echo/"))

    def _loop(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"", 302, Location=self.path)

    def _astray(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"", 302, Location="http://[nowhere/")

    def _elsewhere(self, headers: dict[str, str], body: bytes) -> None:
        self._send(b"", 307, Location=self.server.elsewhere)

    def _hang(self, headers: dict[str, str], body: bytes) -> None:
        self.server.ended.wait(60)
        self.close_connection = True

    def _drip(self, headers: dict[str, str], body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            while not self.server.ended.wait(0.05):
                self.wfile.write(b".")
                self.wfile.flush()
        self.close_connection = True


@contextmanager
def feeds(certificate: Path | None = None, host: str = LOOPBACK) -> Iterator[FeedServer]:
    """Serve on an address; with a certificate of localhost and its key in one file, by TLS."""
    with FeedServer(certificate, host) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()
