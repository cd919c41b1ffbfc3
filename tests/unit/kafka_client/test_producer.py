import socket
import threading

import pytest
from kafka.errors import KafkaConfigurationError

from logpersister.kafka_client import producer, sockets
from logpersister.kafka_client.producer import NotDeliveredError, producing


def test_no_thread_is_left_when_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "BOOTSTRAP_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    sockets.close_failed()
    before = set(threading.enumerate())
    for _ in range(2):
        with pytest.raises(NotDeliveredError), producing({"bootstrap_servers": nobody}):
            pass
    assert set(threading.enumerate()) <= before


def test_settings_that_kafka_python_refuses_are_told_as_they_are() -> None:
    with pytest.raises((KafkaConfigurationError, ValueError), match="no_such"), producing({"no_such": 1}):
        pass
