"""Reaching Kafka with a deadline, and with errors that end a command as they should."""

from typing import Any

from logpersister.cli.context import invalid
from logpersister.cli.deadline import Call
from logpersister.cli.exits import UnreachableError
from logpersister.kafka_client import BrokerReport, KafkaCheckError, check_broker, client_config
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.secrets import Secrets


def reach(resource: LogPersister, secrets: Secrets, seconds: float) -> BrokerReport:
    """Check the brokers. Raises `UnreachableError`, or `CommandError` for secrets that cannot be used."""
    kafka = resource.spec.kafka
    try:
        return Call(
            f"spec.kafka.bootstrapServers: {kafka.bootstrap_servers}",
            seconds,
            lambda: check_broker(kafka, secrets, resource.group_id, seconds=seconds),
        ).result()
    except KafkaCheckError as error:
        raise UnreachableError(str(error)) from error
    except ManifestError as error:
        raise invalid(error) from None


def config(resource: LogPersister, secrets: Secrets, seconds: float) -> dict[str, Any]:
    """Return kafka-python's arguments for clients of a command, which give up after `seconds`."""
    milliseconds = max(1000, int(seconds * 1000))
    limits = {"bootstrap_timeout_ms": milliseconds, "request_timeout_ms": milliseconds}
    try:
        return client_config(resource.spec.kafka, secrets) | limits
    except ManifestError as error:
        raise invalid(error) from None
