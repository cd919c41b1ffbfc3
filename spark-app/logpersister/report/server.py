"""HTTP endpoint of a process: ``/metrics``, ``/healthz``, ``/readyz``, ``/status``, and pages for browsers.

Few threads, deadlines on everything, no keep-alive: whatever a client does, the process does not notice.
"""

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final, Protocol, Self

import structlog

from logpersister.report.health import Health, HealthReport
from logpersister.report.instruments import Instruments
from logpersister.report.listening import ANY_INTERFACE, family_of, take_both_families
from logpersister.report.plain import Document

log = structlog.get_logger(__name__)

THREADS: Final = 4
MAX_CONNECTIONS: Final = 16
"""Being served or waiting for a thread; further ones are closed at once."""
SOCKET_SECONDS: Final = 5.0
"""Timeout of one read or write."""
REQUEST_SECONDS: Final = 15.0
"""Timeout of a whole connection, so that a client which sends a byte now and then cannot keep a thread."""
POLL_SECONDS: Final = 0.1
"""How soon a stop and overdue connections are noticed."""

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json; charset=utf-8"
PATHS: Final = ("/metrics", "/healthz", "/readyz", "/status")


class BindError(Exception):
    """The address cannot be served: malformed, not of this machine, or taken."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: HTTPStatus
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Pages(Protocol):
    """What browsers are shown (`logpersister.pages`)."""

    def answer(self, path: str, query: str) -> Answer | None:
        """Return a page; None: there is none at the path."""


class Router(Protocol):
    """What is served: pure routing, apart from sockets."""

    def answer(self, path: str, accept: str) -> Answer:
        """Return the answer to GET `path` (with or without a query string)."""


class Endpoints:
    """What a member or collector serves."""

    def __init__(
        self, metrics: Instruments, status: Callable[[], Document], health: Health, pages: Pages | None = None
    ) -> None:
        self._metrics = metrics
        self._status = status
        self._health = health
        self._pages = pages

    def answer(self, path: str, accept: str) -> Answer:
        path, _, query = path.partition("?")
        match path.rstrip("/"):
            case "/metrics":
                body, content_type = self._metrics.render(accept)
                return Answer(HTTPStatus.OK, content_type, body)
            case "/healthz":
                return _health_answer(self._health.live())
            case "/readyz":
                return _health_answer(self._health.ready())
            case "/status":
                return Answer(HTTPStatus.OK, JSON, json.dumps(self._status(), ensure_ascii=False).encode() + b"\n")
            case "" if self._pages is None or "text/html" not in accept:
                return Answer(HTTPStatus.OK, TEXT, _lines(*PATHS))
        page = None if self._pages is None else self._pages.answer(path, query)
        return page or Answer(HTTPStatus.NOT_FOUND, TEXT, _lines(f"not found; there are {', '.join(PATHS)}"))


class ReportServer:
    """Serves what a router answers on one address from its own threads, from `start` to `stop`."""

    def __init__(self, address: str, router: Router, setting: str = "--http") -> None:
        """Prepare to serve.

        Args:
            address: ``HOST:PORT``; port 0 takes a free one; an empty host is every interface, by IPv4 and IPv6.
            setting: where the address comes from, for messages.
        """
        self._setting = setting
        self._host, self._port = parse_address(address)
        self._router = router
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> tuple[str, int]:
        """Bind and serve; return host and port as bound. Raises `BindError`."""
        try:
            self._server = _Server(self._host, self._port, self._router)
        except OSError as error:
            raise BindError(
                f"{self._setting} {self._host}:{self._port}: cannot listen there: {error.strerror or error}; "
                "give another HOST:PORT, or port 0 for a free one"
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), name="report-server", daemon=True
        )
        self._thread.start()
        return self._server.bound

    @property
    def address(self) -> str:
        """``host:port`` as bound; empty while it does not serve."""
        if self._server is None:
            return ""
        host, port = self._server.bound
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def stop(self) -> None:
        """Stop accepting, cut what is open, free the port. May be called twice, and without `start`."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        server.close()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def parse_address(address: str) -> tuple[str, int]:
    """Split ``HOST:PORT`` (``[::1]:8080`` for IPv6). Raises `BindError`."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BindError(f'--http "{address}" is not an address; write HOST:PORT, for example 127.0.0.1:8080')
    return host.removeprefix("[").removesuffix("]") or ANY_INTERFACE, int(port)


class _Server(HTTPServer):
    """The standard server with a bounded thread pool and a deadline for each connection."""

    request_queue_size = MAX_CONNECTIONS

    def __init__(self, host: str, port: int, router: Router) -> None:
        self.address_family = family_of(host)
        self.router = router
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="report")
        self._open: dict[int, tuple[socket.socket, float]] = {}
        self._lock = threading.Lock()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would look up the host's name in DNS here, which may take long and is not used.
        take_both_families(self.socket)
        super(HTTPServer, self).server_bind()
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @property
    def bound(self) -> tuple[str, int]:
        host, port = self.server_address[:2]
        return str(host), int(port)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            accepted = len(self._open) < MAX_CONNECTIONS
            if accepted:
                self._open[id(request)] = (request, time.monotonic() + REQUEST_SECONDS)
        if accepted:
            self._pool.submit(self._serve, request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Called by the accepting loop every `POLL_SECONDS`: cut connections that are over their time."""
        now = time.monotonic()
        with self._lock:
            for request, deadline in self._open.values():
                if now >= deadline:
                    _cut(request)

    def close(self) -> None:
        with self._lock:
            for request, _ in self._open.values():
                _cut(request)
        self._pool.shutdown(wait=True)
        self.server_close()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError as error:
            log.debug("report.client-gone", client=str(client_address), error=str(error))
        finally:
            with self._lock:
                self._open.pop(id(request), None)
            self.shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = SOCKET_SECONDS
    server_version = "logpersister"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, *_: Any) -> None:
        """Probes and scrapes are not worth a line each."""

    def _answer(self, *, with_body: bool) -> None:
        try:
            answer = self.server.router.answer(self.path, self.headers.get("Accept", ""))
        except Exception:
            log.exception("report.answer-failed", path=self.path)
            answer = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, _lines("internal error; the log has it"))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)


def _health_answer(report: HealthReport) -> Answer:
    return Answer(HTTPStatus.OK if report.ok else HTTPStatus.SERVICE_UNAVAILABLE, TEXT, _lines(str(report)))


def _lines(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _cut(request: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        request.shutdown(socket.SHUT_RDWR)
