"""Reaching Kafka with a deadline, and with errors that end a command as they should."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from logpersister.aside import in_a_thread
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.group.answers import GroupDescription
from logpersister.group.description import describe
from logpersister.kafka_client import BrokerReport, KafkaCheckError, check_broker, client_config
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets

Result = TypeVar("Result")

PAUSE_SECONDS = 0.3


GRACE_SECONDS = 2.0
"""How much longer than its own deadline a call gets, so that its own, better message comes first."""


class Call(Generic[Result]):
    """A function that runs on a thread of its own; `result` waits for it until the deadline.

    A call that is overdue is left behind: its thread is a daemon and ends with the process.
    """

    def __init__(self, what: str, seconds: float, function: Callable[[], Result]) -> None:
        self._what = what
        self._seconds = seconds
        self._answer = in_a_thread(function, 0.0)

    def result(self) -> Result:
        """Return what the function returned or raise what it raised; `UnreachableError` when it is overdue."""
        wait([self._answer], self._seconds + GRACE_SECONDS)
        if not self._answer.done():
            raise UnreachableError(
                f"{self._what}: no answer within {self._seconds:g} s; check the address and the network, or give "
                "more time with --timeout",
                may_pass=True,
            )
        return self._answer.result()


def reach(resource: LogPersister, secrets: Secrets, seconds: float, *, some_topics: bool = False) -> BrokerReport:
    """Check the brokers, and whether all topics may be read, or only `some_topics`.

    Raises `UnreachableError`; `CommandError` or ManifestError for secrets that cannot be used.
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
    return client_config(resource.spec.kafka, secrets) | limits


def patiently(
    doing: str,
    seconds: float,
    ask: Callable[[], Result],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    where: str = "spec.kafka",
) -> Result:
    """Ask until it works, while Kafka says that it may work soon (it makes its offsets topic on the first question).

    `doing` says in the `UnreachableError` what could not be done: ``the offsets could not be read``; `where` says which
    brokers were asked.
    """
    deadline = clock() + seconds
    while True:
        try:
            return ask()
        except KafkaError as error:
            if not error.retriable or clock() >= deadline:
                raise UnreachableError(f"{where}: {doing} ({error})", may_pass=bool(error.retriable)) from error
        sleep(PAUSE_SECONDS)


NEW: Final = "new"
"""State of a group that nobody has joined yet, and that has committed nothing."""


def describe_group(config: Mapping[str, Any], group_id: str, seconds: float) -> GroupDescription:
    """Ask the group's coordinator. Raises `UnreachableError` when it does not tell."""

    def ask() -> GroupDescription:
        with KafkaAdminClient(**config) as admin:
            found = describe(admin, group_id)
            if found.state != "Dead":
                return found
            # Kafka says "Dead" of a group that it does not know. An operator would look for what has died.
            return _of_another_type(admin, group_id) or replace(found, state=NEW)

    return patiently(f"group {group_id} cannot be described", seconds, ask)


def _of_another_type(admin: KafkaAdminClient, group_id: str) -> GroupDescription | None:
    """Return a group that the classic protocol does not know: of KIP-848, a share group, or one of Kafka Streams."""
    for one in admin.list_groups():
        if one["group_id"] == group_id and one.get("group_type") not in (None, "", "classic"):
            return GroupDescription(one["group_state"], (), f"the protocol of {one['group_type']} groups")
    return None
