"""Every way to log in to a real broker, what the check says when it goes wrong, and members behind TLS and logins."""

import base64
import json
import logging
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    NewPartitions,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from logpersister.cli import main
from logpersister.kafka_client import BrokerReport, KafkaCheckError, check_broker, client_config
from logpersister.kafka_client.probe import API_VERSIONS, probe
from logpersister.manifest.blocks.kafka import KafkaSpec, SecuritySpec
from logpersister.manifest.secrets import Secrets
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.secured import KMS_KEY, SecuredMinio
from tests.integration.harness.verification import said_json
from tests.stack import KafkaBroker, MinioServer, strimzi
from tests.stack.identity_provider import identity_provider
from tests.stack.topics import create_topic, produce

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

USER, PASSWORD = "alice", "correct-horse-battery"
TOPIC, HIDDEN, UNREADABLE = "secured", "hidden", "unreadable"
REAUTHENTICATION_MS = 3_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker with all listeners, and topics that alice may not see or not read."""
    broker = KafkaBroker(
        tmp_path_factory.mktemp("secured"),
        listeners=["SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        users={USER: PASSWORD},
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "allow.everyone.if.no.acl.found": "true",
            "connections.max.reauth.ms": str(REAUTHENTICATION_MS),
        },
    )
    try:
        broker.start()
        for name in (TOPIC, HIDDEN, UNREADABLE):
            create_topic(broker.bootstrap, name)
        produce(broker.bootstrap, TOPIC, [b"one", b"two"])
        _deny(broker)
        yield broker
    finally:
        broker.kill()


def _deny(broker: KafkaBroker) -> None:
    deny(broker, USER, ResourceType.TOPIC, HIDDEN, ACLOperation.DESCRIBE)
    deny(broker, USER, ResourceType.TOPIC, UNREADABLE, ACLOperation.READ)
    deny(broker, USER, ResourceType.GROUP, "closed", ACLOperation.DESCRIBE)


def deny(broker: KafkaBroker, user: str, kind: ResourceType, name: str, operation: ACLOperation) -> None:
    """Take a right from a user. Everyone else keeps those that the first ACL of a resource takes away."""
    resource = ResourcePattern(kind, name)
    with KafkaAdminClient(bootstrap_servers=broker.bootstrap) as admin:
        admin.create_acls([ACL(f"User:{user}", "*", operation, ACLPermissionType.DENY, resource)])
        admin.create_acls([ACL("User:*", "*", ACLOperation.ALL, ACLPermissionType.ALLOW, resource)])


def unsigned_token(user: str = USER, seconds: float = 3600) -> str:
    """Return a token of KIP-255's unsecured kind (algorithm ``none``)."""

    def part(content: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    now = time.time()
    return f"{part({'alg': 'none'})}.{part({'sub': user, 'iat': now, 'exp': now + seconds})}."


@pytest.fixture
def secrets(secrets_dir: Path, broker: KafkaBroker) -> Secrets:
    """``tls`` (PEM files), ``login`` (all of it), ``wrong`` (a password that is not right), and those of Strimzi."""
    assert broker.certificates is not None
    broker.certificates.write_secret(secrets_dir, "tls")
    for name, password in (("login", PASSWORD), ("wrong", "wrong-horse")):
        folder = secrets_dir / name
        folder.mkdir()
        (folder / "ca.crt").write_bytes("# Főtanúsítvány\n".encode() + broker.certificates.authority.read_bytes())
        (folder / "username").write_text(USER)
        (folder / "password").write_text(password)
    strimzi.write(secrets_dir, "strimzi-tls", strimzi.tls_user(broker.certificates))
    strimzi.write(secrets_dir, "strimzi-scram", strimzi.scram_user(USER, PASSWORD))
    strimzi.write(secrets_dir, strimzi.CLUSTER_CA, strimzi.cluster_ca(broker.certificates))
    return Secrets()


def security(text: str) -> SecuritySpec:
    """``SASL_SSL PLAIN login`` as protocol, mechanism and Secret, perhaps that of an authority; a dash for none."""
    protocol, mechanism, secret, authority = (None if word == "-" else word for word in [*text.split(), "-"][:4])
    found = {"protocol": protocol, "mechanism": mechanism, "secret_name": secret, "ca_secret_name": authority}
    return SecuritySpec.model_validate(found, by_name=True)


def spec(broker: KafkaBroker, how: str, *topics: str, listener: str | None = None) -> KafkaSpec:
    address = broker.address(listener or how.split(maxsplit=1)[0])
    return KafkaSpec(bootstrap_servers=address, topics=topics or (TOPIC,), security=security(how))


def values(kafka: KafkaSpec, secrets: Secrets) -> list[bytes]:
    """Read the topic with an ordinary consumer, without a group: closing one leaks a connection that is being made."""
    consumer = KafkaConsumer(**client_config(kafka, secrets), group_id=None)
    try:
        partition = TopicPartition(TOPIC, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        found: list[bytes] = []
        deadline = time.monotonic() + 20
        while len(found) < 2 and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500).values():
                found += [record.value for record in records]
        return found
    finally:
        consumer.close()


@pytest.mark.parametrize(
    "how",
    [
        "PLAINTEXT - -",
        "SSL - tls",
        "SASL_PLAINTEXT PLAIN login",
        "SASL_PLAINTEXT SCRAM-SHA-256 login",
        f"SASL_SSL SCRAM-SHA-512 strimzi-scram {strimzi.CLUSTER_CA}",
        f"SSL - strimzi-tls {strimzi.CLUSTER_CA}",
    ],
)
def test_ways_in(broker: KafkaBroker, secrets: Secrets, how: str) -> None:
    kafka = spec(broker, how)
    report = check_broker(kafka, secrets, "readers")
    assert report == BrokerReport(str(kafka.addresses[0]), 1, {TOPIC: 1}, (), ())
    tls = client_config(kafka, secrets).get("ssl_context")
    assert probe(kafka.addresses, tls, 20, greeting=API_VERSIONS) == {}, "a member that knocks needs no login"
    assert values(kafka, secrets) == [b"one", b"two"]


def test_a_stored_token(broker: KafkaBroker, secrets: Secrets, secrets_dir: Path) -> None:
    (secrets_dir / "login" / "token").write_text(unsigned_token())
    (secrets_dir / "login" / "extensions").write_text("logicalCluster=lkc-1,identityPoolId=pool-2")
    kafka = spec(broker, "SASL_SSL OAUTHBEARER login")
    assert check_broker(kafka, secrets, "readers").topics == {TOPIC: 1}
    assert values(kafka, secrets) == [b"one", b"two"]


def test_fetched_tokens_are_renewed_while_connected(broker: KafkaBroker, secrets: Secrets, secrets_dir: Path) -> None:
    with identity_provider() as provider:
        provider.answer, provider.token = {"expires_in": 2}, partial(unsigned_token, seconds=60)
        provider.basic_only = "logs:s"
        for key, value in (("token-url", provider.url), ("client-id", "logs"), ("client-secret", "s")):
            (secrets_dir / "login" / key).write_text(value)
        kafka = spec(broker, "SASL_PLAINTEXT OAUTHBEARER login")
        consumer = KafkaConsumer(TOPIC, **client_config(kafka, secrets), auto_offset_reset="earliest")
        try:
            deadline = time.monotonic() + 30
            started = time.monotonic()
            while time.monotonic() < deadline and not (
                any(when > started + 2 for when in provider.times) and consumer.assignment()
            ):
                consumer.poll(timeout_ms=100)  # the broker asks for a new login after three seconds
            assert any(when > started + 2 for when in provider.times)
            consumer.seek_to_beginning()
            assert consumer.poll(timeout_ms=5000)
        finally:
            consumer.close()


REFUSALS = [
    ("SASL_PLAINTEXT PLAIN wrong", None, "the login was refused ("),
    ("SASL_SSL SCRAM-SHA-512 login", "PLAINTEXT", "the TLS handshake failed"),
    ("SASL_PLAINTEXT PLAIN login", "PLAINTEXT", "the listener offers no login"),
    ("SASL_PLAINTEXT PLAIN login", "SASL_SSL", "set spec.kafka.security.protocol to what this listener speaks"),
    ("SSL - login", "SSL", "whether it requires a client certificate (tls.crt, tls.key)"),
    ("SSL - -", "SASL_SSL", "the broker's certificate is not accepted: "),
    ("SSL - strimzi-tls", "SSL", "ca.crt of the Secret in caSecretName"),
]


@pytest.mark.parametrize(("how", "listener", "expected"), REFUSALS)
def test_refusals(
    broker: KafkaBroker,
    secrets: Secrets,
    caplog: pytest.LogCaptureFixture,
    how: str,
    listener: str | None,
    expected: str,
) -> None:
    kafka = spec(broker, how, listener=listener)
    started = time.monotonic()
    with caplog.at_level(logging.DEBUG), pytest.raises(KafkaCheckError) as caught:
        check_broker(kafka, secrets, "readers", seconds=6)
    assert time.monotonic() - started < 30, "no patience with what is refused"
    message = str(caught.value)
    assert len(caught.value.problems) == 1
    assert caught.value.wrong_secret is expected.startswith("the login was refused"), "decides the exit code"
    assert message.startswith(f"spec.kafka.bootstrapServers: {kafka.bootstrap_servers}: ")
    assert expected in message
    assert not [record for record in caplog.records if record.name.startswith("kafka.")]
    assert PASSWORD not in message + caplog.text
    assert "wrong-horse" not in message + caplog.text


def test_rights_that_are_missing(broker: KafkaBroker, secrets: Secrets) -> None:
    kafka = spec(broker, "SASL_PLAINTEXT PLAIN login", TOPIC, HIDDEN, UNREADABLE)
    with pytest.raises(KafkaCheckError) as caught:
        check_broker(kafka, secrets, "closed")
    assert sorted(str(problem).split(";")[0] for problem in caught.value.problems) == [
        "spec.kafka.groupId: this user may not use the group",
        "spec.kafka.topics: topic hidden: not allowed to describe it",
        "spec.kafka.topics: topic unreadable: not allowed to read it",
    ]
    for topics, group in (((HIDDEN, UNREADABLE), "readers"), ((TOPIC, HIDDEN), "closed")):
        with pytest.raises(KafkaCheckError):
            check_broker(spec(broker, "SASL_PLAINTEXT PLAIN login", *topics), secrets, group, some_topics=True)
    report = check_broker(kafka, secrets, "readers", some_topics=True)
    assert (report.topics, report.missing_topics, len(report.refused)) == ({TOPIC: 1}, (), 2)


@pytest.fixture(scope="module")
def secured_minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredMinio]:
    with SecuredMinio(tmp_path_factory.mktemp("secured-s3")) as server:
        yield server


