"""One client for all groups of the same brokers and login: their lags are asked in batches."""

import hashlib
import hmac
import json
import secrets as random_bytes
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import structlog
from kafka.errors import KafkaError

from logpersister.group.answers import Answer, GroupDescription, Registered, TopicDescription
from logpersister.group.cluster_reader import ClusterReader
from logpersister.group.observation import observe
from logpersister.kafka_client import client_config
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.secrets import variable_name
from logpersister.ranges import Offset, TopicPartition
from logpersister_operator.observe.lag import ASK_SECONDS, GroupLag
from logpersister_operator.observed_state import KnownLag, UnknownLag

log = structlog.get_logger(__name__)

Value = TypeVar("Value")

CHECK_SECONDS: Final = 15.0
"""How long a batch may look for the reasons of failures."""
_OF_BROKERS: Final = "spec.kafka.bootstrapServers"
_KEY: Final = random_bytes.token_bytes(32)
"""Key of this process: a login is compared by a digest that says nothing elsewhere."""


def connection_key(kafka: KafkaSpec, secrets: Mapping[str, str]) -> Hashable:
    """Return what groups must have in common to share a client: brokers, way to connect, and login.

    ``secrets`` are the Secrets of the resource as environment variables.
    """
    names = (kafka.security.secret_name, kafka.security.ca_secret_name)
    variables = tuple(variable_name(name, "") for name in names if name is not None)
    login = {key: value for key, value in secrets.items() if key.startswith(variables)}
    digest = hmac.new(_KEY, json.dumps(login, sort_keys=True).encode(), hashlib.sha256).digest()
    return frozenset(str(address) for address in kafka.addresses), kafka.security, digest


class LagConnection:
    """Asks about groups of one cluster; for one thread at a time."""

    def __init__(self) -> None:
        self._reader: ClusterReader | None = None
        self.is_impaired = False
        """Whether in the last batch something did not answer: how long that took says nothing about the load."""

    def ask(self, groups: Sequence[GroupLag]) -> list[KnownLag | UnknownLag]:
        """Ask about all of these groups; what goes wrong is an answer too, and says what to do."""
        checks_until = time.monotonic() + CHECK_SECONDS
        self.is_impaired = True
        try:
            reader, found = self._ask_brokers(groups)
        except Exception as error:
            self.close()
            return _all_unknown(groups, error)
        answers = []
        for number, group in enumerate(groups):
            try:
                answers.append(found.lag(number))
            except Exception as error:
                answers.append(group.unknown(error, check=time.monotonic() < checks_until))
        self.is_impaired = reader.is_impaired
        return answers

    def close(self) -> None:
        if self._reader is not None:
            with suppress(Exception):  # what is closed because it does not work may not close well
                self._reader.close()
            self._reader = None

    def _ask_brokers(self, groups: Sequence[GroupLag]) -> "tuple[ClusterReader, _Batch]":
        if self._reader is not None:
            with suppress(KafkaError):  # the broker that it happened to ask may be away, and others not
                return self._reader, _Batch(self._reader, groups)
            self.close()
        reader = self._connect(groups[0])
        return reader, _Batch(reader, groups)

    def _connect(self, group: GroupLag) -> ClusterReader:
        limit = int(ASK_SECONDS * 1000)
        config: dict[str, Any] = client_config(group.kafka, group.secrets)
        self._reader = ClusterReader(config | {"bootstrap_timeout_ms": limit, "request_timeout_ms": limit})
        return self._reader


def _all_unknown(groups: Sequence[GroupLag], error: Exception) -> list[KnownLag | UnknownLag]:
    """Explain once why there is no connection: a check of the brokers for each group would take long."""
    first = groups[0].unknown(error, check=True)
    is_common = all(line.startswith(_OF_BROKERS) for line in first.message.splitlines())
    return [first, *(first if is_common else group.unknown(error, check=False) for group in groups[1:])]


