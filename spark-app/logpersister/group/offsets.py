"""Where the offsets are: log start, end, by time, committed; and the ids of topics. Read through Kafka's admin API.

Committed offsets are read here for reports only (lag, verify, the operator, shadows): an admin client may ask a broker
that is no longer the group's coordinator. What members do rests on their register (group/register.py).

One topic that cannot be asked (deleted, without a leader, not authorised) never hides the others: its partitions are
missing from the answer, with the reason beside it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

import kafka.errors
import structlog
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from logpersister.group.answers import Answer, GroupDescription, Registered, TopicDescription
from logpersister.group.description import describe
from logpersister.kafka_client.admin import admin_client, forget_coordinator, refresh_brokers
from logpersister.plan.intents import UnknownMetadataError, parse
from logpersister.ranges import Offset, TopicPartition, topic_id_text

log = structlog.get_logger(__name__)

Value = TypeVar("Value")

ASK_SECONDS = 10.0


class LogReader:
    """Asks the cluster about topics and their logs; blocking, with deadlines; for one thread at a time."""

    def __init__(self, client_config: Mapping[str, Any], *, read_committed: bool) -> None:
        self._isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        self._admin = admin_client(client_config)

    def close(self) -> None:
        self._admin.close()

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return self._offsets(dict.fromkeys(partitions, int(OffsetSpec.EARLIEST)))

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        """Return high watermarks, or last stable offsets when reading committed."""
        return self._offsets(dict.fromkeys(partitions, int(OffsetSpec.LATEST)))

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        """Return offset and timestamp (ms) of the first record not older than the given ms; None: no record is."""
        return self._ask(timestamps, lambda entry: (entry.offset, entry.timestamp) if entry.offset >= 0 else None)

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        """Return the topics that exist."""
        names = sorted(set(topics))
        described: dict[str, TopicDescription] = {}
        for topic in self._admin.describe_topics(names) if names else []:
            if topic.get("error_code", 0) == 0:
                leaders = {p["partition_index"]: p["leader_id"] for p in topic["partitions"]}
                described[topic["name"]] = TopicDescription(_topic_id(topic.get("topic_id")), leaders)
        return described

    def compacted(self, topic: str) -> bool | None:
        """Whether Kafka compacts the topic; None when it does not tell (which needs the right to DescribeConfigs)."""
        asked = ConfigResource(ConfigResourceType.TOPIC, topic, {"cleanup.policy": None})
        found = self._admin.describe_configs([asked], config_filter="all").get("topic", {}).get(topic, {})
        policy = found.get("cleanup.policy", {}).get("value")
        return None if policy is None else "compact" in policy.split(",")

    def topics_matching(self, matches: Callable[[str], bool]) -> list[str]:
        return sorted(topic for topic in self._admin.list_topics() if matches(topic))

    def _offsets(self, specs: Mapping[TopicPartition, int]) -> Answer[Offset]:
        return self._ask(specs, lambda entry: int(entry.offset))

    def _ask(self, specs: Mapping[TopicPartition, int], value: Callable[[Any], Value]) -> Answer[Value]:
        answer: Answer[Value] = Answer()
        if specs:
            self._ask_all(specs, value, answer)
        return answer

    def _ask_all(
        self, specs: Mapping[TopicPartition, int], value: Callable[[Any], Value], answer: Answer[Value]
    ) -> None:
        asked = {_kafka(partition): spec for partition, spec in specs.items()}
        milliseconds = int(ASK_SECONDS * 1000)
        try:
            found = self._of_any_broker(
                lambda: self._admin.list_partition_offsets(
                    asked, isolation_level=self._isolation, timeout_ms=milliseconds
                )
            )
        except Exception as error:
            topics = sorted({partition.topic for partition in specs})
            if len(topics) == 1:
                answer.errors[topics[0]] = error
                return
            for half in (set(topics[: len(topics) // 2]), set(topics[len(topics) // 2 :])):
                self._ask_all({p: spec for p, spec in specs.items() if p.topic in half}, value, answer)
            return
        for partition, entry in found.items():
            answer.values[_ours(partition)] = value(entry)

    def _of_any_broker(self, ask: Callable[[], Value]) -> Value:
        """Ask, once more when the broker to be asked was away at the time when the client learnt its brokers."""
        try:
            return ask()
        except kafka.errors.UnknownBrokerIdError:
            refresh_brokers(self._admin)
            return ask()


class OffsetReader(LogReader):
    """Asks about a group as well."""

    def __init__(self, client_config: Mapping[str, Any], group_id: str, *, read_committed: bool) -> None:
        super().__init__(client_config, read_committed=read_committed)
        self._group_id = group_id

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Registered]:
        """Return the group's committed offsets with their intents; None where there is none. For reports only."""
        asked = [_kafka(partition) for partition in partitions]
        if not asked:
            return {}
        found = self._ask_group(lambda: self._admin.list_group_offsets({self._group_id: asked})[self._group_id])
        result: dict[TopicPartition, Registered] = {}
        for partition, entry in found.items():
            result[_ours(partition)] = registered(entry)
        return result

    def describe_group(self) -> GroupDescription:
        """Return the group's state and members; raises KafkaError."""
        return self._ask_group(lambda: describe(self._admin, self._group_id))

    def _ask_group(self, ask: Callable[[], Value]) -> Value:
        """Ask the coordinator; after an error it is looked for anew, at once when the broker says that it is not."""
        try:
            return self._of_any_broker(ask)
        except kafka.errors.KafkaError as error:
            forget_coordinator(self._admin, self._group_id)
            if not isinstance(error, kafka.errors.NotCoordinatorError):
                raise
            return ask()


def _topic_id(described: object) -> str | None:
    return topic_id_text(UUID(str(described))) if described else None


def registered(entry: Any) -> Registered:
    """Read what the admin client returns for one partition."""
    if entry.offset < 0:
        return None
    try:
        return parse(entry.offset, entry.metadata or "")
    except UnknownMetadataError as error:
        return error


def _kafka(partition: TopicPartition) -> KafkaTopicPartition:
    return KafkaTopicPartition(partition.topic, partition.partition)


def _ours(partition: KafkaTopicPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)
