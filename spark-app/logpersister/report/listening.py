"""Listening on every interface, by either family: clusters have IPv4, IPv6 or both."""

import socket
from typing import Final

ANY_INTERFACE: Final = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104 - what it is for
"""A kernel without IPv6 has ``0.0.0.0`` only."""


def family_of(host: str) -> socket.AddressFamily:
    """Return the family of a socket that is to be bound to ``host``, an address or a name."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def take_both_families(listener: socket.socket) -> None:
    """Let a socket that will be bound to ``::`` take IPv4, too, whatever the machine's default is."""
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
