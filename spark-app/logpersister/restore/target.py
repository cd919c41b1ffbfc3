"""The cluster that gets records: its topics, how far they are, and producing record batches as they are.

kafka-python's own producer encodes record after record; what is here sends batches that are encoded already, by the
same connections. Written against kafka-python 3.0.12.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import pyarrow as pa
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest
from kafka.structs import OffsetAndMetadata

from logpersister.group.offsets import LogReader
from logpersister.kafka_client.admin import admin_client, producer_coordinator
from logpersister.kafka_client.brokers import Brokers
from logpersister.pipeline.reader import KafkaReader, RangeReadError, ReadRequest
from logpersister.pipeline.reader.settings import ReaderSettings
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.restore.execution import Answer
from logpersister.restore.plan import RestoreError, TargetTopic
from logpersister.restore.record_batches import Producer

_TIMESTAMP_TYPE: Final = "message.timestamp.type"
_CLEANUP: Final = "cleanup.policy"
_RETENTION: Final = ("retention.ms", "retention.bytes")
_KEPT: Final = dict.fromkeys(_RETENTION, "-1")
"""Settings of topics that are made: Kafka would delete old records while they are restored."""
_PRODUCE_SECONDS: Final = 30
_VERSIONS: Final = {"min_version": 3, "max_version": 9}
"""Versions of the request that name topics, as kafka-python's producer does; zstd needs 7 (Kafka 2.1)."""
_NO_PREFERENCE: Final = 64 << 10

_TopicData = ProduceRequest.TopicProduceData
_PartitionData = _TopicData.PartitionProduceData
Keyed = tuple[TopicPartition, bytes]


class TargetCluster:
    """`execution.Target` of real brokers; for one thread."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Connect; raises KafkaError when no broker answers."""
        self._admin = admin_client(config)
        self._brokers = Brokers(self._admin)
        self._log = LogReader(config, read_committed=False)
        self._reader = KafkaReader(config, ReaderSettings(read_committed=False, headers=True))
        self._leaders: dict[TopicPartition, int] = {}

    def close(self) -> None:
        self._reader.close()
        self._log.close()
        self._admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def topics(self, names: Iterable[str]) -> dict[str, TargetTopic]:
        """Return those topics that exist. Raises KafkaError."""
        found = {}
        for name, described in self._log.describe(names).items():
            partitions = [TopicPartition(name, number) for number in described.leaders]
            starts, ends = self._log.log_starts(partitions), self._log.ends(partitions)
            for error in (*starts.errors.values(), *ends.errors.values()):
                raise error
            spans = {one: (starts.values[one], ends.values[one]) for one in partitions}
            settings = self._settings(name)
            is_compacted = "compact" in settings.get(_CLEANUP, "")
            retention = _retention(settings)
            found[name] = TargetTopic(len(partitions), settings.get(_TIMESTAMP_TYPE), spans, retention, is_compacted)
        return found

    def _settings(self, topic: str) -> dict[str, str]:
        """Return what settings matter; none of those that this user may not know."""
        names = (_TIMESTAMP_TYPE, _CLEANUP, *_RETENTION)
        asked = ConfigResource(ConfigResourceType.TOPIC, topic, dict.fromkeys(names))
        found = self._admin.describe_configs([asked], config_filter="all").get("topic", {}).get(topic, {})
        values = {name: found.get(name, {}).get("value") for name in names}
        return {name: str(value) for name, value in values.items() if value is not None}

    def make(self, partitions: Mapping[str, int]) -> None:
        """Make topics, with the brokers' settings except that nothing is deleted; another restore may have made them.

        Raises KafkaError, and RestoreError with what brokers have against them.
        """
        if not partitions:
            return
        wanted = {name: {"num_partitions": count, "configs": _KEPT} for name, count in partitions.items()}
        made = self._admin.create_topics(wanted, raise_errors=False)["topics"]
        refused = list(filter(None, map(_refusal, made)))
        if refused:
            raise RestoreError("\n".join(refused))
        self._admin.wait_for_topics(list(partitions))

    def producer(self, name: str) -> Producer:
        """Return the producer of a name: the same for each process that asks, within the days that brokers keep it.

        Its epoch is always the first: no process fences another one, because they all send the same. Raises KafkaError.
        """
        # Brokers know names of producers for the sake of transactions, of which there are none here.
        node = producer_coordinator(self._admin, name)
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000, max_version=4)
        [answer] = self._brokers.ask([(node, request)])
        if isinstance(answer, Exception):
            raise answer
        error = errors.for_code(answer.error_code)
        if error is not errors.NoError:
            raise error(f"no producer id for {name}")
        return Producer(answer.producer_id, 0)

    def spans(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, tuple[Offset, Offset]]:
        self._leaders.clear()
        try:
            # First the ends: a start that is older than its end could hide that records are gone.
            ends, starts = self._log.ends(partitions).values, self._log.log_starts(partitions).values
        except errors.KafkaError:  # no broker answers now
            return {}
        return {one: (starts[one], end) for one, end in ends.items() if one in starts}

    def last_record(self, partition: TopicPartition, end: Offset) -> pa.RecordBatch | None:
        request = ReadRequest(Range(partition, end - 1, end), _NO_PREFERENCE)
        try:
            found = [batch for read in self._reader.read([request]) for batch in read.batches() if batch.num_rows]
        except RangeReadError as error:
            raise errors.KafkaConnectionError(str(error)) from None
        return found[0] if found else None

    def append(self, batches: Mapping[TopicPartition, Sequence[bytes]]) -> Mapping[TopicPartition, Sequence[Answer]]:
        """Send the first batches of all partitions, behind them the second ones, and so on, without waiting between."""
        try:
            self._look(batches)
        except errors.KafkaError as error:  # no broker answers now
            return {partition: [error] * len(found) for partition, found in batches.items()}
        rounds = max(map(len, batches.values()))
        requests: list[tuple[int, list[Keyed]]] = []
        for number in range(rounds):
            by_leader: defaultdict[int, list[Keyed]] = defaultdict(list)
            for partition, found in batches.items():
                if number < len(found):
                    by_leader[self._leaders.get(partition, -1)].append((partition, found[number]))
            requests += by_leader.items()
        answers: dict[TopicPartition, list[Answer]] = {partition: [] for partition in batches}
        known = [(leader, sent) for leader, sent in requests if leader >= 0]
        for leader, sent in requests:
            if leader < 0:
                for partition, _ in sent:
                    answers[partition].append(errors.LeaderNotAvailableError(str(partition)))
        replies = self._brokers.ask([(leader, _request(sent)) for leader, sent in known])
        for (_, sent), reply in zip(known, replies, strict=True):
            for partition, answer in _answers(sent, reply):
                answers[partition].append(answer)
        return answers

    def _look(self, partitions: Iterable[TopicPartition]) -> None:
        unknown = {partition.topic for partition in partitions if self._leaders.get(partition, -1) < 0}
        for name, described in self._log.describe(unknown).items():
            self._leaders |= {TopicPartition(name, number): node for number, node in described.leaders.items()}

    def committed(self, group: str) -> Mapping[TopicPartition, Offset]:
        """Return all committed offsets of a group. Raises KafkaError."""
        return committed(self._admin, group)

    def commit(self, group: str, offsets: Mapping[TopicPartition, Offset]) -> Mapping[TopicPartition, str]:
        """Set committed offsets of a group without members; return why that failed where it did. Raises KafkaError."""
        asked = {
            KafkaTopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()
        }
        found = self._admin.alter_group_offsets(group, asked) if asked else {}
        return {
            TopicPartition(partition.topic, partition.partition): error.__name__
            for partition, error in found.items()
            if error is not errors.NoError
        }


