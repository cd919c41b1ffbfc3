"""A cluster to send requests to. Touches the inside of kafka-python, as `transport` does: hence its exact pin.

The library keeps connections, TLS, SASL and the brokers' addresses; its event loop runs on a thread of its own.
Fetch responses are not parsed by it, which would copy every fetched byte several times, but by `response.parse`,
which returns views of what was received.
"""

import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from kafka import errors as kafka_errors
from kafka.net.selector import NetworkSelector
from kafka.protocol.consumer import FetchRequest, FetchResponse, IsolationLevel, ListOffsetsRequest, OffsetSpec
from kafka.protocol.metadata import MetadataRequest

from logpersister.pipeline.reader import response
from logpersister.pipeline.reader.errors import UNKNOWN_TOPIC_OR_PARTITION
from logpersister.pipeline.reader.messages import (
    ClusterError,
    FetchAnswer,
    FetchCall,
    FetchPart,
    Location,
    LogOffsets,
    Topology,
)
from logpersister.pipeline.reader.settings import ReaderSettings
from logpersister.pipeline.reader.transport import UNAUTHORIZED, ConnectionManager
from logpersister.ranges import Offset, TopicPartition

T = TypeVar("T")

_REBOOTSTRAP_TIMEOUT_MS = 10_000
_CLOSE_TIMEOUT_MS = 5_000
_GRACE = 5.0
"""Seconds after which the thread of the connections is taken for dead, when it should have answered."""


