"""A proxy between a client and a server of the tests that breaks their conversation on demand.

For HTTP (S3) it knows where requests begin and end, so that a fault can be aimed at one of them, even on a connection
that is kept alive. For anything else (Kafka) it forwards plain TCP, and a fault meets a connection. TLS is TCP to it.

    with FaultProxy(minio.port, http=True) as proxy:
        proxy.inject(LoseResponse(matches=lambda line: "uploadId" in line and line.startswith("POST")))
"""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from tests.stack.ports import LOOPBACK, free_port

CHUNK = 65_536
MAX_HEAD = 1 << 20
POLL = 0.05
"""Seconds between looks at whether a stall is over or the proxy is closed."""


def _any(_: str) -> bool:
    return True


@dataclass(kw_only=True, eq=False)
class Fault:
    """Something that goes wrong a number of `times` (None: until it is removed) with what `matches`."""

    matches: Callable[[str], bool] = _any
    """Gets the request line, for example ``PUT /bucket/key?partNumber=2 HTTP/1.1``; "" for plain TCP."""
    headers: Callable[[str], bool] = _any
    """Gets the headers as they were sent, without the request line (HTTP only)."""
    times: int | None = 1
    met: int = field(default=0, init=False)
    """How often it has happened."""


@dataclass(kw_only=True, eq=False)
class Reset(Fault):
    """The connection is reset after so many bytes of the request (of the connection, for plain TCP) went through."""

    after: int = 0


@dataclass(kw_only=True, eq=False)
class Stall(Fault):
    """Nothing more is forwarded after so many bytes, without closing anything, until the fault is removed."""

    after: int = 0


@dataclass(kw_only=True, eq=False)
class Delay(Fault):
    """The server gets the request so many seconds later, as if it was slow (HTTP only)."""

    seconds: float


@dataclass(kw_only=True, eq=False)
class LoseResponse(Fault):
    """The server gets the whole request and answers, the client gets a reset instead (HTTP only)."""


@dataclass(kw_only=True, eq=False)
class Answer(Fault):
    """The server never sees the request; the client is told this (HTTP only).

    Once it has sent everything, or at once and with the end of the connection if it has asked before sending the body.
    """

    status: int = 503
    code: str = "SlowDown"
    message: str = "Please reduce your request rate."

    def response(self) -> bytes:
        body = f"<?xml version='1.0'?><Error><Code>{self.code}</Code><Message>{self.message}</Message></Error>".encode()
        head = f"HTTP/1.1 {self.status} Fault\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


@dataclass(kw_only=True, eq=False)
class AnswerAfter(Answer):
    """The server does what it is asked, and the client is told this instead of its answer (HTTP only)."""


@dataclass(kw_only=True, eq=False)
class Rewrite(Fault):
    """The server gets another head than the client has sent (HTTP only)."""

    change: Callable[[bytes], bytes]
    """Gets and returns request line and headers, with the empty line that ends them."""


class FaultProxy:
    """Listens on a free port of ``listen`` and forwards to `port` of `host`. Thread-safe."""

    def __init__(self, port: int, *, host: str = LOOPBACK, listen: str = LOOPBACK, http: bool = False) -> None:
        self.target = (host, port)
        self.host = listen
        self.port = free_port()
        self.requests: list[str] = []
        """Request lines in the order in which they arrived (HTTP only)."""
        self._http = http
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._connections: set[_Connection] = set()

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> str:
        """Listen (again, after `stop`, on the same port); return the address."""
        listener = socket.create_server((self.host, self.port), backlog=256)
        with self._lock:
            self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True, name="fault-proxy").start()
        return self.address

    def stop(self) -> None:
        """Refuse new connections and reset those that stand: the server is gone, as far as clients can tell."""
        with self._lock:
            listener, self._listener = self._listener, None
            connections = list(self._connections)
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes accept, which close alone does not
            listener.close()
        for connection in connections:
            connection.reset()

    def inject(self, fault: Fault) -> None:
        """Add a fault; of several that match a request, the first one added meets it."""
        with self._lock:
            self._faults.append(fault)

    def remove(self, fault: Fault) -> None:
        with self._lock:
            if fault in self._faults:
                self._faults.remove(fault)

    def clear(self) -> None:
        """Remove all faults; stalled connections go on."""
        with self._lock:
            self._faults.clear()

    def is_active(self, fault: Fault) -> bool:
        with self._lock:
            return any(active is fault for active in self._faults)

    def meet(self, line: str, headers: str = "") -> Fault | None:
        """Return the fault that meets a request (or a connection), and count it."""
        with self._lock:
            for fault in self._faults:
                left = fault.times is None or fault.met < fault.times
                if left and fault.matches(line) and fault.headers(headers):
                    fault.met += 1
                    return fault
        return None

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, timeout=10)
            except OSError:
                _reset(client)
                continue
            server.settimeout(None)
            connection = _Connection(self, client, server)
            with self._lock:
                self._connections.add(connection)
            connection.run(http=self._http)

    def forget(self, connection: "_Connection") -> None:
        with self._lock:
            self._connections.discard(connection)


