"""Membership in the consumer group: assignment, heartbeats, rebalances, and the only way to commit.

A ``kafka-python`` consumer with every partition paused gives all of it; no data flows through it. The broker fences a
commit by member and group generation, not by partition, so this module adds the rest of the fence: each assignment of
a partition gets a *token*, a commit names the token it was made under, and once a revocation has returned no commit
under its token leaves this process (docs/design/intents.md).

Threads: one thread polls; kafka-python's I/O thread calls the rebalance listener; any thread may commit.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import kafka.errors
import structlog
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.structs import OffsetAndMetadata

from logpersister.group.answers import CommitOutcome
from logpersister.plan.book import Commit
from logpersister.ranges import TopicPartition

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.2
COMMIT_SECONDS = 10.0
METADATA_SECONDS = 15.0
"""How soon new topics and partitions are seen."""


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    """What the group must know of this member."""

    group_id: str
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    """Python regex that a whole topic name must match; exclusions are part of it."""
    instance_id: str | None = None
    """Static membership (``group.instance.id``): a restart under the same name does not rebalance."""
    session_timeout_seconds: float = 45.0
    revocation_grace_seconds: float = 30.0
    """How long a revocation waits for ranges that are being executed; what has not ended stays pending."""


class Fenced(Exception):
    """Another process joined with the same instance id; this one must end."""


class Membership:
    """This process as a member of the group."""

    def __init__(
        self, client_config: Mapping[str, Any], settings: MembershipSettings, on_poll: Callable[[], None] = lambda: None
    ):
        self._settings = settings
        self._on_poll = on_poll
        self._changed = threading.Condition()
        self._tokens: dict[TopicPartition, int] = {}
        self._revoking: set[TopicPartition] = set()
        self._busy: set[TopicPartition] = set()
        self._commits_in_flight = 0
        self._next_token = 1
        self._rebalances = 0
        self._joined = False
        self._fatal: Exception | None = None
        self._stopping = threading.Event()
        session_ms = int(settings.session_timeout_seconds * 1000)
        self._consumer = KafkaConsumer(
            **{
                **client_config,
                "group_id": settings.group_id,
                "group_instance_id": settings.instance_id,
                "enable_auto_commit": False,
                "auto_offset_reset": "earliest",
                "partition_assignment_strategy": (CooperativeStickyAssignor,),
                "session_timeout_ms": session_ms,
                "heartbeat_interval_ms": min(3000, session_ms // 3),
                "allow_auto_create_topics": False,
                "metadata_max_age_ms": int(METADATA_SECONDS * 1000),
                "metrics_enabled": False,
            }
        )
        self._thread = threading.Thread(target=self._poll_forever, name="membership", daemon=True)

    # life

    def start(self) -> None:
        listener = _Listener(self)
        if self._settings.topic_pattern is not None:
            self._consumer.subscribe(pattern=self._settings.topic_pattern, listener=listener)
        else:
            self._consumer.subscribe(topics=list(self._settings.topics), listener=listener)
        self._thread.start()

    def stop(self) -> None:
        """Leave: commits in flight end first, then nothing is committed any more. A static member keeps its place."""
        self._stopping.set()
        self._thread.join(timeout=COMMIT_SECONDS)
        try:
            self._consumer.close(autocommit=False, timeout_ms=int(COMMIT_SECONDS * 1000))
        except Exception as error:  # the group notices by the session timeout; the process must end all the same
            log.warning("group.leave_failed", error=repr(error))
        with self._changed:
            self._tokens.clear()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() or self._stopping.is_set()

    def raise_if_fatal(self) -> None:
        if self._fatal is not None:
            raise self._fatal

    # assignment

    def ownership(self) -> dict[TopicPartition, int]:
        """Return the token of every partition that is ours, those that are being revoked too."""
        with self._changed:
            return dict(self._tokens)

    @property
    def joined(self) -> bool:
        """Whether the group has answered with an assignment (maybe an empty one) that still stands."""
        return self._joined

    @property
    def rebalances(self) -> int:
        return self._rebalances

    def hold_on_to(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """Tell that ranges of these partitions are about to be executed; return those that may be.

        A revocation waits for them, up to the grace, until `let_go` is called.
        """
        with self._changed:
            allowed = {p for p, token in partitions.items() if self._tokens.get(p) == token and p not in self._revoking}
            self._busy |= allowed
            return allowed

    def let_go(self, partitions: Iterable[TopicPartition]) -> None:
        """Tell that nothing of these partitions is being executed, and what was stored is committed."""
        with self._changed:
            self._busy -= set(partitions)

    # commits

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        """Commit for partitions that are still ours; blocks until the broker has answered.

        Args:
            promise: whether these are new intents. They are refused once a revocation has begun; commits of stored
                ranges are welcome until it returns.
        """
        outcome = CommitOutcome()
        with self._changed:
            allowed: dict[TopicPartition, Commit] = {}
            for partition, commit in commits.items():
                ours = self._tokens.get(partition) == commit.token
                if ours and not (promise and partition in self._revoking):
                    allowed[partition] = commit
                else:
                    outcome.refused.add(partition)
            if not allowed:
                return outcome
            self._commits_in_flight += 1
        try:
            self._send(allowed, outcome)
        finally:
            with self._changed:
                self._commits_in_flight -= 1
        return outcome

    def _send(self, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome) -> None:
        error = self._try_send(commits)
        if error is None:
            outcome.committed |= commits.keys()
            return
        topics = {partition.topic for partition in commits}
        about_the_group = isinstance(error, kafka.errors.CommitFailedError | kafka.errors.KafkaTimeoutError)
        if len(topics) == 1 or about_the_group or self._fatal is not None:
            outcome.failed.update(dict.fromkeys(commits, error))
            return
        for topic in sorted(topics):  # one bad topic must not take the others with it
            self._send({p: c for p, c in commits.items() if p.topic == topic}, outcome)

    def _try_send(self, commits: Mapping[TopicPartition, Commit]) -> Exception | None:
        offsets = {
            KafkaTopicPartition(p.topic, p.partition): OffsetAndMetadata(
                c.committed.offset, c.committed.mark.text() if c.committed.mark else "", -1
            )
            for p, c in commits.items()
        }
        try:
            self._consumer.commit(offsets, timeout_ms=int(COMMIT_SECONDS * 1000))
        except Exception as error:
            if isinstance(error, kafka.errors.FencedInstanceIdError):
                self._fatal = self._fenced()
            return error
        return None

    # the poll thread

    def _poll_forever(self) -> None:
        pause = POLL_SECONDS
        while not self._stopping.is_set():
            try:
                self._consumer.poll(timeout_ms=int(POLL_SECONDS * 1000))
                self._on_poll()
                pause = POLL_SECONDS
            except kafka.errors.FencedInstanceIdError:
                self._fatal = self._fenced()
                return
            except Exception as error:
                log.warning("group.poll_failed", error=repr(error), retry_seconds=pause)
                self._stopping.wait(pause)
                pause = min(pause * 2, 10.0)

    def _fenced(self) -> Fenced:
        return Fenced(
            f"another process has joined group {self._settings.group_id!r} as {self._settings.instance_id!r}; "
            "give every member a name of its own"
        )

    # the rebalance listener's side

    def _assigned(self, partitions: Iterable[TopicPartition]) -> None:
        with self._changed:
            self._joined = True
            self._rebalances += 1
            for partition in partitions:
                self._tokens[partition] = self._next_token
                self._next_token += 1

    def _begin_revocation(self, partitions: set[TopicPartition]) -> None:
        with self._changed:
            self._revoking |= partitions

    def _executing(self, partitions: set[TopicPartition]) -> bool:
        with self._changed:
            return bool(self._busy & partitions)

    def _drop(self, partitions: set[TopicPartition]) -> None:
        with self._changed:
            for partition in partitions:
                self._tokens.pop(partition, None)
            self._revoking -= partitions
            self._busy -= partitions
            self._rebalances += 1

    def _committing(self) -> bool:
        with self._changed:
            return self._commits_in_flight > 0


class _Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Runs on kafka-python's I/O thread, which also sends heartbeats and commits, so it must await and never block."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    async def on_partitions_assigned(self, assigned: Iterable[KafkaTopicPartition]) -> None:
        self._membership._consumer.pause(*assigned)
        partitions = {TopicPartition(p.topic, p.partition) for p in assigned}
        self._membership._assigned(partitions)
        log.info("group.assigned", partitions=len(partitions))

    async def on_partitions_revoked(self, revoked: Iterable[KafkaTopicPartition]) -> None:
        partitions = {TopicPartition(p.topic, p.partition) for p in revoked}
        self._membership._begin_revocation(partitions)
        deadline = time.monotonic() + self._membership._settings.revocation_grace_seconds
        while self._membership._executing(partitions) and time.monotonic() < deadline:
            await self._pause()
        await self._give_up(partitions)
        log.info("group.revoked", partitions=len(partitions))

    async def on_partitions_lost(self, lost: Iterable[KafkaTopicPartition]) -> None:
        partitions = {TopicPartition(p.topic, p.partition) for p in lost}
        self._membership._joined = False
        self._membership._begin_revocation(partitions)
        await self._give_up(partitions)
        log.warning("group.lost", partitions=len(partitions), reason="the group went on without this member")

    async def _give_up(self, partitions: set[TopicPartition]) -> None:
        self._membership._drop(partitions)
        while self._membership._committing():  # each has a time-out of its own
            await self._pause()

    async def _pause(self) -> None:
        # The loop's own sleep: kafka-python has no public one for listeners.
        await self._membership._consumer._net.sleep(0.02)
