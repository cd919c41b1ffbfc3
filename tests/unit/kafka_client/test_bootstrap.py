"""Brokers that accept and never answer are left for others: bootstrap, and requests to several brokers."""

import random
import socket
import threading
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, KafkaTimeoutError, UnknownBrokerIdError
from kafka.future import Future

from logpersister.kafka_client import patches
from logpersister.kafka_client.admin import admin_client
from logpersister.kafka_client.brokers import PATIENCE_SECONDS, Brokers


def test_a_silent_bootstrap_address_is_left_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python gives all of its time to the one that it takes first."""
    monkeypatch.setattr(patches, "SECONDS", 0.2)
    monkeypatch.setattr(random, "choice", lambda found: found[0])
    patches.leave_silent()
    with closing(socket.create_server(("127.0.0.1", 0))) as one, closing(socket.create_server(("127.0.0.1", 0))) as two:
        met = {server: threading.Event() for server in (one, two)}

        def accept(server: socket.socket) -> None:
            with server.accept()[0]:
                met[server].set()
                done.wait(10)

        done = threading.Event()
        threads = [threading.Thread(target=accept, args=[server], daemon=True) for server in met]
        for thread in threads:
            thread.start()
        servers = [f"127.0.0.1:{server.getsockname()[1]}" for server in met]
        with pytest.raises(KafkaTimeoutError):
            admin_client({"bootstrap_servers": servers, "bootstrap_timeout_ms": 3000})
        done.set()
        assert all(event.is_set() for event in met.values())


class World:
    """An admin client of kafka-python whose brokers answer, or not; waiting takes no time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.silent: dict[int, Future] = {}
        self.unknown: set[int] = set()
        """Brokers that are in no metadata: to send to them raises at once."""
        self.sent: list[int] = []
        cluster = SimpleNamespace(
            brokers=lambda: [SimpleNamespace(node_id=node) for node in (1, 2, 3)],
            broker_metadata=lambda node: SimpleNamespace(host=f"broker-{node}", port=9092),
        )
        self._manager: Any = SimpleNamespace(
            cluster=cluster,
            send=self._send,
            wait_for=self._wait_for,
            run=self._run,
            least_loaded_node=lambda: 1,
            connection_delay=lambda _: 0,
        )
        client: Any = self
        self.brokers = Brokers(client, lambda: self.now)

    def _send(self, request: Any, node_id: int) -> Future:
        if node_id in self.unknown:
            raise UnknownBrokerIdError(node_id)
        self.sent.append(node_id)
        if node_id in self.silent:
            self.silent[node_id] = Future()
            return self.silent[node_id]
        return Future().success((node_id, request))

    async def _wait_for(self, future: Future, milliseconds: int) -> Any:
        if not future.is_done:
            self.now += milliseconds / 1000
            raise KafkaTimeoutError
        return await future

    def _run(self, ask: Any, *arguments: Any) -> Any:
        running = ask(*arguments)
        try:
            while True:
                running.send(None)
        except StopIteration as ended:
            return ended.value


def test_a_silent_broker_is_waited_for_once_and_asked_in_the_background() -> None:
    world = World()
    brokers = world.brokers
    world.silent[2] = Future()
    asked = [(node, "ends") for node in (1, 2, 3)]
    one, two, three = brokers.ask(asked)
    assert (one, three) == ((1, "ends"), (3, "ends"))
    assert "broker 2 (broker-2:9092) does not answer" in str(two)
    assert (world.now, brokers.missed) == (PATIENCE_SECONDS, {2})
    for _ in range(3):
        assert isinstance(brokers.ask(asked)[1], KafkaTimeoutError)
    assert (world.now, world.sent.count(2)) == (PATIENCE_SECONDS, 1)
    world.silent[2].failure(KafkaConnectionError("timed out"))
    assert isinstance(brokers.ask(asked)[1], KafkaTimeoutError)
    assert (world.now, world.sent.count(2)) == (PATIENCE_SECONDS, 2), "asked again, and not waited for"
    world.silent.pop(2).success("late")
    brokers.missed.clear()
    assert brokers.ask(asked)[1] == (2, "ends")
    assert brokers.missed == set()