@pytest.mark.usefixtures("secrets")
def test_a_member(
    broker: KafkaBroker,
    secured_minio: SecuredMinio,
    secrets_dir: Path,
    tmp_path: Path,
    unique: str,
) -> None:
    """Driver and workers, which find the secrets themselves, go all the way by TLS; no secret shows anywhere."""
    create_topic(broker.bootstrap, unique, partitions=2)
    secured_minio.write_secret(secrets_dir, "s3")
    client = secured_minio.client()
    client.create_bucket(Bucket=unique)
    with Scene(tmp_path, broker, client, bucket=unique, endpoint=secured_minio.endpoint, group=unique) as scene:
        scene.workload.write(unique, 100, partitions=[0, 1])
        kafka = {
            "topics": [unique],
            "bootstrapServers": broker.address("SASL_SSL"),
            "clientRack": "a",
            "security": {
                "protocol": "SASL_SSL",
                "mechanism": "SCRAM-SHA-512",
                "secretName": "strimzi-scram",
                "caSecretName": strimzi.CLUSTER_CA,
            },
        }
        storage = {"caSecretName": "s3", "encryption": {"type": "KMS", "keyId": KMS_KEY}}

        member = scene.run_until_current(scene.manifest(kafka=kafka, storage=storage))

        assert {one.encryption for one in scene.assert_stored(unique)} == {"aws:kms"}
        written = [member.log.read_bytes(), *scene.bucket.documents().values()]
        assert len(written) >= 2, "a log, and the snapshot of a revision"
        for secret in (PASSWORD, secured_minio.secret_key):
            assert not any(secret.encode() in text for text in written)
    client.close()


