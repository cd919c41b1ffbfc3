import socket
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.net.inet import KafkaNetSocket

from logpersister.kafka_client import patches


def test_no_socket_is_left_of_attempts_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    make = KafkaNetSocket.socket

    def note(self: KafkaNetSocket, *arguments: Any) -> socket.socket:
        made.append(make(self, *arguments))
        return made[-1]

    monkeypatch.setattr(KafkaNetSocket, "socket", note)
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    patches.close_failed()

    with pytest.raises(KafkaError):
        KafkaAdminClient(bootstrap_servers=nobody, bootstrap_timeout_ms=300, reconnect_backoff_max_ms=50)

    assert len(made) > 1
    assert all(one.fileno() == -1 for one in made)