class _Connection:
    """One client and one server socket; a thread for each direction."""

    def __init__(self, proxy: FaultProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._pending = b""
        """What has arrived of a body and behind it."""
        self._losing: LoseResponse | AnswerAfter | None = None
        """What the next answer of the server meets."""
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self, *, http: bool) -> None:
        upstream = self._forward_requests if http else self._forward_bytes
        for work in (upstream, self._forward_answers):
            threading.Thread(target=self._guarded, args=(work,), daemon=True, name="fault-proxy-connection").start()

    def reset(self) -> None:
        _reset(self._client)
        _reset(self._server)
        self._proxy.forget(self)

    def _guarded(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(OSError):
            work()
        self.reset()

    def _forward_bytes(self) -> None:
        fault = self._proxy.meet("")
        forwarded = 0
        while data := self._client.recv(CHUNK):
            fault = fault or self._proxy.meet("")  # may be injected while the connection stands
            if self._broken(fault, forwarded + len(data)):
                return
            self._server.sendall(data)
            forwarded += len(data)

    def _forward_requests(self) -> None:
        pending = b""
        while True:
            head, pending = self._head(pending)
            if head is None:
                return
            line, _, headers = head.decode("latin-1").partition("\r\n")
            self._proxy.requests.append(line)
            fault = self._proxy.meet(line, headers)
            if isinstance(fault, Answer) and not isinstance(fault, AnswerAfter):
                asks_first = b"100-continue" in head
                if not asks_first:
                    pending = self._swallow(head, pending)
                self._client.sendall(fault.response())
                if asks_first:
                    return
            else:
                if isinstance(fault, Delay):
                    time.sleep(fault.seconds)
                if isinstance(fault, Rewrite):
                    head = fault.change(head)
                pending = self._forward_request(head, pending, fault)

    def _head(self, pending: bytes) -> tuple[bytes | None, bytes]:
        while b"\r\n\r\n" not in pending:
            data = self._client.recv(CHUNK)
            if not data or len(pending) > MAX_HEAD:
                return None, b""
            pending += data
        head, rest = pending.split(b"\r\n\r\n", 1)
        return head + b"\r\n\r\n", rest

    def _swallow(self, head: bytes, pending: bytes) -> bytes:
        """Read a body that nobody gets; return what has already arrived of the next request."""
        self._pending = pending
        for _ in self._body(head):
            continue
        return self._pending

    def _forward_request(self, head: bytes, pending: bytes, fault: Fault | None) -> bytes:
        """Forward one request, whose head has arrived; return what has already arrived of the next."""
        self._pending = pending
        forwarded = 0
        for data, is_last in chain([(head, not _has_body(head))], self._body(head)):
            if self._broken(fault, forwarded + len(data)):
                raise ConnectionResetError
            if is_last and isinstance(fault, LoseResponse | AnswerAfter):
                self._losing = fault  # before the last bytes: the answer may come at once
            self._server.sendall(data)
            forwarded += len(data)
        return self._pending

    def _body(self, head: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the pieces of a body as they arrive, and whether each is the last; the next request stays pending."""
        if not _is_chunked(head):
            yield from self._bytes(_content_length(head))
            return
        size = -1
        while size != 0:
            line = self._line()
            size = int(line.partition(b";")[0], 16)
            yield line, False
            if size:
                for piece, _ in self._bytes(size + 2):
                    yield piece, False
        while (line := self._line()) != b"\r\n":  # checksums behind the content
            yield line, False
        yield line, True

    def _bytes(self, left: int) -> Iterator[tuple[bytes, bool]]:
        while left:
            data = self._pending or self._receive()
            piece, self._pending = data[:left], data[left:]
            left -= len(piece)
            yield piece, left == 0

    def _line(self) -> bytes:
        while b"\r\n" not in self._pending:
            self._pending += self._receive()
        line, self._pending = self._pending.split(b"\r\n", 1)
        return line + b"\r\n"

    def _receive(self) -> bytes:
        data = self._client.recv(CHUNK)
        if not data:
            raise ConnectionResetError
        return data

    def _broken(self, fault: Fault | None, forwarded: int) -> bool:
        """Whether the connection has to be reset now; waits as long as it is stalled."""
        if isinstance(fault, Reset):
            return forwarded > fault.after
        if isinstance(fault, Stall) and forwarded > fault.after:
            waiting = threading.Event()
            while self._proxy.is_active(fault):
                if self._client.fileno() < 0:
                    return True
                waiting.wait(POLL)
        return False

    def _forward_answers(self) -> None:
        while data := self._server.recv(CHUNK):
            if self._losing is not None:
                if isinstance(self._losing, AnswerAfter):
                    self._client.sendall(self._losing.response())
                    self._client.shutdown(socket.SHUT_WR)  # in order, so that what was sent arrives
                return
            self._client.sendall(data)


def _has_body(head: bytes) -> bool:
    return _is_chunked(head) or _content_length(head) > 0


def _is_chunked(head: bytes) -> bool:
    return b"chunked" in _header(head, b"transfer-encoding").lower()


def _content_length(head: bytes) -> int:
    return int(_header(head, b"content-length") or b"0")


def _header(head: bytes, wanted: bytes) -> bytes:
    """Return the value of a header, empty if there is none."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == wanted:
            return value.strip()
    return b""


def _reset(end: socket.socket) -> None:
    """Close a socket so that the other side sees a reset, not an orderly end."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RD)  # wakes a thread in recv, without an orderly end
    end.close()
