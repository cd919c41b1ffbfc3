"""Clients that reach no broker, or are told nonsense."""

import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from typing import Any

import pytest
from kafka.errors import KafkaConfigurationError, KafkaError

from logpersister.kafka_client import patches, producer
from logpersister.kafka_client.admin import admin_client
from logpersister.kafka_client.producer import NotDeliveredError, producing

Client = Callable[[dict[str, Any]], AbstractContextManager[Any]]
EACH = pytest.mark.parametrize("client", [lambda settings: closing(admin_client(settings)), producing])


@EACH
def test_no_thread_is_left_when_no_broker_answers(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setattr(producer, "BOOTSTRAP_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    patches.close_failed()
    before = set(threading.enumerate())
    for _ in range(2):
        with (
            pytest.raises((KafkaError, NotDeliveredError)),
            client({"bootstrap_servers": nobody, "bootstrap_timeout_ms": 200}),
        ):
            pass
    assert set(threading.enumerate()) <= before


@EACH
def test_settings_that_kafka_python_refuses_are_told_as_they_are(client: Client) -> None:
    with pytest.raises((KafkaConfigurationError, ValueError), match="no_such"), client({"no_such": 1}):
        pass
