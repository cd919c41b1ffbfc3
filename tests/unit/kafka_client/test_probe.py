"""What is said about an address that cannot be reached."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors

from logpersister.kafka_client import KafkaCheckError, check_broker
from logpersister.kafka_client.causes import SILENT, explain_inquiry, in_words
from logpersister.kafka_client.check import (
    _Answers,
    _authorization_problems,
    _away,
    _broker_problem,
    _wrong_listeners,
)
from logpersister.kafka_client.oauth import TokenError
from logpersister.kafka_client.probe import API_VERSIONS, probe
from logpersister.kafka_client.tls import ssl_context
from logpersister.manifest.blocks.kafka import Address, KafkaSpec, SecuritySpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.errors import StorageError
from tests.stack.ports import free_port
from tests.stack.tls import Certificates

LOOPBACK = "127.0.0.1"
Serve = Callable[[socket.socket], None]


@contextmanager
def server(serve: Serve) -> Iterator[Address]:
    """Accept connections on a free port and give each to ``serve``."""
    listener = socket.create_server((LOOPBACK, 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    serve(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=accept)
    thread.start()
    yield Address(LOOPBACK, listener.getsockname()[1])
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def tls_server(certificates: Certificates, *, wants_client: bool = False) -> Serve:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker)
    if wants_client:
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # where the refusal comes within the handshake
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates.authority)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(1)

    return serve


def trusting(certificates: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificates.authority))


def _ignore(_: object) -> None:
    """Make a function of a lambda whose value says nothing."""


def one_cause(address: Address, tls: ssl.SSLContext | None = None, seconds: float = 5) -> str:
    failures = probe([address], tls, seconds)
    assert list(failures) == [address]
    return f"{failures[address].cause}; {failures[address].remedy}"


def test_what_can_be_reached_is_no_failure(certificates: Certificates) -> None:
    with server(lambda connection: None) as plain, server(tls_server(certificates)) as secure:
        assert probe([plain], None, 5) == {}
        assert probe([secure], trusting(certificates), 5) == {}
    assert probe([], None, 5) == {}


def test_nothing_listens() -> None:
    assert one_cause(Address(LOOPBACK, free_port())).startswith("connection refused: nothing listens there; check the")


def test_an_answer_that_does_not_come(certificates: Certificates) -> None:
    end = threading.Event()
    with server(lambda connection: _ignore(end.wait(10))) as address:
        started = time.monotonic()
        assert one_cause(address, trusting(certificates), seconds=0.2).startswith("no answer within the time")
        assert time.monotonic() - started < 2
        end.set()


def test_a_hanging_name_lookup_does_not_hang_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: end.wait(10) and [])
    try:
        assert one_cause(Address("broker", 9092), seconds=0.1).startswith("no answer within the time")
    finally:
        end.set()


def test_a_certificate_of_another_name(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **named: real(LOOPBACK, *more, **named))
    with server(tls_server(certificates)) as address:
        cause = one_cause(Address("other.example", address.port), trusting(certificates))
    assert "Hostname mismatch" in cause
    assert "verifyHostname: false" in cause


def test_the_next_connection_uses_rotated_certificates(
    certificates: Certificates, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Clients keep the context that they were given; half a Secret leaves all as it was."""
    other = Certificates(tmp_path_factory.mktemp("other"))
    secret = other.write_secret(tmp_path, "k")
    found = Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)})
    tls = ssl_context(SecuritySpec(protocol="SSL", secret_name="k"), found)
    with server(tls_server(certificates, wants_client=True)) as address:
        assert "certificate is not accepted" in one_cause(address, tls)
        (secret / "ca.crt").write_bytes(certificates.authority.read_bytes())
        assert "the broker ended the TLS handshake" in one_cause(address, tls)
        certificates.write_secret(tmp_path, "k")
        assert probe([address], tls, 5) == {}
        (secret / "tls.key").unlink()
        assert probe([address], tls, 5) == {}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            errors.SaslAuthenticationFailedError("who?"),
            "the login was refused (who?); check the credentials in the Secret k",
        ),
        (errors.UnsupportedSaslMechanismError(), "the listener does not offer SCRAM-SHA-512"),
        (errors.IllegalSaslStateError(), "the listener offers no login; set spec.kafka.security.protocol"),
        (TokenError("the identity provider a gave no access_token"), "the identity provider a gave no access_token"),
        (errors.KafkaTimeoutError(), "it accepts the connection but does not answer"),
        (errors.KafkaConnectionError("socket disconnected"), "the broker ended the connection (socket disconnected)"),
        (ValueError("Server sent wrong signature!"), "the broker could not prove that it knows the password"),
        (errors.UnknownError("odd\nthing"), "UnknownError: odd thing; look into the broker's log"),
    ],
)
def test_failures_of_inquiries(error: Exception, expected: str) -> None:
    failure = explain_inquiry(error, SecuritySpec(protocol="SASL_SSL", mechanism="SCRAM-SHA-512", secret_name="k"))
    assert f"{failure.cause}; {failure.remedy}".startswith(expected)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errors.NodeNotReadyError("No node_id provided"), "no broker is connected yet"),
        (errors.KafkaConnectionError("111 ECONNREFUSED"), "the connection to a broker broke, or none came about"),
        (errors.KafkaTimeoutError("after 10 s"), "no broker has answered within the time (after 10 s)"),
        (errors.NotCoordinatorError(), "the broker answers NOT_COORDINATOR"),
        (StorageError("unreachable", "bucket logs:\n gone"), "StorageError: bucket logs: gone"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_a_running_member_tells_errors_in_words(error: Exception, words: str) -> None:
    assert in_words(error).startswith(words)
    assert in_words(error) != repr(error)


def test_all_addresses_are_named() -> None:
    first, second = free_port(), free_port()
    kafka = KafkaSpec(bootstrap_servers=f"{LOOPBACK}:{first},{LOOPBACK}:{second}", topics=("t",))
    with pytest.raises(KafkaCheckError) as caught:
        check_broker(kafka, Secrets({}), "group", seconds=3)
    assert str(caught.value).splitlines() == [
        f"spec.kafka.bootstrapServers: {LOOPBACK}:{port}: connection refused: nothing listens there; "
        "check the port, and that the broker runs"
        for port in (first, second)
    ]


def answers(**metadata: Any) -> _Answers:
    return _Answers(SimpleNamespace(**{"brokers": [], "topics": []} | metadata), metadata.pop("coordinator", 0))


def topic(name: str, *, error: int = 0, operations: set[int] | None = None) -> SimpleNamespace:
    return SimpleNamespace(name=name, error_code=error, authorized_operations=operations, partitions=[])


def test_an_advertised_address_that_cannot_be_reached() -> None:
    bootstrap = Address("broker-1", 9092)
    brokers = [
        SimpleNamespace(host="broker-1", port=9092, node_id=1),
        SimpleNamespace(host=LOOPBACK, port=1, node_id=2),
    ]
    found = _away(answers(brokers=brokers), bootstrap, None, time.monotonic() + 2)
    (alone,) = _wrong_listeners(found, bootstrap)
    assert "broker-1:9092 answers, but broker 2 advertises 127.0.0.1:1: connection refused" in str(alone)
    assert "; correct advertised.listeners" in str(alone)
    (among_others,) = (_broker_problem(*one) for one in found)
    assert "; start the broker" in str(among_others), "what died is more likely than what is set wrong"


def test_topics_that_may_not_be_read() -> None:
    kafka = KafkaSpec(bootstrap_servers="a:1", topics=("hidden", "seen", "read", "old"))
    topics = [
        topic("hidden", error=29),
        topic("seen", operations={8}),
        topic("read", operations={3, 8}),
        topic("old", operations=None),  # brokers before 2.3 do not say
    ]
    found = [str(problem) for problem in _authorization_problems(answers(topics=topics), kafka).values()]
    assert [line.split(";")[0] for line in found] == [
        "spec.kafka.topics: topic hidden: not allowed to describe it",
        "spec.kafka.topics: topic seen: not allowed to read it",
    ]


def test_a_group_that_may_not_be_used() -> None:
    kafka = KafkaSpec(bootstrap_servers="a:1", topic_pattern="^web")
    found = _authorization_problems(_Answers(SimpleNamespace(topics=[topic("other", error=29)]), 30), kafka)
    assert [problem.path for problem in found.values()] == ["spec.kafka.groupId"]


def test_a_broker_that_stands_still_takes_connections_and_does_not_greet() -> None:
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        address = Address("127.0.0.1", frozen.getsockname()[1])
        assert probe([address], None, 0.2) == {}
        assert probe([address], None, 0.2, greeting=API_VERSIONS) == {address: SILENT}
