"""Keyword arguments of kafka-python that consumer, admin client and reader have in common."""

import logging
import socket
from typing import Any

from logpersister.kafka_client import patches
from logpersister.kafka_client.login import login_config
from logpersister.kafka_client.tls import ssl_context
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.secrets import Secrets

CLIENT_ID = "logpersister"
"""How brokers name us in their logs, metrics and quotas."""


def client_config(kafka: KafkaSpec, secrets: Secrets) -> dict[str, Any]:
    """Return what every client of these brokers needs; raise `ManifestError` for secrets that are missing or unusable.

    Secrets are in it only as wrapped values and inside an SSL context: it can be printed, and not be pickled. Rack,
    group and isolation are not in it: not every client takes them.
    """
    _never_log_requests()
    patches.close_failed()
    patches.leave_silent()
    config: dict[str, Any] = {
        "bootstrap_servers": [str(address) for address in kafka.addresses],
        "client_id": CLIENT_ID,
        "security_protocol": kafka.security.protocol,
        # A connection through a NAT or load balancer that has forgotten it must be noticed while nothing is sent.
        "socket_options": [
            (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        ],
        # 30 s by default, which is how long a restarted broker would be left alone.
        "reconnect_backoff_max_ms": 5_000,
    }
    if kafka.security.uses_tls:
        config["ssl_context"] = ssl_context(kafka.security, secrets)
    if kafka.security.uses_sasl:
        config |= login_config(kafka.security, secrets)
    return config


def _never_log_requests() -> None:
    """Keep kafka-python from logging requests: at DEBUG it logs each, with the passwords and tokens of logins."""
    logger = logging.getLogger("kafka")
    if logger.level < logging.INFO:
        logger.setLevel(logging.INFO)
