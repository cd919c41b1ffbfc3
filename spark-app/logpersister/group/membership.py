"""Membership in the consumer group: assignment, heartbeats, rebalances, and the register (group/register.py).

A ``kafka-python`` consumer with every partition paused gives all of it; no data flows through it.

Threads: one thread polls; kafka-python's I/O thread calls the rebalance listener; any thread may commit.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import kafka.errors
import structlog
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener

from logpersister.group import internals
from logpersister.group.assignor import TruthfulAssignor, counts_digest
from logpersister.group.ownership import Ownership
from logpersister.group.register import COMMIT_SECONDS, GroupRegister
from logpersister.kafka_client.causes import in_words
from logpersister.ranges import TopicPartition

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.2
IDLE_SECONDS = 0.8
"""Between polls of a member that has nothing to join: each poll walks over all partitions."""
LONGEST_POLL_SECONDS = 300.0
"""Longest absence of the poll thread before the group goes on without this member; grace of revocations apart."""
LONGEST_PAUSE_SECONDS = 10.0
METADATA_SECONDS = 15.0
"""Longest time until new topics and partitions are seen."""
METADATA_TIMEOUT_SECONDS = 5.0
SILENCE_OF_SESSION = 1 / 6
"""Longest silence of a broker, in sessions: a session outlasts that of the coordinator and of two asked for it."""
LISTENER_PAUSE_SECONDS = 0.02


SHORTEST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 600.0


class Advice(Enum):
    """Next step for the member."""

    NOTHING = auto()
    REFRESH = auto()
    """Ask for fresh metadata; compare again when it is here."""
    REJOIN = auto()
    """Ask for a new assignment."""


@dataclass(slots=True)
class AssignmentCoverage:
    """Compares, from time to time, what the assignment was computed from. ``clock`` gives monotonic seconds."""

    clock: Callable[[], float]
    _refreshed: int | None = None
    """The number of the metadata when a fresh one was asked for; None while all is well."""
    _retry_at: float = float("-inf")
    _pause: float = SHORTEST_SECONDS

    def check(self, seen: bytes, computed_from: bytes | None, metadata: int) -> Advice:
        """Compare digests of partition counts.

        Args:
            computed_from: of what the assignment was computed from; None when that is not known.
            metadata: a number that changes with each answer about topics.
        """
        if computed_from is None or seen == computed_from:
            self._refreshed, self._retry_at, self._pause = None, float("-inf"), SHORTEST_SECONDS
            return Advice.NOTHING
        if self.clock() < self._retry_at:
            return Advice.NOTHING
        if self._refreshed is None:
            self._refreshed = metadata
            return Advice.REFRESH
        if self._refreshed == metadata:
            return Advice.NOTHING
        self._refreshed = None
        self._retry_at = self.clock() + self._pause
        self._pause = min(2 * self._pause, LONGEST_SECONDS)
        return Advice.REJOIN


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    """Settings of this member in the group."""

    group_id: str
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    """Python regex for ``re.match``; exclusions are part of it."""
    instance_id: str | None = None
    """Static membership (``group.instance.id``): a restart under the same name does not rebalance."""
    client_id: str | None = None
    """Name of this member to brokers and in descriptions of the group; None: that of all clients of this process."""
    session_timeout_seconds: float = 45.0
    revocation_grace_seconds: float = 30.0
    """Longest wait of a revocation for ranges that are being executed; what has not ended stays pending."""


class FencedError(Exception):
    """Another process joined with the same instance id; this one must end."""


class Membership:
    """This process as a member of the group."""

    def __init__(
        self,
        client_config: Mapping[str, Any],
        settings: MembershipSettings,
        *,
        on_poll: Callable[[], None] = lambda: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect; nothing is joined before `start`.

        Args:
            on_change: called when the assignment has changed, or the membership has ended for good.
        """
        self._settings = settings
        self._on_poll = on_poll
        self._on_change = on_change
        self._ownership = Ownership()
        self._fatal: Exception | None = None
        self._stopping = threading.Event()
        self._assignor = TruthfulAssignor(self._ownership.tokens)
        self._coverage = AssignmentCoverage(time.monotonic)
        self._consumer = KafkaConsumer(**{**client_config, **_consumer_config(settings, self._assignor)})
        internals.always_tell_losses(self._consumer)
        internals.take_late_answers(self._consumer)
        internals.go_on_without_hidden_topics(self._consumer)
        silence = settings.session_timeout_seconds * SILENCE_OF_SESSION
        internals.bound_waits_for_the_coordinator(self._consumer, silence)
        self._listener = _Listener(
            self._consumer, self._ownership, settings.revocation_grace_seconds, on_change=on_change, on_wait=on_poll
        )
        self.register = GroupRegister(self._consumer, self._ownership, on_fenced=self._end_fenced)
        """Reads and writes committed offsets, through this session only."""
        self._thread = threading.Thread(target=self._poll_forever, name="membership", daemon=True)

    def start(self) -> None:
        """Join the group, in the background."""
        if self._settings.topic_pattern is not None:
            self._consumer.subscribe(pattern=self._settings.topic_pattern, listener=self._listener)
        else:
            self._consumer.subscribe(topics=list(self._settings.topics), listener=self._listener)
        self._thread.start()

    def stop(self) -> None:
        """Leave: commits in flight end first, then nothing is committed any more. A static member keeps its place."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=COMMIT_SECONDS)
        self._ownership.release(self._ownership.tokens())  # what still runs stays pending; nothing waits for it
        try:
            self._consumer.close(autocommit=False, timeout_ms=int(COMMIT_SECONDS * 1000))
        except Exception as error:  # the group notices by the session timeout; the process must end all the same
            log.warning("group.leave_failed", error=in_words(error))
        self._ownership.lose(set(self._ownership.tokens()))

    def raise_if_fatal(self) -> None:
        """Raise what ended the membership for good.

        Raises:
            FencedError: another process has taken this member's name.
        """
        if self._fatal is not None:
            raise self._fatal

    @property
    def joined(self) -> bool:
        """Whether the group has answered with an assignment (maybe an empty one) that still stands."""
        return self._listener.joined

    @property
    def rebalances(self) -> int:
        """Number of changes of this member's assignment."""
        return self._listener.rebalances

    @property
    def lost_partitions(self) -> int:
        """Number of partitions that the group took away without asking, as it had not heard of this member in time."""
        return self._listener.lost_partitions

    @property
    def group_generation(self) -> int | None:
        """Kafka's number of the group's present assignment; None outside the group."""
        return int(self._consumer.group_metadata().generation_id) if self.joined else None

    @property
    def thread(self) -> threading.Thread:
        """The thread that keeps this process in the group."""
        return self._thread

    # what is ours

    def ownership(self) -> dict[TopicPartition, int]:
        """Return the token of every partition that is ours, those that are being revoked too."""
        return self._ownership.tokens()

    def retain(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """Note that ranges of these partitions are about to be executed; return those that may be.

        A revocation waits for them, up to the grace, until `release` is called.
        """
        return self._ownership.retain(partitions)

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that nothing of these partitions is being executed, and what was stored is committed."""
        self._ownership.release(partitions)

    # the poll thread

    def _poll_forever(self) -> None:
        internals.refresh_metadata(self._consumer, METADATA_TIMEOUT_SECONDS)
        pause = POLL_SECONDS
        while not self._stopping.is_set():
            try:
                joining = internals.keep_rejoining(self._consumer)
                self._consumer.poll(timeout_ms=int(POLL_SECONDS * 1000))
                self._on_poll()
                self._listener.compare_with_assignment()
                self._listener.handle_empty_assignment()
                pause = POLL_SECONDS
                if self.joined and not joining:
                    self._check_assignment()
                    self._stopping.wait(IDLE_SECONDS)
            except kafka.errors.FencedInstanceIdError:
                self._end_fenced()
                return
            except Exception as error:
                log.warning("group.poll_failed", error=in_words(error), retry_seconds=pause)
                self._stopping.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _check_assignment(self) -> None:
        """Ask for a new assignment when topics have other partitions than the present one was computed from.

        Ask also for the one that a process of this name before us was to ask for.
        """
        if self._assignor.unfinished:
            self._ask_for_assignment("a process before this one was to give up partitions")
            return
        seen = counts_digest(internals.partition_counts_of(self._consumer))
        number = internals.metadata_number(self._consumer)
        match self._coverage.check(seen, self._assignor.computed_from, number):
            case Advice.REFRESH:
                internals.ask_for_metadata(self._consumer)
            case Advice.REJOIN:
                self._ask_for_assignment("the present one was computed from other partitions")

    def _ask_for_assignment(self, reason: str) -> None:
        log.info("group.asks_for_assignment", reason=reason)
        self._assignor.insist()
        internals.join_again(self._consumer)

    def _end_fenced(self) -> None:
        self._fatal = FencedError(
            f"another process has joined group {self._settings.group_id!r} as {self._settings.instance_id!r}; "
            "give every member a name of its own"
        )
        self._on_change()


def _consumer_config(settings: MembershipSettings, assignor: TruthfulAssignor) -> dict[str, Any]:
    session_ms = int(settings.session_timeout_seconds * 1000)
    named = {} if settings.client_id is None else {"client_id": settings.client_id}
    return {
        **named,
        "group_id": settings.group_id,
        "group_instance_id": settings.instance_id,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "partition_assignment_strategy": (assignor,),
        "session_timeout_ms": session_ms,
        # Nobody polls while a revocation waits; this is also how long the others wait for us to join.
        "max_poll_interval_ms": int((LONGEST_POLL_SECONDS + settings.revocation_grace_seconds) * 1000),
        "heartbeat_interval_ms": min(3000, session_ms // 3),
        "allow_auto_create_topics": False,
        "metadata_max_age_ms": int(METADATA_SECONDS * 1000),
        "metrics_enabled": False,
    }


class _Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Runs on kafka-python's I/O thread, which also sends heartbeats and commits, so it must await and never block.

    kafka-python joins the next group generation only after a callback has returned. Because each waits for commits in
    flight, none of them can be sent again under a generation in which its partition may be somebody else's.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        ownership: Ownership,
        grace_seconds: float,
        *,
        on_change: Callable[[], None],
        on_wait: Callable[[], None],
    ) -> None:
        self._on_wait = on_wait
        self._consumer = consumer
        self._ownership = ownership
        self._grace_seconds = grace_seconds
        self._on_change = on_change
        self.joined = False
        self.rebalances = 0
        self.lost_partitions = 0

    async def on_partitions_assigned(self, assigned: Iterable[KafkaTopicPartition]) -> None:
        self._take(assigned)
        self.joined = True
        self._changed("group.assigned", _ours(assigned))

    async def on_partitions_revoked(self, revoked: Iterable[KafkaTopicPartition]) -> None:
        partitions = _ours(revoked)
        self._ownership.begin_revocation(partitions)
        deadline = time.monotonic() + self._grace_seconds
        try:
            while self._ownership.is_busy(partitions) and time.monotonic() < deadline:
                await self._pause()
        finally:
            await self._give_up(partitions)
        self._changed("group.revoked", partitions)

    async def on_partitions_lost(self, lost: Iterable[KafkaTopicPartition]) -> None:
        partitions = _ours(lost)
        self.joined = False
        self.lost_partitions += len(partitions)
        await self._give_up(partitions)
        self._changed("group.lost", partitions)

    def compare_with_assignment(self) -> None:
        """Let tokens be those of the assignment, whatever became of a callback. To be called between polls.

        kafka-python drops a partition before it calls us, and goes on when a callback raises.
        """
        if not internals.has_answer(self._consumer):
            return
        assigned, owned = self._consumer.assignment(), self._ownership.tokens().keys()
        outlived = owned - _ours(assigned)
        if outlived:
            self._ownership.lose(outlived)
            while self._ownership.is_committing():
                time.sleep(LISTENER_PAUSE_SECONDS)
            self._changed("group.dropped", outlived)
        missing = [partition for partition in assigned if TopicPartition(*partition) not in owned]
        if missing:
            self._take(missing)
            self._changed("group.found", _ours(missing))

    def handle_empty_assignment(self) -> None:
        """Notice that the group has answered, or has expelled this member, although it has no partitions.

        To be called between polls, when no callback runs.
        """
        if self._ownership.tokens():
            return
        answered = internals.has_answer(self._consumer)
        if answered is not None and answered is not self.joined:
            self.joined = answered
            self._on_change()

    def _take(self, assigned: Iterable[KafkaTopicPartition]) -> None:
        self._consumer.pause(*assigned)
        for partition in assigned:
            self._consumer.seek(partition, 0)  # nothing is fetched, so no committed offset need be asked for
        self._ownership.gain(_ours(assigned))

    async def _give_up(self, partitions: set[TopicPartition]) -> None:
        self._ownership.lose(partitions)
        while self._ownership.is_committing():  # each commit has a time-out of its own
            await self._pause()

    def _changed(self, event: str, partitions: set[TopicPartition]) -> None:
        self.rebalances += 1
        log.info(event, partitions=len(partitions), owned=len(self._ownership.tokens()))
        self._on_change()

    async def _pause(self) -> None:
        self._on_wait()  # nobody polls meanwhile, and all is well
        await internals.pause(self._consumer, LISTENER_PAUSE_SECONDS)


def _ours(partitions: Iterable[KafkaTopicPartition]) -> set[TopicPartition]:
    return {TopicPartition(partition.topic, partition.partition) for partition in partitions}
