"""What we do to kafka-python's inside, tried on its own coordinator with the network taken out."""

import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import kafka.errors
import kafka.future
import pytest
from kafka import TopicPartition as KafkaTopicPartition
from kafka.coordinator.base import Generation, MemberState
from kafka.coordinator.consumer import ConsumerCoordinator, RebalanceProtocol
from kafka.protocol.consumer import HeartbeatRequest, SyncGroupRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from logpersister.group import internals


class FakeManager:
    def call_soon(self, coroutine: Callable[[], Awaitable[bytes]]) -> Any:
        return SimpleNamespace(coroutine=coroutine, is_done=False)

    async def wait_for(self, task: Any, _timeout_ms: float | None) -> bytes:
        result: bytes = await task.coroutine()
        return result


class SlowManager(FakeManager):
    """Every join takes a little longer than a poll."""

    def call_soon(self, coroutine: Callable[[], Awaitable[bytes]]) -> Any:
        task = Future()
        task.coroutine = coroutine
        return task

    async def wait_for(self, task: Any, _timeout_ms: float | None) -> bytes:
        answer = await task.coroutine()
        if task.coroutine.__name__ == "answered":
            return bytes(answer)
        task.success(answer)
        raise kafka.errors.KafkaTimeoutError


class Future(kafka.future.Future):  # type: ignore[misc]  # kafka-python has no types
    """One that knows what it is the result of."""

    coroutine: Callable[[], Awaitable[bytes]]


class Listener:
    def __init__(self) -> None:
        self.lost: list[set[Any]] = []

    async def on_partitions_lost(self, lost: set[Any]) -> None:
        self.lost.append(lost)


class Subscription:
    """As much of a subscription as a join looks at."""

    def __init__(self) -> None:
        self.assigned = {KafkaTopicPartition("clicks", 0)}
        self.rebalance_listener = Listener()
        self.subscription = {"clicks"}

    def partitions_auto_assigned(self) -> bool:
        return True

    def assigned_partitions(self) -> set[Any]:
        return set(self.assigned)

    def assign_from_subscribed(self, assigned: list[Any]) -> None:
        self.assigned = set(assigned)

    def mark_pending_revocation(self, _revoked: set[Any]) -> None:
        pass

    def reset_group_subscription(self) -> None:
        pass


def coordinator_of(subscription: Subscription, attempts: list[Callable[[Any], bytes]]) -> Any:
    """Return a member of generation 7 that is about to join again; each attempt is one JoinGroup with SyncGroup."""
    coordinator: Any = ConsumerCoordinator.__new__(ConsumerCoordinator)
    coordinator.config = {"api_version": (4, 0), "enable_auto_commit": False, "group_id": "backup"}
    coordinator._subscription = subscription
    coordinator._manager = FakeManager()
    coordinator._lock = threading.RLock()
    coordinator._generation = Generation(7, "member-1", "cooperative-sticky")
    coordinator._rebalance_protocol = RebalanceProtocol.COOPERATIVE
    coordinator._assignment_snapshot = coordinator._metadata_snapshot = coordinator._join_task = None
    coordinator._joined_subscription = {"clicks"}
    coordinator.state, coordinator.rejoining, coordinator.rejoin_needed = MemberState.STABLE, False, True
    coordinator._heartbeat_enabled = True
    coordinator._disable_heartbeat = lambda: setattr(coordinator, "_heartbeat_enabled", False)
    coordinator._enable_heartbeat = lambda: setattr(coordinator, "_heartbeat_enabled", True)

    async def ready(**_: Any) -> bool:
        return True

    async def attempt() -> bytes:
        coordinator.state = MemberState.REBALANCING
        return attempts.pop(0)(coordinator)

    async def complete(*_: Any) -> None:
        pass

    coordinator.ensure_coordinator_ready_async = ready
    coordinator._do_join_and_sync_async = attempt
    coordinator._on_join_complete_async = complete
    return coordinator


def expelled(coordinator: Any) -> bytes:
    """The broker no longer knows the member: it has not been heard of for longer than its session."""
    coordinator.reset_generation()
    raise kafka.errors.UnknownMemberIdError


def accepted(coordinator: Any) -> bytes:
    coordinator._generation = Generation(9, "member-2", "cooperative-sticky")
    return b""


def join(coordinator: Any) -> bool:
    """Run the join to its end; nothing in it waits."""
    with pytest.raises(StopIteration) as ended:
        coordinator.join_group_async().send(None)
    return bool(ended.value.value)


def consumer_of(coordinator: Any) -> Any:
    return SimpleNamespace(_coordinator=coordinator)


@pytest.fixture
def subscription() -> Subscription:
    return Subscription()


def test_a_member_that_is_expelled_while_it_joins_is_told_what_it_lost(subscription: Subscription) -> None:
    owned = set(subscription.assigned)
    coordinator = coordinator_of(subscription, [expelled, accepted])
    internals.always_tell_losses(consumer_of(coordinator))
    assert join(coordinator)
    assert subscription.rebalance_listener.lost == [owned]
    assert not subscription.assigned, "nothing of the old membership is kept"


@pytest.mark.parametrize(("late_answers", "expelled_meanwhile"), [(True, False), (True, True), (False, False)])
def test_an_answer_that_comes_between_two_polls_is_taken(
    subscription: Subscription, *, late_answers: bool, expelled_meanwhile: bool
) -> None:
    """Without us kafka-python joins anew, for ever; when that fails, kafka-python has learned it."""
    attempts: list[Callable[[Any], bytes]] = [accepted, accepted]
    coordinator = coordinator_of(subscription, attempts)
    coordinator._manager = SlowManager()
    if late_answers:
        internals.take_late_answers(consumer_of(coordinator))
    assert not join(coordinator)
    if expelled_meanwhile:
        coordinator.reset_generation()
    taken = late_answers and not expelled_meanwhile
    assert join(coordinator) is taken
    assert len(attempts) == (1 if taken else 0)
    assert coordinator.need_rejoin() is not taken


