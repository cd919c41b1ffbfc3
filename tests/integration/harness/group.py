"""The consumer group as Kafka's admin API shows it, and what a user can do to it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, NoError
from kafka.structs import OffsetAndMetadata

from tests.integration.harness.waiting import PATIENCE_SECONDS, eventually
from tests.stack.clients import admin_client
from tests.stack.processes import ClosedAtEnd
from tests.stack.topics import end_offsets

Value = TypeVar("Value")
TopicPartition = tuple[str, int]
_ASK_MS = 10_000
"""Until it is asked again: of several brokers, one may be frozen."""


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A committed offset and the string beside it."""

    offset: int
    metadata: str

    @property
    def pending(self) -> tuple[int, ...]:
        """The ends of the ranges that are promised and not yet stored."""
        fields = dict(field.partition("=")[::2] for field in self.metadata.split(";"))
        return tuple(int(end) for end in fields.get("ends", "").split(",") if end)


class Group(ClosedAtEnd):
    """One consumer group."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.name = name
        self._bootstrap = bootstrap
        self._client: KafkaAdminClient | None = None

    @property
    def _admin(self) -> KafkaAdminClient:
        if self._client is None:
            self._client = admin_client(self._bootstrap, bootstrap_timeout_ms=_ASK_MS, request_timeout_ms=_ASK_MS)
        return self._client

    def close(self) -> None:
        """Disconnect until the next use. kafka-python leaves sockets behind while a broker is away."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def committed(self, topic: str) -> dict[int, CommittedOffset]:
        """Return what is committed, by partition."""
        found = self._patiently(lambda: self._admin.list_group_offsets({self.name: None}))[self.name]
        return {
            partition.partition: CommittedOffset(entry.offset, entry.metadata or "")
            for partition, entry in found.items()
            if partition.topic == topic and entry.offset >= 0
        }

    def pending(self, topic: str) -> dict[int, tuple[int, ...]]:
        """Return the pending ends of the partitions that have any."""
        return {number: entry.pending for number, entry in self.committed(topic).items() if entry.pending}

    def is_current(self, topic: str, *, ends: Mapping[int, int] | None = None) -> bool:
        """Whether every partition is stored up to ``ends`` (its present end) or further, and nothing is pending."""
        wanted = ends if ends is not None else end_offsets(self._bootstrap, topic, committed=True)
        committed = self.committed(topic)
        return all(
            end == 0 or (number in committed and committed[number].offset >= end and not committed[number].pending)
            for number, end in wanted.items()
        )

    def wait_current(
        self, *topics: str, seconds: float = PATIENCE_SECONDS, explain: Callable[[], object] = lambda: ""
    ) -> None:
        """Wait until everything that is in the topics now is stored."""
        for topic in topics:
            ends = end_offsets(self._bootstrap, topic, committed=True)
            eventually(
                f"{topic} is stored up to {ends}",
                lambda topic=topic, ends=ends: self.is_current(topic, ends=ends),  # type: ignore[misc]
                seconds=seconds,
                explain=lambda topic=topic: f"{self.committed(topic)}; {explain()}",  # type: ignore[misc]
            )

    def members(self) -> list[str]:
        """Return the static names, or else the ids, of the members."""
        described = self._patiently(lambda: self._admin.describe_groups([self.name]))[self.name]
        return sorted(member["group_instance_id"] or member["member_id"] for member in described["members"])

    def wait_empty(self) -> None:
        eventually(f"nobody is left in {self.name}", lambda: not self.members(), explain=self.members)

    def set(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets as Kafka's own tools do, without metadata."""
        commits = {KafkaTopicPartition(topic, p): OffsetAndMetadata(offset, "", -1) for p, offset in offsets.items()}
        self._accepted(lambda: self._admin.alter_group_offsets(self.name, commits))

    def forget(self, topic: str, partitions: Collection[int]) -> None:
        """Delete committed offsets, as Kafka itself does with those of idle groups."""
        doomed = [KafkaTopicPartition(topic, number) for number in partitions]
        self._accepted(lambda: self._admin.delete_group_offsets(self.name, doomed))

    def _accepted(self, change: Callable[[], Mapping[Any, Any]]) -> None:
        def accepted() -> Mapping[Any, Any]:
            refused = {of: error for of, error in change().items() if error is not NoError}
            for error in refused.values():
                if error.retriable:
                    raise error
            return refused

        refused = self._patiently(accepted)
        assert not refused, refused

    def _patiently(self, ask: Callable[[], Value]) -> Value:
        """Ask until the coordinator answers: it makes the offsets topic on the first question.

        Each time it is looked for anew: kafka-python's admin client never forgets a coordinator, though it has moved.
        """
        answers: list[Value] = []

        def answered() -> bool:
            try:
                answers.append(ask())
            except KafkaError as error:
                self.close()
                if not error.retriable:
                    raise
            return bool(answers)

        eventually(f"the coordinator of group {self.name} answers", answered)
        return answers[0]
