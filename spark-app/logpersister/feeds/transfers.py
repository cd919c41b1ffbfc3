"""HTTP by libcurl: thousands of requests at once in one thread, each with one deadline and one bound of bytes."""

import os
import select
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote

import pycurl

from logpersister.feeds.exchange import Answer, Request

Done = Callable[[Answer], None]

MOST_BYTES: Final = 256 * 2**20
"""Bytes of bodies that are being received, above which no more requests should begin."""
_MOST_IDLE: Final = 50_000
"""Connections that are kept open, as far as the process may have files."""
_LONGEST_HEADERS: Final = 100_000
_CONNECT_SECONDS: Final = 15.0
_OF_URLS: Final = "%/:=&?~#+!$,;'@()*[]"
"""Characters that a redirect may have as they are; others are escaped."""
_PROTOCOLS: Final = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS
_READS: Final = select.EPOLLIN | select.EPOLLPRI
_EVENTS: Final = {
    pycurl.POLL_IN: _READS,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: _READS | select.EPOLLOUT,
}
_WORDS: Final = {
    pycurl.E_COULDNT_RESOLVE_HOST: "the name of the host does not resolve",
    pycurl.E_COULDNT_RESOLVE_PROXY: "the name of the proxy does not resolve",
    pycurl.E_COULDNT_CONNECT: "no connection came about",
    pycurl.E_OPERATION_TIMEDOUT: "no whole answer within the timeout",
    pycurl.E_PEER_FAILED_VERIFICATION: "the server's certificate is not accepted",
    pycurl.E_SSL_CONNECT_ERROR: "the TLS handshake failed",
    pycurl.E_GOT_NOTHING: "the server ended the connection without an answer",
    pycurl.E_PARTIAL_FILE: "the answer ended too early",
    pycurl.E_RECV_ERROR: "the connection broke",
    pycurl.E_SEND_ERROR: "the connection broke",
    pycurl.E_BAD_CONTENT_ENCODING: "the answer is not compressed as it says",
}


