"""A client of Kafka's admin API that leaves nothing behind when no broker answers."""

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient
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
    """Let the client look up the coordinator of a group again: kafka-python never does that by itself."""
    client._manager.cluster._coordinators.pop((CoordinatorType.GROUP, group_id), None)  # noqa: SLF001


def refresh_brokers(client: KafkaAdminClient) -> None:
    """Let the client learn the brokers anew; raises KafkaError.

    kafka-python does that by itself every five minutes, and knows no broker meanwhile that was away when it did.
    """
    client._manager.run(client._manager.cluster.refresh_metadata)  # noqa: SLF001


def producer_coordinator(client: KafkaAdminClient, name: str) -> int:
    """Return the broker that keeps the id of the producer with this name (transactional id); raises KafkaError."""
    client._manager.cluster._coordinators.pop((CoordinatorType.TRANSACTION, name), None)  # noqa: SLF001
    found: int = client._manager.run(client._find_coordinator_id, name, CoordinatorType.TRANSACTION)  # noqa: SLF001
    return found