@pytest.mark.usefixtures("s3_secret")
def test_a_password_is_rotated_and_a_topic_hidden_under_a_running_member(
    broker: KafkaBroker,
    minio: MinioServer,
    s3: "S3Client",
    bucket: str,
    secrets_dir: Path,
    tmp_path: Path,
    unique: str,
) -> None:
    """The broker asks for a new login every three seconds, and nobody restarts.

    A topic that may no longer be seen does not stop the others.
    """
    login = secrets_dir / "rotated"
    give_password(broker, unique, "first-password")
    write(login, {"username": unique, "password": "first-password"})
    closing = f"{unique}-closing"
    for name in (unique, closing):
        create_topic(broker.bootstrap, name)
    kafka = {
        "topics": [unique, closing],
        "bootstrapServers": broker.address("SASL_PLAINTEXT"),
        "security": {"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-512", "secretName": "rotated"},
    }
    with Scene(tmp_path, broker, s3, bucket=bucket, endpoint=minio.endpoint, group=unique) as scene:
        member = scene.member(scene.manifest(kafka=kafka))
        scene.workload.write(unique, 10)
        scene.group.wait_current(unique, explain=member.tail)
        pid = member.pid

        give_password(broker, unique, "second-password")
        scene.workload.write(unique, 10)
        member.wait("the login is refused", lambda: "uthentication failed" in member.tail(400))
        write(login, {"username": unique, "password": "second-password"})

        scene.group.wait_current(unique, explain=member.tail)
        member.wait("all is well", lambda: not away(member) and member.ready())
        deny(broker, unique, ResourceType.TOPIC, closing, ACLOperation.DESCRIBE)
        with KafkaAdminClient(bootstrap_servers=broker.bootstrap) as admin:
            admin.create_partitions({unique: NewPartitions(2)})
        scene.workload.write(unique, 10, partitions=[0, 1])
        scene.group.wait_current(unique, explain=member.tail)
        scene.assert_stored(unique)
        assert member.pid == pid
        for secret in ("first-password", "second-password"):
            assert secret not in member.log.read_text()
        member.stop()

        sealed = f"{unique}-sealed"
        create_topic(broker.bootstrap, sealed)
        scene.workload.write(sealed, 10)
        deny(broker, unique, ResourceType.TOPIC, sealed, ACLOperation.READ)
        manifest = scene.manifest(kafka=kafka | {"topics": [unique, closing, sealed]})
        scene.workload.write(unique, 10, partitions=[0, 1])
        ended = scene.member(manifest, None, "--until-current")
        scene.group.wait_current(unique, explain=ended.tail)
        finishing = scene.manifest(
            kafka=kafka | {"topics": [unique, closing, sealed]},
            output={"partitionBy": [{"date": {"granularity": "day"}}]},
            finish={},
        )
        for command, file in (("lag", manifest), ("verify", manifest), ("finish", finishing)):
            said = said_json(command, "-f", str(file), code=3)
            assert sorted(one["topic"] for one in said["errors"]) == [closing, sealed]
            assert unique in {one["topic"] for one in said["topics"]}
        assert main(["try", "-f", str(manifest), "--topic", unique]) == 0
        assert main(["quarantine", "replay", "-f", str(manifest)]) == 0
        assert ended.wait_end() == 3, ended.tail()  # it has patience with what it may not read
        reasons = {one["partition"]: one["reason"] for one in ended.events("partition.not_current")}
        assert reasons == {f"{closing}-0": "unreadable", f"{sealed}-0": "unreadable"}
        scene.assert_stored(unique)


def give_password(broker: KafkaBroker, user: str, password: str) -> None:
    with KafkaAdminClient(bootstrap_servers=broker.bootstrap) as admin:
        admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, ScramMechanism.SCRAM_SHA_512, password)])


def write(secret: Path, values: Mapping[str, str]) -> None:
    secret.mkdir(exist_ok=True)
    for key, value in values.items():
        (secret / key).write_text(value)


def away(member: MemberProcess) -> set[str]:
    return {outage["server"] for outage in member.status().get("outages", ())}
