"""Sockets of kafka-python that never came to be connected are closed. Written against kafka-python 3.0.12."""

from typing import Any

from kafka.net.inet import KafkaNetSocket

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