class Broker:
    """What a session's coordinator answers; what happens meanwhile is a step of the test."""

    def __init__(self, coordinator: Any, *steps: Callable[[Any], object]) -> None:
        self.asked: list[str] = []
        self._coordinator = coordinator
        self._steps = list(steps)
        coordinator.coordinator_id = "coordinator-1"
        coordinator.coordinator = lambda: coordinator.coordinator_id
        coordinator._send_offset_fetch_request = self.fetch
        coordinator._send_heartbeat_request = self.beat

    async def fetch(self, partitions: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(partitions, self._answer("offsets", 5))

    async def beat(self) -> None:
        self._answer("heartbeat", 0)

    def _answer(self, what: str, answer: int) -> int:
        self.asked.append(f"{what} {self._coordinator.coordinator_id}")
        if self._steps:
            self._steps.pop(0)(self._coordinator)
        return answer


def read_fenced(coordinator: Any) -> Any:
    """Read one partition; nothing in it waits."""

    def run(_wait_for: object, coroutine: Any, _timeout_ms: int) -> Any:
        with pytest.raises(StopIteration) as ended:
            coroutine.send(None)
        return ended.value.value

    manager = SimpleNamespace(wait_for=None, call_soon=lambda read: read())
    consumer: Any = SimpleNamespace(_coordinator=coordinator, _manager=manager, _net=SimpleNamespace(run=run))
    return internals.read_fenced(consumer, [KafkaTopicPartition("clicks", 0)], 1.0)


def nothing(_coordinator: Any) -> None: ...


def moves(coordinator: Any) -> None:
    coordinator.coordinator_id = "coordinator-2"


def begins_anew(coordinator: Any) -> None:
    coordinator._generation = Generation(8, "member-1", "cooperative-sticky")


def rebalances(_coordinator: Any) -> None:
    raise kafka.errors.RebalanceInProgressError


def loses(coordinator: Any) -> None:
    coordinator.reset_generation()
    raise kafka.errors.UnknownMemberIdError


@pytest.mark.parametrize("meanwhile", [nothing, rebalances])
def test_an_answer_counts_when_the_same_broker_knows_us_afterwards(
    subscription: Subscription, meanwhile: Callable[[Any], object]
) -> None:
    coordinator = coordinator_of(subscription, [])
    broker = Broker(coordinator, nothing, meanwhile)
    assert read_fenced(coordinator) == {KafkaTopicPartition("clicks", 0): 5}
    assert broker.asked == ["offsets coordinator-1", "heartbeat coordinator-1"]


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ([moves], 1),
        ([nothing, moves], 2),
        ([nothing, begins_anew], 2),
        ([begins_anew, nothing], 2),
        ([nothing, loses], 2),
    ],
    ids=["moved before", "moved after", "new generation", "new generation between", "expelled"],
)
def test_an_answer_without_that_counts_for_nothing(
    subscription: Subscription, steps: list[Callable[[Any], object]], asked: int
) -> None:
    coordinator = coordinator_of(subscription, [])
    broker = Broker(coordinator, *steps)
    with pytest.raises((internals.UnfencedError, kafka.errors.UnknownMemberIdError)):
        read_fenced(coordinator)
    assert len(broker.asked) == asked


@pytest.mark.parametrize(
    ("request_", "waits"), [(HeartbeatRequest, 2000), (FindCoordinatorRequest, 2000), (SyncGroupRequest, None)]
)
def test_what_keeps_a_member_in_its_group_does_not_wait_for_a_silent_broker(
    request_: type[Any], waits: int | None
) -> None:
    sent: list[int | None] = []

    def send(_request: Any, node_id: Any = None, request_timeout_ms: int | None = None) -> None:
        assert node_id == 1
        sent.append(request_timeout_ms)

    consumer: Any = SimpleNamespace(_manager=SimpleNamespace(send=send, config={}))
    internals.bound_waits_for_the_coordinator(consumer, 2.0)
    consumer._manager.send(request_(), node_id=1)
    assert sent == [waits]
    assert consumer._manager.config == {"socket_connection_setup_timeout_ms": 2000}


def test_who_is_not_in_the_group_reads_nothing(subscription: Subscription) -> None:
    coordinator = coordinator_of(subscription, [])
    broker = Broker(coordinator)
    coordinator.state = MemberState.REBALANCING
    with pytest.raises(internals.UnfencedError, match="joining"):
        read_fenced(coordinator)
    coordinator.state, coordinator.coordinator_id = MemberState.STABLE, None
    with pytest.raises(internals.UnfencedError, match="no coordinator"):
        read_fenced(coordinator)
    assert broker.asked == []


@pytest.mark.parametrize(
    ("state", "rejoining", "heartbeats", "joins"),
    [
        (MemberState.STABLE, False, True, False),
        (MemberState.REBALANCING, True, False, True),  # a join whose answer is not here yet
        (MemberState.STABLE, False, False, True),  # fenced: heartbeats were turned off without a word
        (MemberState.UNJOINED, False, False, False),  # kafka-python knows by itself
    ],
)
def test_a_join_is_taken_up_again(state: MemberState, rejoining: bool, heartbeats: bool, joins: bool) -> None:
    coordinator: Any = ConsumerCoordinator.__new__(ConsumerCoordinator)
    coordinator.state, coordinator.rejoining, coordinator._heartbeat_enabled = state, rejoining, heartbeats
    coordinator.rejoin_needed = False
    internals.keep_rejoining(consumer_of(coordinator))
    assert coordinator.rejoin_needed is joins