class Transfers:
    """Requests that run. For one thread, which calls `turn`."""

    def __init__(self, idle_connections: int) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        most_idle = min(idle_connections, _MOST_IDLE, os.sysconf("SC_OPEN_MAX") // 2)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(16, most_idle))
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._deadline: float | None = None
        self._free: list[Any] = []
        self._running: dict[Any, _Transfer] = {}
        self._received = _Received()
        self._verify_paths = ssl.get_default_verify_paths()

    def __len__(self) -> int:
        return len(self._running)

    @property
    def is_full(self) -> bool:
        """Whether the bodies that are being received take much memory, so that no more requests should begin."""
        return self._received.bytes > MOST_BYTES

    def start(self, request: Request, done: Done) -> None:
        """Send a request; `done` gets its answer from `turn`, exactly once, whatever is wrong with it."""
        curl = self._free.pop() if self._free else pycurl.Curl()
        transfer = _Transfer(curl, request, done, self._received)
        transfer.prepare(self._verify_paths)
        self._running[curl] = transfer
        self._multi.add_handle(curl)

    def turn(self, seconds: float) -> None:
        """Wait for servers, for so long at most; hand over the answers that are there."""
        now = time.monotonic()
        until = now + seconds if self._deadline is None else min(now + seconds, self._deadline)
        for descriptor, events in self._epoll.poll(max(0.0, until - now)):
            action = pycurl.CSELECT_IN if events & _READS else 0
            action |= pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
            action |= pycurl.CSELECT_ERR if events & (select.EPOLLERR | select.EPOLLHUP) else 0
            self._multi.socket_action(descriptor, action)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._hand_over()

    def close(self) -> None:
        """Cut what still runs; nobody gets its answer."""
        for curl in [*self._running, *self._free]:
            if curl in self._running:
                self._multi.remove_handle(curl)
            curl.close()
        self._running.clear()
        self._free.clear()
        self._multi.close()
        self._epoll.close()

    def _hand_over(self) -> None:
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._end(curl, None)
            for curl, code, message in failed:
                self._end(curl, _WORDS.get(code, f"{message} (curl {code})"))

    def _end(self, curl: Any, error: str | None) -> None:
        transfer = self._running.pop(curl)
        answer = transfer.answer(error)
        self._multi.remove_handle(curl)
        curl.reset()
        self._free.append(curl)
        transfer.done(answer)

    def _on_timer(self, milliseconds: int) -> None:
        self._deadline = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _on_socket(self, event: int, descriptor: int, _multi: Any, _data: Any) -> None:
        if event == pycurl.POLL_REMOVE:
            self._watched.discard(descriptor)
            with suppress(OSError):  # it is closed already
                self._epoll.unregister(descriptor)
        elif descriptor in self._watched:
            self._epoll.modify(descriptor, _EVENTS[event])
        else:
            self._watched.add(descriptor)
            self._epoll.register(descriptor, _EVENTS[event])


class _Received:
    bytes = 0


class _Transfer:
    __slots__ = ("_body", "_headers", "_is_too_large", "_left", "_received", "curl", "done", "request")

    def __init__(self, curl: Any, request: Request, done: Done, received: _Received) -> None:
        self._received = received
        self.curl = curl
        self.request = request
        self.done = done
        self._headers = BytesIO()
        self._body: list[bytes] = []
        self._left = request.max_bytes
        self._is_too_large = False

    def prepare(self, paths: ssl.DefaultVerifyPaths) -> None:
        curl, request = self.curl, self.request
        curl.setopt(pycurl.URL, request.url)
        # What a server says, such as its ETag, comes back as it was: bytes, read as Latin-1.
        curl.setopt(pycurl.HTTPHEADER, [line.encode("latin-1") for line in (*request.headers, "Expect:")])
        curl.setopt(pycurl.WRITEFUNCTION, self._take)
        curl.setopt(pycurl.HEADERFUNCTION, self._take_header)
        curl.setopt(pycurl.PROTOCOLS, _PROTOCOLS)
        curl.setopt(pycurl.ACCEPT_ENCODING, "")  # all that libcurl can undo
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.TIMEOUT_MS, max(1, round(request.timeout * 1000)))
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, round(min(request.timeout, _CONNECT_SECONDS) * 1000)))
        if request.body is not None:
            curl.setopt(pycurl.POSTFIELDS, request.body)
        if request.proxy is not None:
            curl.setopt(pycurl.PROXY, request.proxy)
        if request.authority is not None:
            curl.setopt(pycurl.CAINFO_BLOB, request.authority)
        elif paths.cafile:
            curl.setopt(pycurl.CAINFO, paths.cafile)
        elif paths.capath:
            curl.setopt(pycurl.CAPATH, paths.capath)

    def answer(self, error: str | None) -> Answer:
        curl = self.curl
        redirect: bytes | None = curl.getinfo_raw(pycurl.REDIRECT_URL)
        self._received.bytes -= sum(map(len, self._body))
        if self._is_too_large:
            error = f"the answer is larger than maxBytes, {self.request.max_bytes} bytes"
        return Answer(
            status=curl.getinfo(pycurl.RESPONSE_CODE),
            headers=_parsed(self._headers.getvalue()),
            body=b"".join(self._body) if error is None else b"",
            error=error,
            seconds=curl.getinfo(pycurl.TOTAL_TIME),
            redirect=None if redirect is None else quote(redirect, safe=_OF_URLS),
        )

    def _take(self, chunk: bytes) -> int | None:
        self._left -= len(chunk)
        if self._left < 0:
            self._is_too_large = True
            return 0  # ends the transfer
        self._received.bytes += len(chunk)
        self._body.append(chunk)
        return None

    def _take_header(self, line: bytes) -> int | None:
        if line.startswith(b"HTTP/"):  # of another answer than before, such as 103
            self._headers.seek(0)
            self._headers.truncate()
        self._headers.write(line)
        return 0 if self._headers.tell() > _LONGEST_HEADERS else None


def _parsed(lines: bytes) -> dict[str, str]:
    split = (line.partition(":") for line in lines.decode("latin-1").split("\n")[1:])
    return {name.strip().lower(): value.strip() for name, colon, value in split if colon}
