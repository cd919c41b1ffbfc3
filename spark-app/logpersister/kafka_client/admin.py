"""A client of Kafka's admin API that leaves nothing behind when no broker answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.protocol.metadata import CoordinatorType


def admin_client(config: Mapping[str, Any]) -> KafkaAdminClient:
    """Connect; raises KafkaError when no broker answers within ``bootstrap_timeout_ms``.

    kafka-python starts a thread before it looks for a broker and forgets it when it finds none: the thread would go on
    trying for as long as the process lives.
    """
    client = KafkaAdminClient.__new__(KafkaAdminClient)
    try:
        client.__init__(**config)
    except BaseException:
        if hasattr(client, "_net"):
            client._closed = False  # noqa: SLF001 - set only at the end, and asked by `close`
            client.close()
        raise
    return client


def forget_coordinator(client: KafkaAdminClient, group_id: str) -> None:
    """Let the client ask again who coordinates a group: kafka-python never does that by itself."""
    client._manager.cluster._coordinators.pop((CoordinatorType.GROUP, group_id), None)  # noqa: SLF001


def refresh_brokers(client: KafkaAdminClient) -> None:
    """Let the client learn the brokers anew; raises KafkaError.

    kafka-python does that by itself every five minutes, and knows no broker meanwhile that was away when it did.
    """
    client._manager.run(client._manager.cluster.refresh_metadata)  # noqa: SLF001


def ask_brokers(client: KafkaAdminClient, requests: Sequence[tuple[int | None, Any]]) -> list[Any]:
    """Send all requests at once, each to the broker of an id (None: to any); return the answers in this order.

    The answer of a broker that does not give one is its KafkaError.
    """

    async def send_all() -> list[Any]:
        pending = [_send(client, node, request) for node, request in requests]
        return [await _outcome(one) for one in pending]

    return list(client._manager.run(send_all))  # noqa: SLF001


def _send(client: KafkaAdminClient, node: int | None, request: Any) -> Any:
    try:
        return client._manager.send(request, node_id=node)  # noqa: SLF001
    except KafkaError as error:  # a broker that is not known, or refused the login before
        return error


async def _outcome(pending: Any) -> Any:
    if isinstance(pending, KafkaError):
        return pending
    try:
        return await pending
    except KafkaError as error:
        return error
