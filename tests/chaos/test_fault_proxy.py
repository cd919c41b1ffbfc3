"""What the proxy does to a conversation, with a small server behind it."""

import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.stack.fault_proxy import Answer, AnswerAfter, FaultProxy, LoseResponse
from tests.stack.ports import LOOPBACK


class Server(HTTPServer):
    """Notes what was put."""

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.bodies: list[bytes] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        assert isinstance(self.server, Server)
        self.server.bodies.append(self._body())
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def _body(self) -> bytes:
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        found = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            found += self.rfile.read(size)
            assert self.rfile.readline() == b"\r\n"
        while self.rfile.readline() != b"\r\n":
            continue
        return found

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join()


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    with FaultProxy(server.server_port, http=True) as found:
        yield found


Put = Callable[..., tuple[int, bytes]]


@pytest.fixture
def put(proxy: FaultProxy) -> Iterator[Put]:
    client = http.client.HTTPConnection(proxy.host, proxy.port, timeout=10)

    def put(*chunks: bytes) -> tuple[int, bytes]:
        chunked = {"encode_chunked": True, "headers": {"Transfer-Encoding": "chunked"}} if len(chunks) > 1 else {}
        client.request("PUT", "/x", body=iter(chunks) if chunked else chunks[0], **chunked)  # type: ignore[arg-type]
        answer = client.getresponse()
        return answer.status, answer.read()

    yield put
    client.close()


def test_requests_follow_each_other_whatever_their_bodies_are(server: Server, put: Put) -> None:
    bodies = [(b"plain",), (b"in", b"x" * 200_000, b"chunks"), (b"",), (b"plain again",)]
    assert [put(*body) for body in bodies] == [(200, b"ok")] * 4
    assert server.bodies == [b"".join(body) for body in bodies]


@pytest.mark.parametrize("chunks", [(b"one",), (b"several", b"chunks")])
def test_an_answer_in_place_of_the_server_and_after_the_effect(
    server: Server, proxy: FaultProxy, put: Put, chunks: tuple[bytes, ...]
) -> None:
    proxy.inject(Answer())
    assert put(*chunks)[0] == 503
    assert server.bodies == []
    assert put(b"then") == (200, b"ok")
    proxy.inject(AnswerAfter(status=500, code="InternalError"))
    status, body = put(*chunks)
    assert (status, b"InternalError" in body) == (500, True)
    assert server.bodies == [b"then", b"".join(chunks)]


def test_a_lost_answer(server: Server, proxy: FaultProxy, put: Put) -> None:
    proxy.inject(LoseResponse())
    with pytest.raises(ConnectionError):
        put(b"several", b"chunks")
    assert server.bodies == [b"severalchunks"]
