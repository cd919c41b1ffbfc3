"""Probes whether an address can be reached: name, connection, TLS."""

import socket
import ssl
import threading
import time
from collections.abc import Sequence

from logpersister.kafka_client.causes import SILENT, Failure, explain_connection
from logpersister.manifest.blocks.kafka import Address

API_VERSIONS = bytes([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 0, 255, 255])
"""A whole ApiVersions request of version 0, without a client id: brokers answer it before any login."""


def probe(
    addresses: Sequence[Address], tls: ssl.SSLContext | None, seconds: float, *, greeting: bytes = b""
) -> dict[Address, Failure]:
    """Try all addresses side by side; return those that failed. Takes at most ``seconds``, even when DNS hangs.

    With a `greeting`, such as `API_VERSIONS`, each must also answer it: the kernel takes connections for a process that
    stands still.
    """
    results: dict[Address, Failure | None] = {}
    deadline = time.monotonic() + seconds

    def try_one(address: Address) -> None:
        results[address] = _probe(address, tls, deadline, greeting)

    # Daemon threads, because nothing can interrupt a name lookup.
    threads = [threading.Thread(target=try_one, args=[address], daemon=True) for address in addresses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    outcomes = {address: results.get(address, SILENT) for address in addresses}
    return {address: failure for address, failure in outcomes.items() if failure is not None}


def _probe(address: Address, tls: ssl.SSLContext | None, deadline: float, greeting: bytes) -> Failure | None:
    try:
        with socket.create_connection((address.host, address.port), timeout=_left(deadline)) as connection:
            connection.settimeout(_left(deadline))
            if tls is None:
                return _greet(connection, deadline, greeting)
            with tls.wrap_socket(connection, server_hostname=address.host) as secured:
                return _greet(secured, deadline, greeting)
    except OSError as error:  # which ssl.SSLError is too
        return explain_connection(error)


def _greet(connection: socket.socket, deadline: float, greeting: bytes) -> Failure | None:
    if not greeting:
        return None
    connection.settimeout(_left(deadline))
    connection.sendall(greeting)
    return None if connection.recv(1) else explain_connection(ConnectionResetError())


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())
