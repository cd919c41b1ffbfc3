"""Reads offsets (log start, end, by time, committed) and topic ids through Kafka's admin API.

Committed offsets are read here for reports only (lag, verify, the operator, shadows): an admin client may ask a broker
that is no longer the group's coordinator. What members do rests on their register (group/register.py).

One partition that cannot be asked (its topic is deleted or not authorised, it has no leader, its leader is silent)
never hides the others: it is missing from the answer, with the reason beside it.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import kafka.errors
import structlog
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.consumer import IsolationLevel, OffsetSpec
from kafka.protocol.metadata import MetadataRequest

from logpersister.group.answers import Answer, GroupDescription, Registered, TopicDescription
from logpersister.group.description import describe
from logpersister.kafka_client.admin import admin_client, forget_coordinator, refresh_brokers
from logpersister.kafka_client.brokers import Brokers
from logpersister.manifest import LogPersister
from logpersister.plan.intents import UnknownMetadataError, parse
from logpersister.ranges import Offset, TopicPartition, topic_id_text

log = structlog.get_logger(__name__)

Value = TypeVar("Value")

Found = tuple[Offset, int]
"""An offset and the timestamp (ms) of its record."""

LEADER_PAUSES: Final = (0.3, 1.0)
"""Seconds before a partition's leader is looked for and asked again, while brokers elect one."""
LOOK_SECONDS: Final = 1.0
"""Between two looks for the leader of a partition that has none."""
_ALL: Final = -1
"""Stands for the partitions of a topic."""
_MOVED: Final = (
    kafka.errors.LeaderNotAvailableError,
    kafka.errors.NotLeaderForPartitionError,
    kafka.errors.OffsetNotAvailableError,
    kafka.errors.UnknownBrokerIdError,
    kafka.errors.UnknownTopicOrPartitionError,
)
"""Errors of a partition that may have another leader by now, or one that has just begun to lead."""