def _retention(settings: Mapping[str, str]) -> str | None:
    if "delete" not in settings.get(_CLEANUP, ""):
        return None
    limits = (f"{name}={settings[name]}" for name in _RETENTION if settings.get(name, "-1") != "-1")
    return " and ".join(limits) or None


def _refusal(made: Mapping[str, Any]) -> str | None:
    error = errors.for_code(made["error_code"])
    if error in (errors.NoError, errors.TopicAlreadyExistsError):
        return None
    reason = made.get("error_message") or error.__name__
    return f"topic {made['name']}: the target does not make it ({reason}); grant CREATE on it, or make it yourself"


def committed(admin: Any, group: str) -> dict[TopicPartition, Offset]:
    """Return all committed offsets of a group. Raises KafkaError."""
    found = admin.list_group_offsets({group: None})[group]
    return {
        TopicPartition(partition.topic, partition.partition): entry.offset
        for partition, entry in found.items()
        if entry.offset >= 0
    }


def _request(sent: Sequence[Keyed]) -> ProduceRequest:
    by_topic: defaultdict[str, list[Any]] = defaultdict(list)
    for partition, data in sent:
        by_topic[partition.topic].append(_PartitionData(index=partition.partition, records=data))
    topics = [_TopicData(name=topic, partition_data=found) for topic, found in by_topic.items()]
    return ProduceRequest(
        transactional_id=None, acks=-1, timeout_ms=_PRODUCE_SECONDS * 1000, topic_data=topics, **_VERSIONS
    )


def _answers(sent: Sequence[Keyed], reply: Any) -> Iterator[tuple[TopicPartition, Answer]]:
    if isinstance(reply, Exception):
        yield from ((partition, reply) for partition, _ in sent)
        return
    for topic in reply.responses:
        for entry in topic.partition_responses:
            error = errors.for_code(entry.error_code)
            answer = entry.base_offset if error is errors.NoError else error(_told(entry))
            yield TopicPartition(topic.name, entry.index), answer


def _told(entry: Any) -> str:
    single = [one.batch_index_error_message for one in entry.record_errors or () if one.batch_index_error_message]
    return "; ".join([*single[:1], *([entry.error_message] if entry.error_message else [])])
