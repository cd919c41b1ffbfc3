from typing import Any

import pytest

from logpersister.member.arrivals import Arrivals
from logpersister.plan.book import Book
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import Committed, Mark
from logpersister.plan.recovery import StoredRange
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from tests.unit.member.worlds import CLICKS, ORDERS, TOPIC_ID, FakeWorld, manifest


def arrivals_in(world: FakeWorld, **kafka: Any) -> tuple[Arrivals, Book]:
    resource, revision = manifest(**kafka)
    book = Book()
    book.own(world.group.tokens)
    return Arrivals(resource, revision, book, world.ports(), clock=world.clock), book


def held(book: Book) -> dict[str, HoldReason]:
    return {partition.topic: hold.reason for partition, hold in book.held().items()}


def stored(start: int, end: int, revision: str = "rev") -> StoredRange:
    return StoredRange(start, end, "backup", revision, TOPIC_ID, whole=True)


@pytest.mark.parametrize(("start_from", "position"), [("earliest", 3), ("latest", 9), ("2026-01-01T00:00:00Z", 9)])
def test_a_partition_without_a_trace_begins_where_the_manifest_says_and_that_is_committed(
    world: FakeWorld, start_from: str, position: int
) -> None:
    world.offsets.start[CLICKS], world.offsets.end[CLICKS] = 3, 9
    arrivals, book = arrivals_in(world, startFrom=start_from)
    arrivals.resolve()
    assert book.idle() == {CLICKS: position}
    assert world.group.sent == [(CLICKS, Committed(position, Mark(TOPIC_ID, 1, since=position)), True)]


def test_in_shadow_mode_it_begins_where_the_other_group_is(world: FakeWorld) -> None:
    arrivals, book = arrivals_in(world, startFrom="latest")
    world.offsets.start[CLICKS], world.offsets.end[CLICKS] = 3, 9
    arrivals.begin_at = lambda partitions: dict.fromkeys(partitions, 6)
    arrivals.resolve()
    assert book.idle() == {CLICKS: 6}
    assert world.group.sent == [(CLICKS, Committed(6, Mark(TOPIC_ID, 1, since=6)), True)]


def test_in_shadow_mode_it_begins_as_the_manifest_says_where_the_other_group_has_not(world: FakeWorld) -> None:
    arrivals, book = arrivals_in(world, startFrom="latest")
    world.offsets.start[CLICKS], world.offsets.end[CLICKS] = 3, 9
    arrivals.begin_at = lambda _: {}
    arrivals.resolve()
    assert book.unresolved() == [CLICKS], "not before it is known"
    arrivals.begin_at = dict.fromkeys
    world.time += 5
    arrivals.resolve()
    assert book.idle() == {CLICKS: 9}


def test_what_must_be_committed_first_waits_for_it(world: FakeWorld) -> None:
    world.group.failing = {CLICKS}
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert book.unresolved() == [CLICKS]
    world.group.failing = set()
    arrivals.resolve()
    assert book.unresolved() == [CLICKS], "not at once again"
    world.time += 5
    arrivals.resolve()
    assert book.idle() == {CLICKS: 0}


def test_an_intent_is_taken_over_with_the_snapshot_of_its_revision(world: FakeWorld) -> None:
    _, theirs = manifest(startFrom="latest")
    world.memory.revisions[theirs.hash] = theirs.document
    world.group.kafka[CLICKS] = Committed(5, Mark(TOPIC_ID, 1, theirs.hash, (8, 9)))
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert [intent.ends for intent in book.pending()] == [(8, 9)]
    assert arrivals.revisions[theirs.hash] == theirs.document
    assert world.group.sent == [], "it is in Kafka already"


@pytest.mark.parametrize("snapshot", [None, {"spec": "somebody changed it"}, StorageError("damaged", "is not JSON")])
def test_an_intent_whose_snapshot_is_missing_or_changed_is_held(world: FakeWorld, snapshot: Any) -> None:
    _, theirs = manifest(startFrom="latest")
    world.group.kafka[CLICKS] = Committed(5, Mark(TOPIC_ID, 1, theirs.hash, (8, 9)))
    if isinstance(snapshot, dict):
        world.memory.revisions[theirs.hash] = snapshot
    elif snapshot is not None:
        world.memory.error = snapshot
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert held(book) == {"clicks": HoldReason.REVISION_MISSING}
    assert book.pending() == []


@pytest.mark.parametrize("what", ["kafka", "s3"])
def test_nothing_is_decided_without_kafka_and_the_bucket(world: FakeWorld, what: str) -> None:
    if what == "kafka":
        world.offsets.error = ConnectionError("away")
    else:
        world.memory.error = StorageError("unauthorized", "the token has expired")
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert book.unresolved() == [CLICKS]
    world.offsets.error = world.memory.error = None
    world.time += 5
    arrivals.resolve()
    assert book.idle() == {CLICKS: 0}


def test_a_topic_that_kafka_does_not_tell_of_does_not_stop_the_others_and_is_not_asked_all_the_time(
    world: FakeWorld,
) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    del world.offsets.ids["orders"]
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert book.idle() == {CLICKS: 0}
    asked = world.offsets.asked
    for _ in range(10):
        arrivals.resolve()
    assert world.offsets.asked == asked


def test_what_cannot_be_read_concerns_its_partition_only(world: FakeWorld) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    world.offsets.unknown_mark = {CLICKS}
    world.memory.stored[ORDERS] = ForeignObjectError("object 'raw/orders/x' is not whole")
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert held(book) == {"clicks": HoldReason.UNKNOWN_METADATA, "orders": HoldReason.FOREIGN_OBJECTS}
    assert world.group.sent == []


def test_an_offset_that_was_set_forward_is_recorded_before_it_is_committed(world: FakeWorld) -> None:
    world.group.kafka[CLICKS] = Committed(20, None)
    world.memory.stored[CLICKS] = [stored(0, 10)]
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert world.memory.losses == [(CLICKS, 10, 20, "skipped")]
    assert book.idle() == {CLICKS: 20}


def test_a_forgotten_intent_is_promised_again_before_it_is_executed(world: FakeWorld) -> None:
    _, theirs = manifest(startFrom="latest")
    world.memory.revisions[theirs.hash] = theirs.document
    world.memory.stored[CLICKS] = [stored(0, 10, theirs.hash), stored(20, 30, theirs.hash)]
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert world.group.sent == [(CLICKS, Committed(10, Mark(TOPIC_ID, 1, theirs.hash, (20, 30))), True)]
    assert [intent.start for intent in book.pending()] == [10]
