"""What has arrived at a server that does not read it: how a test knows that a question waits at a frozen one."""

import socket
import struct
from pathlib import Path

import psutil

_TABLES = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]
"""Java's sockets are of the second one, also when they speak IPv4."""


def unread_bytes(port: int, client: int) -> int:
    """Return the bytes that the process ``client`` has sent to the server on ``port`` and that nobody has read yet."""
    theirs = {tuple(one.laddr) for one in psutil.Process(client).net_connections("tcp4")}
    waiting = 0
    for line in (line for table in _TABLES for line in table.read_text().splitlines()[1:]):
        local, remote, _, queues = line.split()[1:5]
        if _address(local)[1] == port and _address(remote) in theirs:
            waiting += int(queues.partition(":")[2], 16)
    return waiting


def _address(text: str) -> tuple[str, int]:
    """Read an address as the kernel writes it: ``0100007F:2378``; an IPv4 one inside IPv6 ends like that."""
    host, _, port = text.partition(":")
    return socket.inet_ntoa(struct.pack("=I", int(host[-8:], 16))), int(port, 16)
