"""Reaching Kafka with a deadline, and with errors that end a command as they should."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from kafka.errors import KafkaError

from logpersister.cli.context import invalid
from logpersister.cli.deadline import Call
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.kafka_client import BrokerReport, KafkaCheckError, check_broker, client_config
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.secrets import Secrets

Result = TypeVar("Result")

PAUSE_SECONDS = 0.3


def reach(resource: LogPersister, secrets: Secrets, seconds: float, *, some_topics: bool = False) -> BrokerReport:
    """Check the brokers, and whether all topics may be read, or only `some_topics`.

    Raises `UnreachableError`, or `CommandError` for secrets that cannot be used.
    """
    kafka = resource.spec.kafka
    try:
        return Call(
            f"spec.kafka.bootstrapServers: {kafka.bootstrap_servers}",
            seconds,
            lambda: check_broker(kafka, secrets, resource.group_id, seconds=seconds, some_topics=some_topics),
        ).result()
    except KafkaCheckError as error:
        if error.wrong_secret:
            raise CommandError(str(error), Exit.INVALID) from error
        raise UnreachableError(str(error), may_pass=error.may_pass) from error
    except ManifestError as error:
        raise invalid(error) from None


def config(resource: LogPersister, secrets: Secrets, seconds: float, found: BrokerReport) -> dict[str, Any]:
    """Return kafka-python's arguments for clients of a command, which give up after `seconds`.

    They begin at the bootstrap server that has answered: kafka-python takes any, and stays with one that is frozen.
    """
    milliseconds = max(1000, int(seconds * 1000))
    limits = {
        "bootstrap_servers": [found.address],
        "bootstrap_timeout_ms": milliseconds,
        "request_timeout_ms": milliseconds,
    }
    try:
        return client_config(resource.spec.kafka, secrets) | limits
    except ManifestError as error:
        raise invalid(error) from None


def patiently(
    doing: str,
    seconds: float,
    ask: Callable[[], Result],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """Ask until it works, while Kafka says that it may work soon (it makes its offsets topic on the first question).

    `doing` says in the `UnreachableError` what could not be done: ``the offsets could not be read``.
    """
    deadline = clock() + seconds
    while True:
        try:
            return ask()
        except KafkaError as error:
            if not error.retriable or clock() >= deadline:
                raise UnreachableError(f"spec.kafka: {doing} ({error})", may_pass=bool(error.retriable)) from error
        sleep(PAUSE_SECONDS)
