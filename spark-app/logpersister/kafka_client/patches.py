"""What this program changes in kafka-python. Written against kafka-python 3.0.12.

A bootstrap address that is silent is left for the next one: kafka-python chooses one by chance, also one that has just
failed, and gives all of its time to a server that takes the connection and never answers. Sockets that never came to be
connected are closed.
"""

from typing import Any, Final

from kafka.cluster import ClusterMetadata
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager

SECONDS: Final = 4.0
"""Seconds for connection, TLS and login at one address; doubled after each failure, for servers that are only slow."""
_MOST: Final = 30.0

_get_connection = KafkaConnectionManager.get_connection
_bootstrap_brokers = ClusterMetadata.bootstrap_brokers


def leave_silent() -> None:
    """Let every client of this process go on to the address that has failed least."""
    KafkaConnectionManager.get_connection = _get_connection_in_time
    ClusterMetadata.bootstrap_brokers = _least_failed


def _get_connection_in_time(
    self: KafkaConnectionManager, node_id: Any, timeout_ms: float | None = None, **named: Any
) -> Any:
    if timeout_ms is not None and named.get("reset_backoff_on_connect") is False:  # only a bootstrap asks like this
        limit = min(_MOST, SECONDS * 2 ** _failures(self, node_id)) * 1000
        timeout_ms = min(timeout_ms, limit)
    return _get_connection(self, node_id, timeout_ms=timeout_ms, **named)


def _least_failed(self: ClusterMetadata) -> list[Any]:
    found: list[Any] = _bootstrap_brokers(self)
    if self._manager is None:
        return found
    failures = [_failures(self._manager, broker.node_id) for broker in found]
    return [broker for broker, count in zip(found, failures, strict=True) if count == min(failures)]


def _failures(manager: KafkaConnectionManager, node_id: Any) -> int:
    return int(manager._backoff.get(node_id, (0,))[0])  # noqa: SLF001


_connect = KafkaNetSocket.sock_connect


def close_failed() -> None:
    """Let every client of this process close the socket of an attempt to connect that has failed.

    kafka-python leaves it to the garbage collector, which does not find all of them, because exceptions that are kept
    hold on to their frames: a member loses some three descriptors a minute while a broker is away, until it has none
    left. What waited for the socket is over by then, so nobody uses its number any more.
    """
    KafkaNetSocket.sock_connect = _connect_or_close


async def _connect_or_close(self: KafkaNetSocket, net: Any, sock: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return await _connect(self, net, sock, *arguments, **named)
    except BaseException:
        sock.close()
        raise
