"""Checks that the brokers can be used as the manifest says, before anything starts.

It goes the way of a client, and stops at the first stage that fails everywhere: reach a bootstrap server (name,
connection, TLS), log in, ask for the topics, find the group's coordinator, reach the brokers under the addresses that
they advertise. Each failure names the address and the cause, which kafka-python's own retries do not.
"""

import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from kafka import errors
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from logpersister.forms.problems import Problem
from logpersister.kafka_client.causes import SILENT, Failure, explain_inquiry
from logpersister.kafka_client.config import client_config
from logpersister.kafka_client.probe import API_VERSIONS, probe
from logpersister.manifest.blocks.kafka import Address, KafkaSpec
from logpersister.manifest.secrets import Secrets
from logpersister.ranges import TopicPartition

_SERVERS = "spec.kafka.bootstrapServers"
_READ = 3
"""The bit of READ in authorized operations (AclOperation of Kafka)."""
_UNKNOWN_TOPIC = errors.UnknownTopicOrPartitionError.errno
_MOST_PROBED_BROKERS = 50
_GROUP = ""
"""Stands beside names of topics for the group."""


class KafkaCheckError(Exception):
    """The brokers cannot be used as the manifest says; one line a problem."""

    def __init__(self, problems: Sequence[Problem], *, may_pass: bool = False, wrong_secret: bool = False) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)
        self.may_pass = may_pass
        """Whether to wait may be enough: a server is away, and no setting is known to be wrong."""
        self.wrong_secret = wrong_secret
        """Whether it is what the Secret holds that is wrong."""


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """What was found, when nothing is wrong."""

    address: str
    brokers: int
    topics: dict[str, int]
    """Topics that the manifest selects, with their partitions."""
    missing_topics: tuple[str, ...]
    """Topics that the manifest names and that do not exist (yet)."""
    unreachable: tuple[Problem, ...]
    """Bootstrap servers and brokers that failed while others answered: worth a warning."""
    similar_topics: tuple[str, ...] = ()
    """Topics whose names are close to those of missing ones."""
    leaderless: tuple[TopicPartition, ...] = ()
    """Partitions of these topics that nobody can read or write now."""
    refused: Mapping[str, Problem] = field(default_factory=dict)
    """Topics that this user may not read, while it may read others."""


def check_broker(
    kafka: KafkaSpec, secrets: Secrets, group_id: str, *, seconds: float = 15.0, some_topics: bool = False
) -> BrokerReport:
    """Raise `KafkaCheckError`, or `ManifestError` for unusable secrets; return what was found otherwise.

    Takes at most about ``seconds``. Creates nothing on the brokers, joins no group.

    Args:
        some_topics: topics that may not be read are no error while others may.
    """
    deadline = time.monotonic() + seconds
    config = client_config(kafka, secrets)
    failures = probe(kafka.addresses, config.get("ssl_context"), seconds / 3)
    candidates = [address for address in kafka.addresses if address not in failures]
    silent = _silent(candidates, config.get("ssl_context"), seconds / 3)
    for address in sorted(candidates, key=lambda one: one in silent):  # a frozen broker would take all the time
        try:
            answers = _inquire(kafka, group_id, address, config, deadline)
        except (errors.KafkaError, OSError, ValueError) as error:
            failures[address] = explain_inquiry(error, kafka.security)
            continue
        refused = _authorization_problems(answers, kafka)
        if some_topics and _may_use_others(answers, kafka, refused):
            answers, refused = replace(answers, refused=refused), {}
        away = _away(answers, address, config.get("ssl_context"), deadline)
        if refused or _none_answers(answers, away):
            # A cluster that starts knows brokers that do not answer yet.
            raise KafkaCheckError([*refused.values(), *_wrong_listeners(away, address)], may_pass=not refused)
        failures |= {other: failure for other, failure in silent.items() if other != address}
        others = [_address_problem(other, failure) for other, failure in failures.items()]
        others += [_broker_problem(*one) for one in away if one[1] not in failures]
        return _report(answers, kafka, address, tuple(others))
    problems = [_address_problem(address, failures[address]) for address in kafka.addresses]
    raise KafkaCheckError(
        problems,
        may_pass=any(failure.may_pass for failure in failures.values()),
        wrong_secret=any(failure.wrong_secret for failure in failures.values()),
    )


