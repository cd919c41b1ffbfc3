"""Free TCP ports on loopback, and its addresses."""

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
LOOPBACK_6 = "::1"
_FIRST = 10_000
_DEFAULT_EPHEMERAL = 32_768
_TRIES = 200


def free_port() -> int:
    """Return a port that nobody listens on.

    It lies below the kernel's ephemeral range: a server that is killed and comes back on its port must not find it
    taken by a client's outgoing connection.
    """
    below = _first_ephemeral()
    for _ in range(_TRIES):
        port = random.randrange(_FIRST, below) if below > _FIRST else 0
        found = _bind(port)
        if found is not None:
            return found
    raise OSError(f"no free port on {LOOPBACK} between {_FIRST} and {below} in {_TRIES} tries")


def in_url(address: str) -> str:
    """Return an address as URLs have it."""
    return f"[{address}]" if ":" in address else address


def is_free(port: int) -> bool:
    """Whether a server could listen on ``port`` now."""
    return _bind(port) is not None


def _bind(port: int) -> int | None:
    with socket.socket() as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a closed server's TIME_WAIT is no obstacle
        try:
            candidate.bind((LOOPBACK, port))
        except OSError:
            return None
        bound: int = candidate.getsockname()[1]
        return bound


def _first_ephemeral() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        return _DEFAULT_EPHEMERAL
