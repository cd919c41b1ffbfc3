"""Servers that are not there, or say nothing, or hang up: what becomes of the connection, and how soon."""

import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from logpersister.pipeline.reader import ReaderSettings
from logpersister.pipeline.reader.connection import KafkaCluster
from logpersister.pipeline.reader.messages import ClusterError

SETTINGS = ReaderSettings(connect_timeout=1.0)


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on a port of its own that does `serve` with each connection."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                connections.append(connection)
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in connections:
        connection.close()


def say_nothing(_: socket.socket) -> None: ...


def hang_up(connection: socket.socket) -> None:
    connection.close()


def speak_http(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def failure_of(address: str, **config: Any) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        KafkaCluster({"bootstrap_servers": address, **config}, SETTINGS)
    return caught.value


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_SSL"])
@pytest.mark.parametrize("serve", [say_nothing, hang_up, speak_http])
def test_a_server_that_is_no_broker_costs_the_time_to_connect_and_no_more(
    serve: Callable[[socket.socket], None], protocol: str
) -> None:
    before = threading.active_count()
    with server(serve) as address:
        began = time.monotonic()
        error = failure_of(address, security_protocol=protocol)
        assert time.monotonic() - began < 4
    assert not error.unauthorized
    assert address in str(error)
    assert "the last attempt: " in str(error)
    assert threading.active_count() == before


@pytest.mark.slow
def test_attempts_to_connect_leave_no_sockets_behind() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    gc.collect()
    gc.disable()  # what only it would find is a leak
    try:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            error = failure_of(address)
            assert "ECONNREFUSED" in str(error)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    finally:
        gc.enable()
