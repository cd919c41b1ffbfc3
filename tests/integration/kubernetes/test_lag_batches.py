"""Groups that share a client, before a real broker: one that is refused hides none of the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafka.structs import OffsetAndMetadata

from logpersister.kafka_client import client_config
from logpersister.kafka_client.brokers import Brokers
from logpersister.manifest import parse
from logpersister.manifest.secrets import Secrets, variable_name
from logpersister_operator.observe import lag_connection
from logpersister_operator.observe.lag import GroupLag
from logpersister_operator.observe.lag_connection import LagConnection
from logpersister_operator.observed_state import KnownLag, UnknownLag
from tests.stack import KafkaBroker
from tests.stack.topics import create_topic, produce

USER, PASSWORD = "alice", "correct-horse-battery"
TOPIC, OTHER = "clicks", "orders"
CLOSED = "closed"
LOGIN = {variable_name("login", "username"): USER, variable_name("login", "password"): PASSWORD}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker with a group that alice may not see."""
    broker = KafkaBroker(
        tmp_path_factory.mktemp("authorized"),
        listeners=["SASL_PLAINTEXT"],
        users={USER: PASSWORD},
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "allow.everyone.if.no.acl.found": "true",
        },
    )
    try:
        broker.start()
        create_topic(broker.bootstrap, TOPIC)
        create_topic(broker.bootstrap, OTHER, partitions=3)
        produce(broker.bootstrap, TOPIC, [b"one", b"two"])
        with KafkaAdminClient(bootstrap_servers=broker.bootstrap) as admin:
            closed = ResourcePattern(ResourceType.GROUP, CLOSED)
            admin.create_acls([ACL(f"User:{USER}", "*", ACLOperation.DESCRIBE, ACLPermissionType.DENY, closed)])
        for group in ("ours", CLOSED):
            consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=group)
            consumer.assign([TopicPartition(TOPIC, 0)])
            consumer.commit({TopicPartition(TOPIC, 0): OffsetAndMetadata(1, "", -1)})
            consumer.close()
        yield broker
    finally:
        broker.kill()


def lag_of(broker: KafkaBroker, group: str, *topics: str, **kafka: Any) -> GroupLag:
    resource = {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {"name": group},
        "spec": {
            "kafka": {
                "bootstrapServers": broker.address("SASL_PLAINTEXT"),
                "topics": topics,
                "security": {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "secretName": "login"},
                **kafka,
            },
            "storage": {"bucket": "logs"},
        },
    }
    return GroupLag(parse(resource), Secrets(LOGIN))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count requests by their name."""
    found: Counter[str] = Counter()

    ask = Brokers.ask

    def counted(self: Brokers, requests: Sequence[tuple[int | None, Any]]) -> list[Any]:
        found.update(type(request).__name__ for _, request in requests)
        return ask(self, requests)

    monkeypatch.setattr(Brokers, "ask", counted)
    return found


@pytest.mark.parametrize("version", [pytest.param(None, id="today's"), pytest.param((2, 5), id="before 3.0")])
def test_a_group_that_is_refused_and_one_that_is_not_there_hide_none_of_the_others(
    broker: KafkaBroker, sent: Counter[str], monkeypatch: pytest.MonkeyPatch, version: tuple[int, int] | None
) -> None:
    if version is not None:
        monkeypatch.setattr(
            lag_connection, "client_config", lambda *args: client_config(*args) | {"api_version": version}
        )
    groups = [
        lag_of(broker, "ours", TOPIC),
        lag_of(broker, CLOSED, TOPIC),
        lag_of(broker, "new", TOPIC, OTHER, "missing"),
        lag_of(broker, "late", TOPIC, startFrom="latest"),
    ]
    connection = LagConnection()
    try:
        for _ in range(2):
            sent.clear()
            ours, closed, new, late = connection.ask(groups)
            assert isinstance(ours, KnownLag)
            assert ours.summary.records == 1
            assert ours.group is not None
            assert isinstance(closed, UnknownLag)
            assert closed.message.startswith("spec.kafka.groupId: ")
            assert isinstance(new, KnownLag)
            assert (new.summary.records, new.summary.partitions, new.missing_topics) == (2, 4, ("missing",))
            assert isinstance(late, KnownLag)
            assert late.summary.records == 0
        assert sent["OffsetFetchRequest"] == (1 if version is None else 3)
        assert sent["DescribeGroupsRequest"] == 1
        assert not connection.is_impaired
    finally:
        connection.close()


def test_a_broker_that_is_away_is_the_answer_for_all_of_its_groups(
    broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_connection, "ASK_SECONDS", 1.0)
    groups = [
        lag_of(broker, name, topic, bootstrapServers="127.0.0.1:1") for name, topic in (("a", TOPIC), ("b", OTHER))
    ]
    connection = LagConnection()
    for answer in connection.ask(groups):
        assert isinstance(answer, UnknownLag)
        assert "127.0.0.1:1: connection refused" in answer.message
    assert connection.is_impaired