class _Batch:
    """What Kafka says about all groups of a batch."""

    def __init__(self, reader: ClusterReader, groups: Sequence[GroupLag]) -> None:
        """Ask; raises KafkaError when no broker answers at all."""
        self._reader = reader
        self._groups = groups
        reader.begin_batch()
        self._topics = self._selected()
        self._asked = [list(_partitions(topics)) for topics in self._topics]
        by_group = defaultdict[str, set[TopicPartition]](set)
        for group, partitions in zip(groups, self._asked, strict=True):
            by_group[group.group_id].update(partitions)
        # Committed offsets first, ends last: a member that commits in between makes the lag too large, never too small.
        self._committed = reader.committed_of({group: sorted(asked) for group, asked in by_group.items() if asked})
        self._described = reader.describe_groups(by_group)
        self._starts = reader.log_starts({one for partitions in self._asked for one in partitions})
        self._ends = {committed: self._ends_of(read_committed=committed) for committed in (True, False)}

    def lag(self, number: int) -> KnownLag | UnknownLag:
        """Return the lag of one group of the batch; raises the error of its own."""
        group, asked = self._groups[number], self._asked[number]
        committed = self._committed.get(group.group_id, {})
        if isinstance(committed, Exception):
            raise committed
        ours = {partition: committed[partition] for partition in asked if partition in committed}
        positions = _Positions(self._reader, ours, self._starts, self._ends[_is_read_committed(group)], group)
        topics = {name: len(topic.leaders) for name, topic in self._topics[number].items()}
        return group.known(observe(positions, group.kafka, topics), self._description(group), topics)

    def _description(self, group: GroupLag) -> GroupDescription | None:
        found = self._described[group.group_id]
        if isinstance(found, Exception):  # the lag is known all the same
            log.warning("group.not_described", group=group.group_id, error=repr(found))
            return None
        return found

    def _selected(self) -> list[dict[str, TopicDescription]]:
        by_pattern = any(group.kafka.topics is None for group in self._groups)
        everything = self._reader.topics_matching(lambda _: True) if by_pattern else []
        names = [_selected(group.kafka, everything) for group in self._groups]
        found = self._reader.describe({topic for some in names for topic in some})
        return [{name: found[name] for name in some if name in found} for some in names]

    def _ends_of(self, *, read_committed: bool) -> Answer[Offset]:
        asked = {
            partition
            for group, partitions in zip(self._groups, self._asked, strict=True)
            if _is_read_committed(group) is read_committed
            for partition in partitions
        }
        return self._reader.ends_of(asked, read_committed=read_committed)


def _selected(kafka: KafkaSpec, everything: Sequence[str]) -> Sequence[str]:
    return kafka.topics if kafka.topics is not None else [topic for topic in everything if kafka.selects(topic)]


def _partitions(topics: Mapping[str, TopicDescription]) -> Iterator[TopicPartition]:
    for name, topic in topics.items():
        for number in range(len(topic.leaders)):
            yield TopicPartition(name, number)


class _Positions:
    """Answers that are there already, as `observe` asks for them; only ages are asked for one group alone."""

    def __init__(
        self,
        reader: ClusterReader,
        committed: Mapping[TopicPartition, Registered],
        starts: Answer[Offset],
        ends: Answer[Offset],
        group: GroupLag,
    ) -> None:
        self._reader = reader
        self._committed = committed
        self._starts = starts
        self._ends = ends
        self._read_committed = _is_read_committed(group)

    def committed(self, _: Iterable[TopicPartition]) -> Mapping[TopicPartition, Registered]:
        return self._committed

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return _of(self._starts, partitions)

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return _of(self._ends, partitions)

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        return self._reader.since(timestamps, read_committed=self._read_committed)


def _of(answer: Answer[Value], partitions: Iterable[TopicPartition]) -> Answer[Value]:
    ours = list(partitions)
    return Answer(
        {partition: answer.values[partition] for partition in ours if partition in answer.values},
        {partition: answer.errors[partition] for partition in ours if partition in answer.errors},
    )


def _is_read_committed(group: GroupLag) -> bool:
    return group.kafka.isolation_level == "read_committed"
