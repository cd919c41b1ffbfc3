import http.client
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from logpersister.report import server as server_module
from logpersister.report.document import status_of
from logpersister.report.health import Health
from logpersister.report.metrics import Metrics
from logpersister.report.server import MAX_CONNECTIONS, BindError, Endpoints, ReportServer, parse_address
from logpersister.report.status import StatusBoard
from tests.unit.report.samples import IDENTITY

Address = tuple[str, int]


@pytest.fixture
def health() -> Health:
    return Health()


def reports() -> tuple[Metrics, Callable[[], dict[str, Any]]]:
    board = StatusBoard(IDENTITY)
    return Metrics(board, processes=False), status_of(board)


@pytest.fixture
def address(health: Health) -> Iterator[Address]:
    server = ReportServer("127.0.0.1:0", Endpoints(*reports(), health))
    yield server.start()
    server.stop()


def ask(address: Address, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def test_metrics(address: Address) -> None:
    status, headers, body = ask(address, "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=")
    assert b'logpersister_member_info{generation="2",group="clicks-backup"' in body


def test_healthz_follows_the_probes(address: Address, health: Health) -> None:
    probe = health.probe("spark", timedelta(seconds=60))
    assert ask(address, "/healthz")[0] == 200
    probe.fail("the JVM is gone")
    status, headers, body = ask(address, "/healthz")
    assert (status, body) == (503, b"FAILED spark: the JVM is gone\n")
    assert headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("method", "path", "expected"), [("GET", "/nothing", 404), ("POST", "/status", 501), ("GET", "/", 200)]
)
def test_other_requests(address: Address, method: str, path: str, expected: int) -> None:
    assert ask(address, path, method)[0] == expected


def test_an_error_of_ours_is_a_500_and_the_server_lives(
    address: Address, health: Health, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("bug")

    with monkeypatch.context() as patched:
        patched.setattr(health, "live", broken)
        assert ask(address, "/healthz")[0] == 500
    assert ask(address, "/healthz")[0] == 200


def test_idle_connections_are_cut_and_do_not_keep_others_out(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.2)
    idle = [socket.create_connection(address, timeout=60) for _ in range(MAX_CONNECTIONS + 4)]
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                assert ask(address, "/healthz")[0] == 200
                break
            except (http.client.HTTPException, OSError):
                assert time.monotonic() < deadline, "idle connections block the endpoint"
                time.sleep(0.05)
        assert idle[0].recv(1) == b"", "the server closed it"
    finally:
        for connection in idle:
            connection.close()


def test_stop_frees_the_port_and_may_be_repeated(health: Health) -> None:
    first = ReportServer("127.0.0.1:0", Endpoints(*reports(), health))
    host, port = first.start()
    open_connection = socket.create_connection((host, port), timeout=60)
    started = time.monotonic()
    first.stop()
    first.stop()
    open_connection.close()
    assert time.monotonic() - started < 4, "does not wait for clients"
    with ReportServer(f"{host}:{port}", Endpoints(*reports(), health)):
        assert ask((host, port), "/healthz")[0] == 200


@pytest.mark.parametrize("client", ["127.0.0.1", "::1"])
def test_without_a_host_both_families_are_served(health: Health, client: str) -> None:
    """A kubelet asks pods by the family of their cluster."""
    with ReportServer(":0", Endpoints(*reports(), health)) as server:
        host, port = parse_address(server.address)
        assert host == "::"
        assert ask((client, port), "/healthz")[0] == 200


def test_a_taken_port_is_said_so(address: Address, health: Health) -> None:
    server = ReportServer(f"{address[0]}:{address[1]}", Endpoints(*reports(), health))
    with pytest.raises(BindError, match=r"--http 127.0.0.1:\d+: cannot listen there: .*; give another HOST:PORT"):
        server.start()


def test_addresses() -> None:
    assert parse_address("127.0.0.1:8080") == ("127.0.0.1", 8080)
    assert parse_address("[::1]:0") == ("::1", 0)
    for wrong in ("8080", "localhost", "localhost:", "localhost:http", "localhost:70000", "x:-1"):
        with pytest.raises(BindError, match="is not an address; write HOST:PORT"):
            parse_address(wrong)
