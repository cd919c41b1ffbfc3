"""The register and the rebalance listener, with kafka-python's consumer taken out."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import kafka.errors
import pytest
from kafka import TopicPartition as KafkaTopicPartition
from kafka.structs import OffsetAndMetadata

from logpersister.group import internals, membership
from logpersister.group.answers import CommitOutcome
from logpersister.group.membership import FencedError, Membership, MembershipSettings
from logpersister.plan.intents import UnknownMetadataError, stored
from logpersister.plan.partitions import Commit
from logpersister.ranges import TopicPartition


class FakeConsumer:
    """Takes commits, or fails them by topic."""

    def __init__(self, **config: Any) -> None:
        self.config = config
        self.sent: list[dict[str, tuple[int, str]]] = []
        self.failing: dict[str, Exception] = {}
        self._coordinator = SimpleNamespace(
            reset_generation=lambda: None,
            rejoining=False,
            join_group_async=None,
            _send_heartbeat_request=None,
            _handle_metadata_update=self.take_update,
        )
        self._cluster = SimpleNamespace(remove_listener=lambda _: None, add_listener=lambda _: None)
        self._manager = SimpleNamespace(send=None, config={})
        self.assigned: set[KafkaTopicPartition] = set()
        self._net = SimpleNamespace(sleep=lambda seconds: asyncio.sleep(seconds / 10))

    def commit(self, offsets: Mapping[KafkaTopicPartition, Any], *, timeout_ms: int) -> None:
        assert timeout_ms > 0
        self.sent.append({f"{p.topic}-{p.partition}": (it.offset, it.metadata) for p, it in offsets.items()})
        for partition in offsets:
            if partition.topic in self.failing:
                raise self.failing[partition.topic]

    def assignment(self) -> set[KafkaTopicPartition]:
        return set(self.assigned)

    def take_update(self, cluster: object) -> None: ...

    def pause(self, *_: KafkaTopicPartition) -> None: ...

    def seek(self, *_: Any) -> None: ...


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Membership:
    monkeypatch.setattr(membership, "KafkaConsumer", FakeConsumer)
    settings = MembershipSettings(
        "backup", topics=("a", "b"), instance_id="member-0", client_id="host-17", revocation_grace_seconds=400.0
    )
    return Membership({"bootstrap_servers": "127.0.0.1:1"}, settings)


def consumer_of(member: Membership) -> FakeConsumer:
    consumer: Any = member._consumer
    assert isinstance(consumer, FakeConsumer)
    return consumer


def test_the_member_has_one_name_and_the_group_waits_longer_for_it_than_its_grace(member: Membership) -> None:
    config = consumer_of(member).config
    assert (config["group_instance_id"], config["client_id"]) == ("member-0", "host-17")
    assert config["max_poll_interval_ms"] > 400_000
    assert config["enable_auto_commit"] is False


def assign(member: Membership, *names: str) -> None:
    asyncio.run(member._listener.on_partitions_assigned([KafkaTopicPartition(name, 0) for name in names]))


def commit(member: Membership, *names: str, promise: bool = False) -> CommitOutcome:
    tokens = member.ownership()
    partitions = [TopicPartition(name, 0) for name in names]
    return member.register.commit(
        {p: Commit(tokens.get(p, 0), stored(5, "id", 1)) for p in partitions}, promise=promise
    )


def topics(partitions: Any) -> set[str]:
    return {partition.topic for partition in partitions}


def test_one_request_commits_for_all_topics_with_their_marks(member: Membership) -> None:
    assign(member, "a", "b")
    assert topics(commit(member, "a", "b").committed) == {"a", "b"}
    assert consumer_of(member).sent == [dict.fromkeys(["a-0", "b-0"], (5, "lp1;o=5;topic=id;gen=1"))]


def test_what_is_not_ours_is_refused_and_not_sent(member: Membership) -> None:
    assign(member, "a")
    outcome = commit(member, "a", "b")
    assert topics(outcome.committed) == {"a"}
    assert topics(outcome.refused) == {"b"}
    assert commit(member, "b").committed == set()
    assert len(consumer_of(member).sent) == 1


def test_one_bad_topic_does_not_take_the_others_with_it(member: Membership) -> None:
    names = [f"t{index:02}" for index in range(64)]
    assign(member, *names)
    consumer_of(member).failing = {"t17": kafka.errors.TopicAuthorizationFailedError("t17")}
    outcome = commit(member, *names)
    assert topics(outcome.failed) == {"t17"}
    assert topics(outcome.committed) == set(names) - {"t17"}
    assert len(consumer_of(member).sent) <= 13, "found by halving"


@pytest.mark.parametrize("error", [kafka.errors.CommitFailedError(), kafka.errors.KafkaTimeoutError()])
def test_an_error_of_the_group_is_not_tried_topic_by_topic(member: Membership, error: Exception) -> None:
    assign(member, "a", "b")
    consumer_of(member).failing = {"a": error}
    assert commit(member, "a", "b").failed.keys() == {TopicPartition("a", 0), TopicPartition("b", 0)}
    assert len(consumer_of(member).sent) == 1


def test_while_the_group_is_shared_out_nothing_is_sent_and_nothing_is_in_doubt(member: Membership) -> None:
    assign(member, "a")
    consumer_of(member).failing = {"a": kafka.errors.RebalanceInProgressError()}
    outcome = commit(member, "a")
    assert topics(outcome.refused) == {"a"}
    assert not outcome.failed


def test_a_name_that_another_process_has_taken_ends_the_member(member: Membership) -> None:
    assign(member, "a", "b")
    consumer_of(member).failing = {"a": kafka.errors.FencedInstanceIdError()}
    member.raise_if_fatal()
    assert topics(commit(member, "a", "b").failed) == {"a", "b"}
    with pytest.raises(FencedError, match="member-0"):
        member.raise_if_fatal()


def run_until(member: Membership, callback: Awaitable[None], steps: list[Callable[[], bool]]) -> None:
    """Run a callback; each step says whether it may be over already, before it lets it go on."""

    async def both() -> None:
        task = asyncio.ensure_future(callback)
        for step in steps:
            await asyncio.sleep(0.01)
            assert task.done() is step()
        await asyncio.wait_for(task, 5)

    asyncio.run(both())


def test_a_revocation_waits_for_what_is_executed_and_then_refuses_everything(member: Membership) -> None:
    assign(member, "a", "b")
    revoked = TopicPartition("a", 0)
    assert member.retain(member.ownership()) == {revoked, TopicPartition("b", 0)}

    def while_busy() -> bool:
        assert topics(commit(member, "a", promise=True).refused) == {"a"}
        assert topics(commit(member, "a").committed) == {"a"}
        member.release([revoked])
        return False

    run_until(member, member._listener.on_partitions_revoked([KafkaTopicPartition("a", 0)]), [while_busy])
    assert member.ownership().keys() == {TopicPartition("b", 0)}
    assert topics(commit(member, "a").refused) == {"a"}


def test_a_loss_waits_for_commits_in_flight_only(member: Membership) -> None:
    assign(member, "a")
    member.retain(member.ownership())
    in_flight = member._ownership.committing({}, CommitOutcome(), promise=False)
    in_flight.__enter__()

    def while_committing() -> bool:
        assert member.ownership() == {}
        assert not member.joined
        in_flight.__exit__(None, None, None)
        return False

    run_until(member, member._listener.on_partitions_lost([KafkaTopicPartition("a", 0)]), [while_committing])
    assert member.lost_partitions == 1


def test_a_member_without_partitions_is_one(member: Membership) -> None:
    """kafka-python calls no listener when nothing is assigned."""
    coordinator = consumer_of(member)._coordinator
    look = member._listener.handle_empty_assignment

    def answered(*, stable: bool, lost: bool) -> bool:
        coordinator.stable = lambda: stable
        coordinator._generation = SimpleNamespace(is_lost=lambda: lost)
        look()
        return member.joined

    assert not answered(stable=False, lost=True), "it has not joined yet"
    assert answered(stable=True, lost=False)
    assert answered(stable=False, lost=False), "the group shares out anew, and it is still a member"
    assert not answered(stable=False, lost=True), "expelled"
    assign(member, "a")
    assert answered(stable=False, lost=True), "who has partitions is told by the listener"


def test_tokens_do_not_outlive_a_revocation_whose_callback_fails(member: Membership) -> None:
    """kafka-python has dropped the partition by then, and goes on."""
    assign(member, "a", "b")
    member.retain(member.ownership())

    def broken(_seconds: float) -> None:
        raise OSError("the loop is closed")

    consumer_of(member)._net.sleep = broken
    with pytest.raises(OSError, match="closed"):
        asyncio.run(member._listener.on_partitions_revoked([KafkaTopicPartition("a", 0)]))
    assert topics(member.ownership()) == {"b"}


def test_tokens_are_those_of_the_assignment_whatever_became_of_a_callback(member: Membership) -> None:
    consumer, listener = consumer_of(member), member._listener
    assign(member, "a", "b")
    consumer.assigned = {KafkaTopicPartition("b", 0), KafkaTopicPartition("c", 0)}
    consumer._coordinator.stable = lambda: False
    consumer._coordinator._generation = SimpleNamespace(is_lost=lambda: False)
    listener.compare_with_assignment()
    assert topics(member.ownership()) == {"a", "b"}, "not in the middle of a join"
    token = member.ownership()[TopicPartition("b", 0)]
    consumer._coordinator.stable = lambda: True
    listener.compare_with_assignment()
    assert topics(member.ownership()) == {"b", "c"}
    assert member.ownership()[TopicPartition("b", 0)] == token


def reading(member: Membership, monkeypatch: pytest.MonkeyPatch, forbidden: str = "") -> list[set[str]]:
    """Let reads be answered, but for one topic; return what is asked for."""
    asked: list[set[str]] = []

    def read_fenced(_consumer: object, partitions: Any, _seconds: float) -> dict[KafkaTopicPartition, Any]:
        found = list(partitions)
        asked.append({partition.topic for partition in found})
        if forbidden in asked[-1]:
            raise kafka.errors.TopicAuthorizationFailedError(forbidden)
        marks = {"a": "lp1;o=5;topic=id;gen=1", "b": "lp9;topic=id"}
        return {p: OffsetAndMetadata(5, marks[p.topic], -1) for p in found if p.topic in marks}

    monkeypatch.setattr(internals, "read_fenced", read_fenced)
    return asked


def test_what_stands_in_the_register_is_read_with_its_marks(
    member: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = reading(member, monkeypatch)
    a, b, c = (TopicPartition(name, 0) for name in "abc")
    found = member.register.read([a, b, c])
    assert (found[a], found[c]) == (stored(5, "id", 1), None)
    assert isinstance(found[b], UnknownMetadataError)
    assert member.register.read([]) == {}
    assert len(asked) == 1


def test_an_answer_without_a_fence_is_no_answer(member: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_fenced(*_: Any) -> None:
        raise internals.UnfencedError("the coordinator has changed")

    monkeypatch.setattr(internals, "read_fenced", read_fenced)
    with pytest.raises(internals.UnfencedError):
        member.register.read([TopicPartition("a", 0), TopicPartition("b", 0)])
