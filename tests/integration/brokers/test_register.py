"""What an old coordinator remembers is never believed: production's register and protocol against real brokers.

No Spark and no bucket: a seat is a member as far as the group can tell.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from logpersister.group.membership import Membership, MembershipSettings
from logpersister.plan.events import Unanswered
from logpersister.plan.intents import CommittedOffset, Intent, promised, stored
from logpersister.plan.partitions import Commit, PartitionStates
from logpersister.plan.protocol import is_stale
from logpersister.ranges import TopicPartition
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaBroker, KafkaCluster
from tests.stack.sockets import unread_bytes

SESSION_SECONDS = 45.0
"""Longer than the group stands still while its coordinator moves: nobody is to be expelled."""
ASKING_SECONDS = 5.0
TOPIC_ID = "topic"
REVISION = "4f0c9d2b7a61"


class Seat:
    """A member's way to its group."""

    def __init__(
        self, cluster: KafkaCluster, group: str, topic: str, name: str | None = None, *, grace_seconds: float = 1
    ) -> None:
        config = {"bootstrap_servers": cluster.bootstrap.split(","), "reconnect_backoff_max_ms": 1_000}
        settings = MembershipSettings(
            group,
            (topic,),
            instance_id=name,
            session_timeout_seconds=SESSION_SECONDS,
            revocation_grace_seconds=grace_seconds,
        )
        self.membership = Membership(config, settings)
        self.states = PartitionStates(1)
        self.membership.start()

    def close(self) -> None:
        self.membership.stop()

    def owned(self) -> set[TopicPartition]:
        self.states.own(self.membership.ownership())
        return set(self.states.owned())

    def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, CommittedOffset]:
        """Return what a member that the group gave these partitions takes for their committed offsets."""
        self.owned()
        answers = self.membership.register.read(partitions)
        found = {partition: it for partition, it in answers.items() if isinstance(it, CommittedOffset)}
        return {p: it for p, it in found.items() if not is_stale(self.states.state(p), it, TOPIC_ID)}

    def read_at_last(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, CommittedOffset]:
        """Ask until somebody answers, as a member does."""
        asked = list(partitions)
        return eventually("committed offsets are read", _unless_refused(lambda: self.read(asked)))

    def try_commit(self, partition: TopicPartition, committed: CommittedOffset) -> bool:
        """Commit once, and take in what becomes of it; return whether the answer came."""
        self.owned()
        commit = Commit(self.membership.ownership()[partition], committed)
        outcome = self.membership.register.commit({partition: commit}, promise=False)
        if partition in outcome.committed:
            self.states.acknowledged(partition, commit)
        elif partition in outcome.failed:
            self.states.step(partition, Unanswered(committed))
        return partition in outcome.committed

    def commit(self, partition: TopicPartition, committed: CommittedOffset) -> None:
        eventually(f"{committed} is taken", lambda: self.try_commit(partition, committed))


def _unless_refused(
    ask: Callable[[], dict[TopicPartition, CommittedOffset]],
) -> Callable[[], dict[TopicPartition, CommittedOffset]]:
    def asked() -> dict[TopicPartition, CommittedOffset]:
        try:
            return ask()
        except Exception:  # noqa: BLE001 - nothing is decided, and it is asked again
            return {}

    return asked


@pytest.fixture
def seat(kafka: KafkaCluster, unique: str, topic: Callable[..., str]) -> Iterator[Callable[..., Seat]]:
    """``seat(name=None, grace_seconds=1)`` joins a group on a topic of two partitions."""
    with ExitStack() as stack:
        name = topic(2)

        def join(instance: str | None = None, **settings: float) -> Seat:
            joined = Seat(kafka, unique, name, instance, **settings)
            stack.callback(joined.close)
            stack.callback(kafka.recover)
            return joined

        yield join


def idle(offset: int) -> CommittedOffset:
    """Return the commit which says that everything before ``offset`` is stored, and nothing is pending."""
    return stored(offset, TOPIC_ID, 1)


