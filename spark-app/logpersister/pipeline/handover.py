"""Hands the streams of the interpreter that Spark starts over to the fork server (pipeline/forkserver.py).

Imports nothing but the standard library: that is the point of it.
"""

import json
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

ADDRESS = "LOGPERSISTER_FORK_SERVER"
"""Environment variable with the path of the fork server's socket."""
ANSWER_SECONDS = 10.0
"""Longest wait of each side for the other."""
_STREAMS = (0, 1, 2)
_TAKEN = b"1"


@dataclass(frozen=True)
class Handover:
    """Everything by which one process goes on as another one."""

    connection: socket.socket
    """Connection that ends together with the process which took over."""
    streams: Sequence[int]
    arguments: list[str]
    environment: dict[str, str]

    def take_over(self) -> None:
        for ours, handed in zip(_STREAMS, self.streams, strict=True):
            os.dup2(handed, ours)
            os.close(handed)
        os.environ.clear()
        os.environ.update(self.environment)
        self.connection.sendall(_TAKEN)

    def close(self) -> None:
        """Leave it to another process."""
        for handed in self.streams:
            os.close(handed)
        self.connection.close()


def receive(connection: socket.socket) -> Handover | None:
    """Take what somebody hands over; None when that is nothing, or not all."""
    connection.settimeout(ANSWER_SECONDS)
    streams: list[int] = []
    try:
        _, streams, _, _ = socket.recv_fds(connection, 1, len(_STREAMS))
        with connection.makefile("rb") as sent:
            handed = json.loads(sent.read())
        return Handover(connection, streams, handed["arguments"], handed["environment"])
    except (OSError, ValueError, LookupError, TypeError):
        for stream in streams:
            os.close(stream)
        connection.close()
        return None


def hand_over(arguments: list[str]) -> bool:
    """Let the fork server replace this process, and wait for the end of its fork; return whether one ran."""
    address = os.environ.get(ADDRESS)
    if not address:
        return False
    handed = {"arguments": arguments, "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(address)
            socket.send_fds(connection, [b"\0"], _STREAMS)
            connection.sendall(json.dumps(handed).encode())
            connection.shutdown(socket.SHUT_WR)
            taken = connection.recv(1) == _TAKEN
        except OSError:
            return False
        connection.settimeout(None)
        while taken and connection.recv(1):
            pass
        return taken
