from types import SimpleNamespace
from typing import Any

import pytest

from logpersister.manifest import parse
from logpersister.member.current import DESCRIBE_SECONDS, NoTopicsError, behind, goal_of
from logpersister.plan.intents import stored
from logpersister.plan.partitions import PartitionStates
from logpersister.plan.protocol import Resolved
from tests.unit.member.worlds import CLICKS, ORDERS, TOPIC_ID, FakeWorld, manifest


def test_targets_are_the_ends_of_all_partitions_of_the_topics(world: FakeWorld) -> None:
    resource, _ = manifest()
    world.offsets.end[CLICKS] = 7
    goal = goal_of(resource.spec.kafka, world.offsets, world.clock)
    assert goal.ends == {CLICKS: 7, ORDERS: 0}


def test_topics_of_a_pattern_are_those_that_match(world: FakeWorld) -> None:
    resource, _ = manifest()
    document: Any = resource.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["spec"]["kafka"] |= {"topicPattern": "^c"}
    del document["spec"]["kafka"]["topics"]
    kafka = parse(document).spec.kafka
    assert goal_of(kafka, world.offsets, world.clock).ends == {CLICKS: 0}
    unmatched = kafka.model_copy(update={"topic_pattern": "^clikcs"})
    with pytest.raises(NoTopicsError, match='"\\^clikcs" matches no topic, so there is nothing to store'):
        goal_of(unmatched, world.offsets, world.clock)


def test_a_topic_that_does_not_exist_or_cannot_be_read_is_said(world: FakeWorld) -> None:
    resource, _ = manifest()
    del world.offsets.ids["orders"]
    with pytest.raises(NoTopicsError, match="orders: no such topic"):
        goal_of(resource.spec.kafka, world.offsets, world.clock)
    unreadable: Any = SimpleNamespace(
        describe=FakeWorld().offsets.describe,
        ends=lambda _: SimpleNamespace(values={}, errors={"clicks": ConnectionError("no leader")}),
    )
    with pytest.raises(NoTopicsError, match="offsets of topic clicks cannot be read: no leader"):
        goal_of(resource.spec.kafka, unreadable, world.clock)


def test_our_own_partitions_first_then_those_of_other_members(world: FakeWorld) -> None:
    states = PartitionStates(1)
    states.own({CLICKS: 1})
    ends = {CLICKS: 10, ORDERS: 5}
    assert behind(ends, states, world.register) == {CLICKS: -1}
    states.step(CLICKS, Resolved(stored(9, "id", 1), stored(9, "id", 1), "id"))
    assert behind(ends, states, world.register) == {CLICKS: 9}
    assert world.register.asked == 0
    states.own({CLICKS: 2})
    states.step(CLICKS, Resolved(stored(10, "id", 1), stored(10, "id", 1), "id"))
    assert behind(ends, states, world.register) == {ORDERS: -1}
    world.register.kafka[ORDERS] = stored(4, "id", 1)
    assert behind(ends, states, world.register) == {ORDERS: 4}
    world.register.kafka[ORDERS] = stored(5, "id", 1)
    assert behind(ends, states, world.register) == {}
    world.register.unknown_mark = {ORDERS}
    assert behind(ends, states, world.register) == {ORDERS: -1}


@pytest.mark.parametrize("made_again", [False, True])
def test_a_topic_that_is_deleted_meanwhile_is_not_waited_for(world: FakeWorld, *, made_again: bool) -> None:
    resource, _ = manifest()
    goal = goal_of(resource.spec.kafka, world.offsets, world.clock)
    goal.look_for_topics(["clicks", "orders"], world.offsets)
    if made_again:
        world.offsets.ids["orders"] = "B" * 22
    else:
        del world.offsets.ids["orders"]
    for _ in range(2):
        assert goal.deleted == set(), "it may be a broker that has just started"
        world.time += DESCRIBE_SECONDS
        goal.look_for_topics(["clicks", "orders"], world.offsets)
    assert goal.deleted == {"orders"}
    world.offsets.ids["orders"] = TOPIC_ID
    asked = world.offsets.asked
    goal.look_for_topics(["clicks", "orders"], world.offsets)
    assert world.offsets.asked == asked, "not in every round"
