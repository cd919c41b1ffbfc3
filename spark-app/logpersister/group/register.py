"""The register: committed offsets with their metadata, read and written through one membership session.

*No effect outside this process rests on a read that is not fenced.* A write is fenced by the broker: the coordinator
refuses a commit of another group generation or member, and this process refuses one whose partition is no longer ours
(group/ownership.py). A read has no such fence of Kafka's. A coordinator that stood still and wakes up answers from its
cache, although another broker has taken its place and members have committed there. So an answer counts only when

1. it came from the coordinator that this session talks to, and
2. that same broker has then answered a heartbeat of our member and group generation.

Then this broker knows our generation. Whoever owned our partitions before committed for them before that generation
began, so the broker has seen it; whoever owns them later does so in a generation in which our commits are refused. What
this process itself has committed meanwhile elsewhere it knows (`plan/protocol.py`, `is_stale`).
"""

from collections.abc import Callable, Iterable, Mapping

import kafka.errors
import structlog
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.structs import OffsetAndMetadata

from logpersister.group import internals
from logpersister.group.answers import CommitOutcome, Registered
from logpersister.group.ownership import Ownership
from logpersister.kafka_client.causes import in_words
from logpersister.plan.intents import UnknownMetadataError, parse
from logpersister.plan.partitions import Commit
from logpersister.ranges import TopicPartition

log = structlog.get_logger(__name__)

COMMIT_SECONDS = 10.0
READ_SECONDS = 10.0

_OF_THE_GROUP = (
    internals.UnfencedError,
    kafka.errors.CommitFailedError,
    kafka.errors.GroupAuthorizationFailedError,
    kafka.errors.KafkaTimeoutError,
    kafka.errors.KafkaConnectionError,
    kafka.errors.CoordinatorNotAvailableError,
    kafka.errors.CoordinatorLoadInProgressError,
    kafka.errors.NotCoordinatorError,
    kafka.errors.IllegalGenerationError,
    kafka.errors.UnknownMemberIdError,
    kafka.errors.FencedInstanceIdError,
)
"""Errors that concern all partitions alike: it is no use to ask for some of them."""


class GroupRegister:
    """Blocking, with deadlines; any thread may call."""

    def __init__(self, consumer: KafkaConsumer, ownership: Ownership, on_fenced: Callable[[], None]) -> None:
        """Use the session of a consumer.

        Args:
            on_fenced: called when another process has taken our name.
        """
        self._consumer = consumer
        self._ownership = ownership
        self._on_fenced = on_fenced

    # reading

    def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Registered]:
        """Return what stands in the register: None where there is nothing. Topics that cannot be asked are missing.

        Raises UnfencedError and KafkaError: there is no answer that may be believed.
        """
        asked = list(partitions)
        return self._read(asked) if asked else {}

    def _read(self, asked: list[TopicPartition]) -> dict[TopicPartition, Registered]:
        try:
            found = internals.read_fenced(self._consumer, map(_kafka, asked), READ_SECONDS)
        except Exception as error:
            self._check_fenced(error)
            topics = sorted({partition.topic for partition in asked})
            if isinstance(error, _OF_THE_GROUP) or not isinstance(error, kafka.errors.KafkaError):
                raise
            if len(topics) == 1:
                log.warning("offsets.not_read", topic=topics[0], error=in_words(error))
                return {}
            return {p: it for part in _halves(topics) for p, it in self._read(_of(part, asked)).items()}
        return {partition: _parsed(found.get(_kafka(partition))) for partition in asked}

    # writing

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        """Commit for partitions that are still ours; blocks until the broker has answered.

        Args:
            promise: whether these are new intents, which are refused once a revocation has begun.
        """
        outcome = CommitOutcome()
        with self._ownership.committing(commits, outcome, promise=promise) as allowed:
            if allowed:
                self._send(allowed, outcome)
        return outcome

    def _send(self, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome) -> None:
        error = self._try_send(commits)
        if error is None:
            outcome.committed |= commits.keys()
            return
        if isinstance(error, kafka.errors.RebalanceInProgressError):  # of the client itself; what is stored stays so
            log.info("commit.postponed", partitions=len(commits))
            outcome.refused |= commits.keys()
            return
        topics = sorted({partition.topic for partition in commits})
        if len(topics) == 1 or isinstance(error, _OF_THE_GROUP):
            outcome.failed.update(dict.fromkeys(commits, error))
            return
        for part in _halves(topics):  # one bad topic must not take the others with it
            self._send({p: commits[p] for p in _of(part, commits)}, outcome)

    def _try_send(self, commits: Mapping[TopicPartition, Commit]) -> Exception | None:
        offsets = {
            _kafka(partition): OffsetAndMetadata(commit.committed.offset, commit.committed.text, -1)
            for partition, commit in commits.items()
        }
        try:
            self._consumer.commit(offsets, timeout_ms=int(COMMIT_SECONDS * 1000))
        except Exception as error:
            self._check_fenced(error)
            return error
        return None

    def _check_fenced(self, error: Exception) -> None:
        if isinstance(error, kafka.errors.FencedInstanceIdError):
            self._on_fenced()


def _parsed(found: OffsetAndMetadata | None) -> Registered:
    if found is None:
        return None
    try:
        return parse(found.offset, found.metadata or "")
    except UnknownMetadataError as error:
        return error


def _halves(topics: list[str]) -> tuple[set[str], set[str]]:
    half = len(topics) // 2
    return set(topics[:half]), set(topics[half:])


def _of(topics: set[str], partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return [partition for partition in partitions if partition.topic in topics]


def _kafka(partition: TopicPartition) -> KafkaTopicPartition:
    return KafkaTopicPartition(partition.topic, partition.partition)