class KafkaCluster:
    """A connected cluster. All methods return at once; futures fail with `ClusterError` only."""

    def __init__(self, client_config: Mapping[str, Any], settings: ReaderSettings) -> None:
        """Connect to one of the bootstrap servers, within ``settings.connect_timeout``; raises `ClusterError`."""
        config = dict(client_config) | {"receive_message_max_bytes": settings.max_response_bytes}
        # Steps of the loop may take long when the consumer's thread holds the interpreter: not worth warnings.
        self._net = NetworkSelector(**config | {"slow_task_threshold_secs": 0})
        self._manager = ConnectionManager(self._net, **config)
        self._manager.cluster.config["allow_auto_create_topics"] = False
        self._process = os.getpid()
        self._lost = False
        self._net.start()
        try:
            self._bootstrap(settings.connect_timeout)
        except ClusterError:
            self.close()
            raise

    def locate(self, topics: Collection[str]) -> Future[Topology]:
        """Ask for the leaders of all partitions of ``topics``."""
        return self._submit(lambda: self._locate(sorted(topics)))

    def fetch(self, call: FetchCall) -> Future[FetchAnswer]:
        return self._submit(lambda: self._fetch(call))

    def log_offsets(self, partition: TopicPartition, location: Location) -> Future[LogOffsets]:
        """Ask the leader which offsets it has."""
        return self._submit(lambda: self._log_offsets(partition, location))

    def close(self) -> None:
        """Close all connections and end the thread. Requests under way fail."""
        if os.getpid() != self._process:
            return  # a fork: thread and connections are the parent's
        with contextlib.suppress(Exception):
            self._net.call_soon_threadsafe(self._manager.close)
        self._net.stop(timeout_ms=_CLOSE_TIMEOUT_MS)
        with contextlib.suppress(Exception):
            self._net.close()

    def _bootstrap(self, seconds: float) -> None:
        connected = self._submit(lambda: self._manager.bootstrap_async(seconds * 1000))
        try:
            connected.result(seconds + _GRACE)
        except TimeoutError:
            raise ClusterError("timed-out", f"no connection within {seconds:g} s") from None
        except ClusterError as error:
            cause = self._manager.last_failure
            if error.unauthorized or cause is None:
                raise
            raise ClusterError(error.reason, f"{error}; the last attempt: {cause}") from error

    def _submit(self, coroutine: Callable[[], Awaitable[T]]) -> Future[T]:
        answer: Future[T] = Future()

        def failed(error: Exception) -> None:
            answer.set_exception(_cluster_error(error))

        try:
            sent = self._manager.call_soon(coroutine)
        except Exception as error:
            failed(error)
        else:
            sent.add_callback(answer.set_result)
            sent.add_errback(failed)
        return answer

    async def _locate(self, topics: list[str]) -> Topology:
        try:
            if self._lost:  # perhaps all known brokers are gone: begin again at the bootstrap servers (KIP-899)
                await self._manager.bootstrap_async(timeout_ms=_REBOOTSTRAP_TIMEOUT_MS)
            request = MetadataRequest(
                topics=[MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics],
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False,
                include_topic_authorized_operations=False,
            )
            metadata = await self._manager.send(request)
            self._lost = not metadata.brokers
        except Exception:
            self._lost = True
            raise
        self._manager.cluster.update_metadata(metadata)  # the addresses of brokers
        return _topology(metadata, time.monotonic())

    async def _fetch(self, call: FetchCall) -> FetchAnswer:
        answer = await self._manager.send(_fetch_request(call), call.node)
        if isinstance(answer, Exception):
            raise answer
        found: FetchAnswer = answer.parsed
        return found

    async def _log_offsets(self, partition: TopicPartition, location: Location) -> LogOffsets:
        start = await self._offset(partition, location, OffsetSpec.EARLIEST)
        end = await self._offset(partition, location, OffsetSpec.LATEST)
        try:
            local = await self._offset(partition, location, OffsetSpec.EARLIEST_LOCAL, min_version=8)
        except (kafka_errors.IncompatibleBrokerVersion, kafka_errors.UnsupportedVersionError):
            local = start  # brokers without tiered storage
        return LogOffsets(start, end, max(local, start))

    async def _offset(
        self, partition: TopicPartition, location: Location, spec: OffsetSpec, min_version: int = 1
    ) -> Offset:
        topic = ListOffsetsRequest.ListOffsetsTopic
        asked = topic.ListOffsetsPartition(
            partition_index=partition.partition, current_leader_epoch=location.leader_epoch, timestamp=int(spec)
        )
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            topics=[topic(name=partition.topic, partitions=[asked])],
            min_version=min_version,
        )
        answer = await self._manager.send(request, location.leader)
        found = answer.topics[0].partitions[0]
        if found.error_code:
            raise kafka_errors.for_code(found.error_code)(f"offsets of {partition}")
        return int(found.offset)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What the library takes for a response; it reads ``throttle_time_ms`` and then is silent for that time."""

    parsed: FetchAnswer

    @property
    def throttle_time_ms(self) -> int:
        return int(self.parsed.throttle * 1000)

    def __repr__(self) -> str:
        return f"<fetch response of {self.parsed.size} bytes>"


@dataclass(frozen=True, slots=True)
class _Expected:
    """Stands for a request header until the response is there: says how to parse that."""

    header: Any
    topics: Mapping[bytes, str]

    @property
    def correlation_id(self) -> int:
        return int(self.header.correlation_id)

    @property
    def api_key(self) -> int:
        return int(self.header.request_api_key)

    @property
    def api_version(self) -> int:
        return int(self.header.request_api_version)

    def get_response_class(self) -> "_Expected":
        return self

    def parse_header(self, frame: Any) -> Any:
        return FetchResponse[self.api_version].parse_header(frame)

    def decode(self, frame: Any) -> "_Parsed | response.MalformedResponseError":
        try:
            return _Parsed(response.parse(memoryview(frame)[frame.tell() :], self.api_version, self.topics))
        except response.MalformedResponseError as error:
            return error  # raised, it would make the library log the whole response


class _FetchRequest(FetchRequest, init=False):  # type: ignore[misc, call-arg]
    """A FetchRequest whose response is parsed by `response.parse`."""

    @property
    def header(self) -> Any:
        topics = {topic.topic_id.bytes: topic.topic for topic in self.topics if topic.topic_id is not None}
        return _Expected(self._header, topics)


def _fetch_request(call: FetchCall) -> _FetchRequest:
    by_topic: dict[tuple[str, UUID | None], list[FetchPart]] = {}
    for part in call.parts:
        by_topic.setdefault((part.partition.topic, part.topic_id), []).append(part)
    topic_type = FetchRequest.FetchTopic
    topics = [
        topic_type(
            topic=topic,
            topic_id=topic_id,
            partitions=[
                topic_type.FetchPartition(
                    partition=part.partition.partition,
                    current_leader_epoch=part.leader_epoch,
                    fetch_offset=part.offset,
                    last_fetched_epoch=part.last_epoch,
                    log_start_offset=-1,
                    partition_max_bytes=part.max_bytes,
                )
                for part in parts
            ],
        )
        for (topic, topic_id), parts in by_topic.items()
    ]
    by_id = all(topic_id is not None for _, topic_id in by_topic)
    return _FetchRequest(
        max_wait_ms=int(call.max_wait * 1000),
        min_bytes=1,
        max_bytes=call.max_bytes,
        isolation_level=IsolationLevel.READ_COMMITTED if call.read_committed else IsolationLevel.READ_UNCOMMITTED,
        session_id=0,
        session_epoch=-1,
        topics=topics,
        forgotten_topics_data=[],
        rack_id=call.rack,
        min_version=response.LOWEST_VERSION,
        max_version=response.HIGHEST_VERSION if by_id else response.HIGHEST_VERSION_BY_NAME,
    )


def _topology(metadata: Any, now: float) -> Topology:
    locations: dict[TopicPartition, Location] = {}
    errors: dict[str, int] = {}
    for topic in metadata.topics:
        if topic.error_code:
            errors[topic.name] = topic.error_code
            continue
        topic_id = topic.topic_id if topic.topic_id is not None and topic.topic_id.int else None
        # Older brokers may give an epoch that lags behind (KAFKA-9212), which they would then refuse.
        epoch_reliable = metadata.API_VERSION >= 9
        for found in topic.partitions:
            locations[TopicPartition(topic.name, found.partition_index)] = Location(
                leader=found.leader_id if found.leader_id >= 0 else None,
                leader_epoch=found.leader_epoch if epoch_reliable else -1,
                topic_id=topic_id,
                replicas=frozenset(found.replica_nodes),
                error=found.error_code,
            )
    return Topology(locations, errors, now)


def _cluster_error(error: Exception) -> ClusterError:
    if isinstance(error, ClusterError):
        return error
    reason = {
        kafka_errors.RequestTimedOutError: "timed-out",
        kafka_errors.KafkaTimeoutError: "timed-out",
        kafka_errors.KafkaConnectionError: "disconnected",
        kafka_errors.NodeNotReadyError: "not-ready",
        kafka_errors.UnknownBrokerIdError: "unknown-broker",
        response.MalformedResponseError: "malformed-response",
    }.get(type(error), type(error).__name__)
    message = f"{type(error).__name__}: {error}"
    unauthorized = isinstance(error, UNAUTHORIZED)
    unknown = getattr(error, "errno", None) == UNKNOWN_TOPIC_OR_PARTITION
    return ClusterError("unknown-topic-or-partition" if unknown else reason, message, unauthorized=unauthorized)
