import socket
import threading

import pytest
from kafka.errors import KafkaConfigurationError, KafkaError

from logpersister.kafka_client import sockets
from logpersister.kafka_client.admin import admin_client


def test_no_thread_is_left_when_no_broker_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    sockets.close_failed()
    before = set(threading.enumerate())
    for _ in range(2):
        with pytest.raises(KafkaError):
            admin_client({"bootstrap_servers": nobody, "bootstrap_timeout_ms": 200})
    assert set(threading.enumerate()) <= before


def test_settings_that_kafka_python_refuses_are_told_as_they_are() -> None:
    with pytest.raises(KafkaConfigurationError, match="no_such"):
        admin_client({"no_such": 1})
