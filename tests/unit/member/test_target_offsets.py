from typing import Any

import pytest
from kafka.errors import TopicAuthorizationFailedError

from logpersister.forms.sparse import sparse
from logpersister.manifest import parse
from logpersister.member.target_offsets import DESCRIBE_SECONDS, NoTopicsError, behind, target_offsets_of
from logpersister.plan.events import Resolved
from logpersister.plan.intents import stored
from logpersister.plan.partitions import PartitionStates
from tests.unit.member.fakes import CLICKS, ORDERS, TOPIC_ID, FakeDependencies, manifest


def test_topics_of_a_pattern_are_those_that_match(fakes: FakeDependencies) -> None:
    resource, _ = manifest()
    document: Any = sparse(resource)
    document["spec"]["kafka"] |= {"topicPattern": "^c"}
    del document["spec"]["kafka"]["topics"]
    kafka = parse(document).spec.kafka
    assert target_offsets_of(kafka, fakes.offsets, fakes.clock).ends == {CLICKS: 0}
    unmatched = kafka.model_copy(update={"topic_pattern": "^clikcs"})
    with pytest.raises(NoTopicsError, match='"\\^clikcs" matches no topic, so there is nothing to store'):
        target_offsets_of(unmatched, fakes.offsets, fakes.clock)


def test_a_topic_that_does_not_exist_is_said(fakes: FakeDependencies) -> None:
    resource, _ = manifest()
    del fakes.offsets.ids["orders"]
    with pytest.raises(NoTopicsError, match="orders: no such topic"):
        target_offsets_of(resource.spec.kafka, fakes.offsets, fakes.clock)


def test_a_partition_that_cannot_be_read_keeps_no_other_from_beginning(fakes: FakeDependencies) -> None:
    resource, _ = manifest()
    fakes.offsets.end[CLICKS] = fakes.offsets.end[ORDERS] = 7
    fakes.offsets.leaderless = {ORDERS}
    targets = target_offsets_of(resource.spec.kafka, fakes.offsets, fakes.clock)
    assert (targets.ends, list(targets.unread)) == ({CLICKS: 7}, [ORDERS])
    fakes.offsets.leaderless = set()
    targets.ask_again(fakes.offsets)
    assert (targets.ends, targets.unread) == ({CLICKS: 7, ORDERS: 7}, {})


def test_a_topic_that_may_not_be_described_is_left_to_the_end(fakes: FakeDependencies) -> None:
    """How many partitions it has is not known, so it stays open, also when somebody grants the right meanwhile."""
    resource, _ = manifest()
    del fakes.offsets.ids["orders"]
    fakes.offsets.leaderless, fakes.offsets.why = {ORDERS}, TopicAuthorizationFailedError("orders")
    targets = target_offsets_of(resource.spec.kafka, fakes.offsets, fakes.clock)
    fakes.offsets.leaderless = set()
    targets.ask_again(fakes.offsets)
    assert (targets.ends, list(targets.unread)) == ({CLICKS: 0}, [ORDERS])


def test_our_own_partitions_first_then_those_of_other_members(fakes: FakeDependencies) -> None:
    states = PartitionStates(1)
    states.own({CLICKS: 1})
    ends = {CLICKS: 10, ORDERS: 5}
    assert behind(ends, states, fakes.register) == {CLICKS: -1}
    states.step(CLICKS, Resolved(stored(9, "id", 1), stored(9, "id", 1), "id"))
    assert behind(ends, states, fakes.register) == {CLICKS: 9}
    states.own({CLICKS: 2})
    states.step(CLICKS, Resolved(stored(10, "id", 1), stored(10, "id", 1), "id"))
    assert behind(ends, states, fakes.register) == {ORDERS: -1}
    fakes.register.kafka[ORDERS] = stored(4, "id", 1)
    assert behind(ends, states, fakes.register) == {ORDERS: 4}
    fakes.register.kafka[ORDERS] = stored(5, "id", 1)
    assert behind(ends, states, fakes.register) == {}
    fakes.register.unknown_metadata = {ORDERS}
    assert behind(ends, states, fakes.register) == {ORDERS: -1}


def test_a_topic_that_is_deleted_meanwhile_is_not_waited_for(fakes: FakeDependencies) -> None:
    resource, _ = manifest()
    targets = target_offsets_of(resource.spec.kafka, fakes.offsets, fakes.clock)
    targets.find_deleted_topics(["clicks", "orders"], fakes.offsets)
    fakes.offsets.ids["orders"] = "B" * 22
    for _ in range(2):
        assert targets.deleted == set(), "it may be a broker that has just started"
        fakes.time += DESCRIBE_SECONDS
        targets.find_deleted_topics(["clicks", "orders"], fakes.offsets)
    assert targets.deleted == {"orders"}
    fakes.offsets.ids["orders"] = TOPIC_ID
    asked = fakes.offsets.asked
    targets.find_deleted_topics(["clicks", "orders"], fakes.offsets)
    assert fakes.offsets.asked == asked, "not in every round"