def _silent(addresses: Sequence[Address], tls: ssl.SSLContext | None, seconds: float) -> dict[Address, Failure]:
    """Return the addresses that take connections and do not answer; one that is alone is asked at once."""
    if len(addresses) < 2:
        return {}
    failures = probe(addresses, tls, seconds, greeting=API_VERSIONS)
    return {address: failure for address, failure in failures.items() if failure is SILENT}


def _address_problem(address: Address, failure: Failure) -> Problem:
    return Problem(_SERVERS, f"{address}: {failure.cause}", failure.remedy)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the first broker that answers says of the cluster."""

    metadata: Any
    coordinator_error: int
    similar_topics: tuple[str, ...] = ()
    refused: Mapping[str, Problem] = field(default_factory=dict)
    """Topics of these that are left out."""


def _inquire(kafka: KafkaSpec, group_id: str, address: Address, config: dict[str, Any], deadline: float) -> _Answers:
    topics = None
    if kafka.topics is not None:
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in kafka.topics]
    metadata = MetadataRequest(topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=True)
    coordinator = FindCoordinatorRequest(key=group_id, key_type=0, max_version=3)
    with _silence(), _connection(config, address, deadline) as ask:
        found, coordinator_error = ask(metadata), ask(coordinator).error_code
        unknown = [topic.name for topic in found.topics if topic.error_code == _UNKNOWN_TOPIC]
        every = ask(MetadataRequest(topics=None, allow_auto_topic_creation=False)).topics if unknown else ()
        return _Answers(found, coordinator_error, _similar(unknown, [topic.name for topic in every]))


def _similar(unknown: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    close = {match for name in unknown for match in get_close_matches(name, names, n=1, cutoff=0.75)}
    return tuple(sorted(close))


def _report(answers: _Answers, kafka: KafkaSpec, address: Address, unreachable: tuple[Problem, ...]) -> BrokerReport:
    topics = {
        topic.name: len(topic.partitions)
        for topic in answers.metadata.topics
        if topic.error_code == 0 and kafka.selects(topic.name) and topic.name not in answers.refused
    }
    missing = tuple(name for name in kafka.topics or () if name not in topics and name not in answers.refused)
    brokers = len(answers.metadata.brokers)
    leaderless = tuple(
        TopicPartition(topic.name, entry.partition_index)
        for topic in answers.metadata.topics
        if topic.name in topics
        for entry in topic.partitions
        if entry.leader_id < 0
    )
    similar, refused = answers.similar_topics, answers.refused
    return BrokerReport(str(address), brokers, topics, missing, unreachable, similar, leaderless, refused)


def _may_use_others(answers: _Answers, kafka: KafkaSpec, refused: Mapping[str, Problem]) -> bool:
    """Whether this user may use the group, and read a topic."""
    readable = {topic.name for topic in answers.metadata.topics if topic.error_code == 0} - refused.keys()
    return _GROUP not in refused and any(name is not None and kafka.selects(name) for name in readable)


def _authorization_problems(answers: _Answers, kafka: KafkaSpec) -> dict[str, Problem]:
    found: dict[str, Problem] = {}
    refused = errors.TopicAuthorizationFailedError.errno
    for topic in answers.metadata.topics:
        if topic.name is None or not kafka.selects(topic.name):
            continue
        operations = topic.authorized_operations
        unreadable = topic.error_code == 0 and operations and _READ not in operations
        if topic.error_code == refused or unreadable:
            selection = "topicPattern" if kafka.topics is None else "topics"
            right = "DESCRIBE" if topic.error_code == refused else "READ"
            found[topic.name] = Problem(
                f"spec.kafka.{selection}",
                f"topic {topic.name}: not allowed to {right.lower()} it",
                f"grant this user {right} on the topic",
            )
    if answers.coordinator_error == errors.GroupAuthorizationFailedError.errno:
        found[_GROUP] = Problem("spec.kafka.groupId", "this user may not use the group", "grant it READ on the group")
    return found


def _away(
    answers: _Answers, bootstrap: Address, tls: ssl.SSLContext | None, deadline: float
) -> list[tuple[int, Address, Failure]]:
    """Try the addresses that brokers advertise, where clients go after the first one; return those that failed."""
    brokers = {Address(broker.host, broker.port): broker.node_id for broker in answers.metadata.brokers}
    addresses = [address for address in brokers if address != bootstrap][:_MOST_PROBED_BROKERS]
    failed = probe(addresses, tls, max(1.0, deadline - time.monotonic()))
    return [(brokers[address], address, failure) for address, failure in failed.items()]


def _none_answers(answers: _Answers, away: Sequence[tuple[int, Address, Failure]]) -> bool:
    return bool(away) and len(away) == len({(broker.host, broker.port) for broker in answers.metadata.brokers})


def _wrong_listeners(away: Sequence[tuple[int, Address, Failure]], bootstrap: Address) -> Iterator[Problem]:
    for broker, address, failure in away:
        yield Problem(
            _SERVERS,
            f"{bootstrap} answers, but broker {broker} advertises {address}: {failure.cause}",
            f"correct advertised.listeners of the broker, or make that address reachable from here; {failure.remedy}",
        )


def _broker_problem(broker: int, address: Address, failure: Failure) -> Problem:
    return Problem(
        _SERVERS,
        f"broker {broker} cannot be reached at {address}, which it advertises: {failure.cause}",
        "start the broker; if it runs, correct its advertised.listeners, or make that address reachable from here; "
        "partitions that it leads wait until then, all others do not",
    )


class _Connections(KafkaConnectionManager):  # type: ignore[misc]
    """kafka-python's connections, except that a last response is read before the end of the connection is.

    A broker that refuses a login says why and closes at once; kafka-python's transport throws away what it received
    together with the end, and with it the reason.
    """

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        transport = await super()._build_transport(node, timeout_at=timeout_at)
        receive = transport._sock_recv  # noqa: SLF001

        def receive_before_end() -> tuple[bytes, Exception | None]:
            received, error = receive()
            return received, None if received else error  # the next call finds the end again

        transport._sock_recv = receive_before_end  # noqa: SLF001
        return transport


@contextmanager
def _connection(config: dict[str, Any], address: Address, deadline: float) -> Iterator[Callable[[Any], Any]]:
    """Connect to one broker and log in; yield a function that sends a request and returns the response.

    A thread of kafka-python drives it. Its errors come through: `KafkaError`, `OSError`, `ValueError` of SCRAM.
    """
    one = config | {"bootstrap_servers": [str(address)]}
    network = NetworkSelector(**one)
    manager = _Connections(network, **one)

    def left() -> float:
        return max(1.0, (deadline - time.monotonic()) * 1000)

    async def ask(request: Any) -> Any:
        connection = manager.get_connection(
            "bootstrap-0", timeout_ms=left(), pop_on_close=False, refresh_metadata_on_err=False
        )
        await manager.wait_for(connection.init_future, left())
        return await manager.wait_for(connection.send_request(request), left())

    network.start()
    try:
        yield lambda request: manager.run(ask, request)
    finally:
        try:
            manager.run(manager.close)  # in the thread that may be reading from the connection
        finally:
            network.close()


@contextmanager
def _silence() -> Iterator[None]:
    """Let kafka-python log nothing meanwhile: what it would say once per attempt, the check says once."""
    logger = logging.getLogger("kafka")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
