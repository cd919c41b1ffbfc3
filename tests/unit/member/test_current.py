from types import SimpleNamespace
from typing import Any

import pytest

from logpersister.manifest import parse
from logpersister.member.current import NoTopicsError, behind, targets
from logpersister.plan.book import Book
from logpersister.plan.intents import stored
from logpersister.plan.recovery import Resume
from tests.unit.member.worlds import CLICKS, ORDERS, FakeWorld, manifest


def test_targets_are_the_ends_of_all_partitions_of_the_topics(world: FakeWorld) -> None:
    resource, _ = manifest()
    world.offsets.end[CLICKS] = 7
    assert targets(resource.spec.kafka, world.offsets, lambda _: ()) == {CLICKS: 7, ORDERS: 0}


def test_topics_of_a_pattern_are_those_that_match(world: FakeWorld) -> None:
    resource, _ = manifest()
    document: Any = resource.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["spec"]["kafka"] |= {"topicPattern": "^c"}
    del document["spec"]["kafka"]["topics"]
    kafka = parse(document).spec.kafka
    assert targets(kafka, world.offsets, lambda matches: [it for it in ("clicks", "orders") if matches(it)]) == {
        CLICKS: 0
    }


def test_a_topic_that_does_not_exist_or_cannot_be_read_is_said(world: FakeWorld) -> None:
    resource, _ = manifest()
    del world.offsets.ids["orders"]
    with pytest.raises(NoTopicsError, match="orders: no such topic"):
        targets(resource.spec.kafka, world.offsets, lambda _: ())
    unreadable: Any = SimpleNamespace(
        describe=FakeWorld().offsets.describe,
        ends=lambda _: SimpleNamespace(values={}, errors={"clicks": ConnectionError("no leader")}),
    )
    with pytest.raises(NoTopicsError, match="offsets of topic clicks cannot be read: no leader"):
        targets(resource.spec.kafka, unreadable, lambda _: ())


def test_our_own_partitions_first_then_those_of_other_members(world: FakeWorld) -> None:
    book = Book()
    book.own({CLICKS: 1})
    ends = {CLICKS: 10, ORDERS: 5}
    assert behind(ends, book, world.offsets) == {CLICKS: -1}
    book.resolve(CLICKS, Resume(9), "id", 1)
    assert behind(ends, book, world.offsets) == {CLICKS: 9}
    assert world.offsets.asked == 0
    book.move(CLICKS, 10)
    assert behind(ends, book, world.offsets) == {ORDERS: -1}
    world.group.kafka[ORDERS] = stored(4, "id", 1)
    assert behind(ends, book, world.offsets) == {ORDERS: 4}
    world.group.kafka[ORDERS] = stored(5, "id", 1)
    assert behind(ends, book, world.offsets) == {}
    world.offsets.unknown_mark = {ORDERS}
    assert behind(ends, book, world.offsets) == {ORDERS: -1}
