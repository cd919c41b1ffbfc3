"""A partition is never given to one member while another one still owns it, also not by a zombie's stale claim."""

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from logpersister.group.assignor import TruthfulAssignor, counts_digest, partition_counts
from logpersister.ranges import TopicPartition

PARTITIONS = 6


class Cluster:
    def topics(self) -> set[str]:
        return {"clicks"}

    def partitions_for_topic(self, _topic: str) -> set[int]:
        return set(range(PARTITIONS))


class Joining:
    """A member as the leader sees it."""

    def __init__(self, name: str, assignor: CooperativeStickyAssignor) -> None:
        self.member_id = name
        self.metadata = ConsumerProtocolSubscription.decode(assignor.metadata(["clicks"]).encode())


def assigned(partitions: Iterable[int]) -> ConsumerProtocolAssignment:
    return ConsumerProtocolAssignment(1, [("clicks", sorted(partitions))], b"")


def clicks(partitions: Iterable[int]) -> set[TopicPartition]:
    return {TopicPartition("clicks", partition) for partition in partitions}


def first_round(joining: Sequence[Joining], leader: CooperativeStickyAssignor) -> dict[str, set[TopicPartition]]:
    shares: dict[str, Any] = leader.assign(Cluster(), joining)
    return {name: {TopicPartition(p.topic, p.partition) for p in share.partitions()} for name, share in shares.items()}


@pytest.mark.parametrize("stale", range(1, PARTITIONS + 1))
@pytest.mark.parametrize("order", list(permutations(["zombie", "owner"])))
def test_a_zombie_that_joins_again_gets_nothing_that_another_member_owns(stale: int, order: tuple[str, str]) -> None:
    zombie, owner = TruthfulAssignor(set), TruthfulAssignor(lambda: clicks(range(PARTITIONS)))
    zombie.on_assignment(assigned(range(stale)), 1)  # then it was paused, expelled, and told that it lost everything
    owner.on_assignment(assigned(range(PARTITIONS)), 2)
    assignors = {"zombie": zombie, "owner": owner}
    shares = first_round([Joining(name, assignors[name]) for name in order], owner)
    assert not shares["zombie"], "the owner has not given up anything yet"
    assert len(shares["owner"]) == PARTITIONS // 2, "the other half is free in the next round"


class Grown(Cluster):
    def partitions_for_topic(self, _topic: str) -> set[int]:
        return set(range(PARTITIONS + 1))


def digest_of(cluster: Cluster) -> bytes:
    return counts_digest(partition_counts(cluster, ["clicks"]))


def test_each_share_says_from_what_it_was_computed() -> None:
    leader = TruthfulAssignor(set)
    shares = leader.assign(Cluster(), [Joining("one", leader), Joining("two", TruthfulAssignor(set))])
    member = TruthfulAssignor(set)
    member.on_assignment(ConsumerProtocolAssignment.decode(shares["two"].encode()), 1)
    told = member.computed_from
    assert told == digest_of(Cluster())
    assert told != digest_of(Grown())


def test_a_leader_of_an_older_release_does_not_say_it() -> None:
    member = TruthfulAssignor(set)
    member.on_assignment(assigned([0]), 2)
    assert member.computed_from is None
    assert not member.unfinished


def test_who_comes_back_to_a_share_that_gives_up_partitions_asks_for_the_next() -> None:
    owner, newcomer = TruthfulAssignor(lambda: clicks(range(PARTITIONS))), TruthfulAssignor(set)
    shares = owner.assign(Cluster(), [Joining("owner", owner), Joining("newcomer", newcomer)])
    after_a_restart = TruthfulAssignor(set)
    for member, share in ((owner, "owner"), (newcomer, "newcomer"), (after_a_restart, "owner")):
        member.on_assignment(ConsumerProtocolAssignment.decode(shares[share].encode()), 1)
        assert member.computed_from == digest_of(Cluster())
    assert after_a_restart.unfinished
    assert not owner.unfinished, "it asks for the next when it has given them up"
    assert not newcomer.unfinished
    after_a_restart.insist()
    assert not after_a_restart.unfinished, "it has asked"


def test_who_insists_joins_with_other_bytes() -> None:
    """The broker answers a member that joins as it has joined before with the share that it has."""
    member = TruthfulAssignor(set)
    before = member.metadata(["clicks"]).encode()
    assert member.metadata(["clicks"]).encode() == before
    member.insist()
    assert member.metadata(["clicks"]).encode() != before