class LogReader:
    """Asks the cluster about topics and their logs; blocking, with deadlines; for one thread at a time."""

    def __init__(
        self,
        client_config: Mapping[str, Any],
        *,
        read_committed: bool,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._read_committed = read_committed
        self._clock = clock
        self._sleep = sleep
        self._admin = admin_client(client_config)
        self._brokers = Brokers(self._admin)
        self._leaders: dict[TopicPartition, int] = {}
        self._why: dict[TopicPartition, Exception] = {}
        """Why partitions have no leader to ask."""
        self._leaderless: set[TopicPartition] = set()
        """Partitions for which no leader was found: nobody waits for that again."""
        self._looked_at = float("-inf")

    def close(self) -> None:
        self._admin.close()

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return self._positions(partitions, OffsetSpec.EARLIEST, read_committed=self._read_committed)

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        """Return high watermarks, or last stable offsets when reading committed."""
        return self._positions(partitions, OffsetSpec.LATEST, read_committed=self._read_committed)

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[Found | None]:
        """Return offset and timestamp (ms) of the first record not older than the given ms; None: no record is."""
        return self._since(timestamps, read_committed=self._read_committed)

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        """Return the topics that exist, and ask their leaders from now on. Raises KafkaError."""
        names = sorted(set(topics))
        if not names:
            return {}
        asked = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        found = self._brokers.ask_any(lambda: MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        return {topic.name: self._described(topic) for topic in found.topics if not self._refused(topic)}

    def _described(self, topic: Any) -> TopicDescription:
        leaders = {entry.partition_index: entry.leader_id for entry in topic.partitions}
        self._why.pop(TopicPartition(topic.name, _ALL), None)
        for entry in topic.partitions:
            partition = TopicPartition(topic.name, entry.partition_index)
            self._leaders[partition] = entry.leader_id
            if entry.leader_id < 0:
                self._why[partition] = kafka.errors.LeaderNotAvailableError(_no_leader(entry.replica_nodes))
        return TopicDescription(_topic_id(topic.topic_id), leaders)

    def _refused(self, topic: Any) -> bool:
        error = kafka.errors.for_code(topic.error_code)
        if error is kafka.errors.NoError:
            return False
        for partition in [one for one in self._leaders if one.topic == topic.name]:
            del self._leaders[partition]
        self._why[TopicPartition(topic.name, _ALL)] = error(topic.name)
        return True

    def compacted(self, topic: str) -> bool | None:
        """Whether Kafka compacts the topic; None when it does not tell (which needs the right to DescribeConfigs)."""
        asked = ConfigResource(ConfigResourceType.TOPIC, topic, {"cleanup.policy": None})
        found = self._admin.describe_configs([asked], config_filter="all").get("topic", {}).get(topic, {})
        policy = found.get("cleanup.policy", {}).get("value")
        return None if policy is None else "compact" in policy.split(",")

    def topics_matching(self, matches: Callable[[str], bool]) -> list[str]:
        return sorted(topic for topic in self._admin.list_topics() if matches(topic))

    # leaders

    def _positions(
        self, partitions: Iterable[TopicPartition], spec: OffsetSpec, *, read_committed: bool
    ) -> Answer[Offset]:
        found = self._at(dict.fromkeys(partitions, int(spec)), read_committed=read_committed)
        return Answer({partition: offset for partition, (offset, _) in found.values.items()}, found.errors)

    def _since(self, timestamps: Mapping[TopicPartition, int], *, read_committed: bool) -> Answer[Found | None]:
        found = self._at(timestamps, read_committed=read_committed)
        return Answer({p: entry if entry[0] >= 0 else None for p, entry in found.values.items()}, found.errors)

    def _at(self, specs: Mapping[TopicPartition, int], *, read_committed: bool) -> Answer[Found]:
        """Ask the leaders for offset and timestamp; leaders are looked for anew while one is elected."""
        answer = Answer[Found]()
        if not specs:
            return answer
        without = {partition for partition in specs if self._leaders.get(partition, -1) < 0}
        if without - self._leaderless or (without and self._clock() - self._looked_at >= LOOK_SECONDS):
            self._look(without)
        left = set(specs)
        for pause in (*LEADER_PAUSES, None):
            for partition, found in self._ask_leaders({p: specs[p] for p in left}, read_committed=read_committed):
                if isinstance(found, Exception):
                    answer.errors[partition] = found
                else:
                    answer.values[partition] = found
                    answer.errors.pop(partition, None)
            self._leaderless -= answer.values.keys()
            left = {partition for partition, error in answer.errors.items() if isinstance(error, _MOVED)}
            if pause is None or not left - self._leaderless:
                break
            self._sleep(pause)
            self._look(left)
        self._leaderless |= left
        for partition in answer.errors:  # its leader may be away for good, and another one elected
            self._leaders.pop(partition, None)
        return answer

    def _look(self, partitions: Collection[TopicPartition]) -> None:
        """Look for leaders, and learn the address of one that was down when the client learnt its brokers."""
        self._looked_at = self._clock()
        self.describe({partition.topic for partition in partitions})
        leaders = {self._leaders.get(partition, -1) for partition in partitions}
        if not self._brokers.knows(leaders):
            refresh_brokers(self._admin)

    def _ask_leaders(
        self, specs: Mapping[TopicPartition, int], *, read_committed: bool
    ) -> Iterator[tuple[TopicPartition, Found | Exception]]:
        by_leader = defaultdict[int, dict[KafkaTopicPartition, int]](dict)
        for partition, spec in specs.items():
            leader = self._leaders.get(partition, -1)
            if leader < 0:
                yield partition, self._no_leader(partition)
            else:
                by_leader[leader][_kafka(partition)] = spec
        isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        requests: Sequence[tuple[int, Any]] = [
            (node, KafkaAdminClient._list_partition_offsets_request(asked, isolation.value))  # noqa: SLF001
            for node, asked in by_leader.items()
        ]
        for asked, answer in zip(by_leader.values(), self._brokers.ask(requests), strict=True):
            if isinstance(answer, Exception):
                yield from ((_ours(partition), answer) for partition in asked)
                continue
            for topic in answer.topics:
                for entry in topic.partitions:
                    yield TopicPartition(topic.name, entry.partition_index), _position(entry)

    def _no_leader(self, partition: TopicPartition) -> Exception:
        unknown = kafka.errors.UnknownTopicOrPartitionError(str(partition))
        return self._why.get(TopicPartition(partition.topic, _ALL)) or self._why.get(partition) or unknown

    # the group's coordinator

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

    @classmethod
    def of(cls, resource: LogPersister, client_config: Mapping[str, Any]) -> Self:
        """Return the reader for the group of a manifest."""
        return cls(client_config, resource.group_id, read_committed=resource.spec.kafka.reads_committed)

    def committed(
        self, partitions: Iterable[TopicPartition], group_id: str | None = None
    ) -> dict[TopicPartition, Registered]:
        """Return committed offsets with their intents; None where there is none. For reports only.

        Those of the group itself, or of another one.
        """
        group = group_id or self._group_id
        asked = [_kafka(partition) for partition in partitions]
        if not asked:
            return {}
        found = self._ask_group(group, lambda: self._admin.list_group_offsets({group: asked})[group])
        result: dict[TopicPartition, Registered] = {}
        for partition, entry in found.items():
            result[_ours(partition)] = registered(entry)
        return result

    def describe_group(self) -> GroupDescription:
        """Return the group's state and members; raises KafkaError."""
        return self._ask_group(self._group_id, lambda: describe(self._admin, self._group_id))

    def _ask_group(self, group_id: str, ask: Callable[[], Value]) -> Value:
        """Ask the coordinator; after an error it is looked for anew, at once when the broker says that it is not."""
        try:
            return self._of_any_broker(ask)
        except kafka.errors.KafkaError as error:
            forget_coordinator(self._admin, group_id)
            if not isinstance(error, kafka.errors.NotCoordinatorError):
                raise
            return ask()


def _no_leader(replicas: Sequence[int]) -> str:
    brokers = ", ".join(map(str, sorted(replicas)))
    return (
        f"it has no leader: start broker {brokers}"
        if len(replicas) == 1
        else (f"it has no leader: its replicas are on brokers {brokers}")
    )


def _position(entry: Any) -> Found | Exception:
    error = kafka.errors.for_code(entry.error_code)
    if error is kafka.errors.NoError:
        return int(entry.offset), int(entry.timestamp)
    return error()  # type: ignore[no-any-return]


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
