"""Whether an address can be reached: name, connection, TLS."""

import socket
import ssl
import threading
import time
from collections.abc import Sequence

from logpersister.kafka_client.causes import SILENT, Failure, explain_connection
from logpersister.manifest.kafka import Address


def probe(addresses: Sequence[Address], tls: ssl.SSLContext | None, seconds: float) -> dict[Address, Failure]:
    """Try all addresses side by side; return those that failed. Takes at most ``seconds``, even when DNS hangs."""
    results: dict[Address, Failure | None] = {}
    deadline = time.monotonic() + seconds

    def try_one(address: Address) -> None:
        results[address] = _probe(address, tls, deadline)

    # Daemon threads, because nothing can interrupt a name lookup.
    threads = [threading.Thread(target=try_one, args=[address], daemon=True) for address in addresses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    outcomes = {address: results.get(address, SILENT) for address in addresses}
    return {address: failure for address, failure in outcomes.items() if failure is not None}


def _probe(address: Address, tls: ssl.SSLContext | None, deadline: float) -> Failure | None:
    try:
        with socket.create_connection((address.host, address.port), timeout=_left(deadline)) as connection:
            if tls is not None:
                connection.settimeout(_left(deadline))
                with tls.wrap_socket(connection, server_hostname=address.host):
                    pass
    except OSError as error:  # which ssl.SSLError is too
        return explain_connection(error)
    return None


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())
