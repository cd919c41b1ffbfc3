"""How a response is received from a socket: woken when much of it is there, and for its last byte alone."""

import select
import socket
from types import SimpleNamespace
from typing import Any

from kafka.protocol.frame import KafkaBytes

from logpersister.pipeline.reader.transport import _Transport


def test_the_last_byte_of_a_response_wakes_a_connection_that_awaited_many() -> None:
    received: list[bytes] = []
    frame = KafkaBytes(50_001)
    transport: Any = object.__new__(_Transport)
    parser = SimpleNamespace(_receiving=True, _rbuffer=frame)
    transport._protocol = SimpleNamespace(parser=parser, data_received=received.append)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        broker, _ = server.accept()
        with broker:
            transport._sock = ours
            ours.setblocking(False)
            for part, received_then in ((b"x" * 10_000, 10_000), (b"x" * 40_000, 50_000)):
                broker.sendall(part)
                while frame.tell() < received_then:
                    _receive_when_there(transport, ours)
                _receive_when_there(transport, ours)
                awaited = ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)
                assert awaited == max(1, 50_000 - received_then)
            broker.sendall(b"y")
            assert select.select([ours], [], [], 10)[0]
            assert transport._receive_some()
    assert received == [b"y"]


def _receive_when_there(transport: Any, ours: socket.socket) -> None:
    """Receive what is there, until there is nothing more."""
    select.select([ours], [], [], 0.01)
    try:
        while not transport._receive_some():
            pass
    except BlockingIOError:
        pass