def wait_owns(seat: Seat, count: int) -> None:
    eventually(f"it owns {count} partitions", lambda: len(seat.owned()) == count, explain=seat.owned)


def wake_when_asked(broker: KafkaBroker, answer: "Future[dict[TopicPartition, CommittedOffset]]", before: int) -> None:
    """Thaw ``broker`` with the question before it; at once when it was not asked, since others have answered.

    A member that asks others may have to wait for an answer of theirs: then ``broker`` wakes up after a while.
    """
    deadline = time.monotonic() + ASKING_SECONDS
    while not answer.done() and unread_bytes(broker.port, os.getpid()) <= before and time.monotonic() < deadline:
        time.sleep(0.05)
    broker.resume()


def frozen_after(kafka: KafkaCluster, group: str) -> KafkaBroker:
    """Freeze the coordinator and wait until another broker has taken over; return the frozen one."""
    coordinator = kafka.coordinator(group)
    coordinator.suspend()
    kafka.wait_moved(group, coordinator)
    return coordinator


def test_an_arrival_is_not_told_what_an_old_coordinator_remembers(
    kafka: KafkaCluster, unique: str, seat: Callable[..., Seat]
) -> None:
    """It was frozen, another one took over and took commits; it wakes up with a question of long ago before it."""
    first, second = seat(), seat()
    wait_owns(first, 1)
    wait_owns(second, 1)
    (moving,), (staying,) = first.owned(), second.owned()
    for one, partition in ((first, moving), (second, staying)):
        one.commit(partition, idle(10))
        assert one.read_at_last([partition]) == {partition: idle(10)}

    frozen = frozen_after(kafka, unique)
    first.commit(moving, idle(30))
    first.close()
    wait_owns(second, 2)
    waiting = unread_bytes(frozen.port, os.getpid())
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(second.read_at_last, [moving])
        wake_when_asked(frozen, answer, waiting)
        assert answer.result() == {moving: idle(30)}


@pytest.mark.soak  # of two faults; what becomes of old answers is in tests/unit/plan/test_protocol.py
def test_a_doubt_is_not_settled_by_what_an_old_coordinator_remembers(
    kafka: KafkaCluster, unique: str, seat: Callable[..., Seat]
) -> None:
    """The coordinator after the frozen one has taken a promise, and stands still when its ranges are committed.

    The owner stays, and so does the group's generation: the old coordinator does not refuse its heartbeats. The offset
    that it remembers is the promise's own, so it is not below anything that the owner knows: only its mark is old.
    """
    owner = seat()
    wait_owns(owner, 2)
    doubted, _ = sorted(owner.owned())
    owner.commit(doubted, idle(10))
    assert owner.read_at_last([doubted]) == {doubted: idle(10)}

    frozen = frozen_after(kafka, unique)
    promise = promised(Intent(doubted, TOPIC_ID, 10, (30,), REVISION, 1))
    owner.commit(doubted, promise)
    kafka.coordinator(unique).suspend()
    assert not owner.try_commit(doubted, idle(30)), "nobody is there to answer"
    waiting = unread_bytes(frozen.port, os.getpid())
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(owner.read_at_last, [doubted])
        wake_when_asked(frozen, answer, waiting)
        assert answer.result()[doubted] in (promise, idle(30))


def test_partitions_have_an_owner_though_who_gives_them_up_has_restarted(seat: Callable[..., Seat]) -> None:
    """It is replaced while a range that it executes keeps it from giving one up: as if it were killed, to the group."""
    killed = seat("one", grace_seconds=120)
    wait_owns(killed, 2)
    partitions = killed.membership.ownership()
    killed.membership.retain(partitions)
    other = seat("two")
    eventually("one is to be given up", lambda: killed.membership.retain(partitions) != partitions.keys())
    assert not other.owned()
    back = seat("one")
    wait_owns(back, 1)
    wait_owns(other, 1)
    assert back.owned().isdisjoint(other.owned())
    killed.membership.release(partitions)
