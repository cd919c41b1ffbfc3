"""Kafka clients of the tests that leave nothing behind when no broker answers."""

from typing import Any

from kafka import KafkaAdminClient


def admin_client(bootstrap: str, **options: Any) -> KafkaAdminClient:
    """Connect; raises KafkaError when no broker answers within ``bootstrap_timeout_ms``.

    kafka-python starts a thread before it looks for a broker. When it finds none it forgets the thread, which goes on
    trying and keeps a socket for each try. The product has this too; the tests' judges share nothing with it.
    """
    client = KafkaAdminClient.__new__(KafkaAdminClient)
    try:
        client.__init__(bootstrap_servers=bootstrap, **options)
    except BaseException:
        if hasattr(client, "_net"):
            client._closed = False  # set only at the end, and asked by `close`
            client.close()
        raise
    return client
