from dataclasses import replace
from typing import Any

import pytest

from logpersister.manifest.revision import Revision
from logpersister.member.arrivals import Arrivals
from logpersister.member.telling import TellingMemory
from logpersister.plan.book import Book
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import Committed, Mark
from logpersister.plan.recovery import StoredRange
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from tests.unit.member.worlds import CLICKS, ORDERS, PLACE, TOPIC_ID, FakeWorld, manifest


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
    assert arrivals.revisions.documents[theirs.hash] == theirs.document
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


def promised_elsewhere(world: FakeWorld, generation: int = 1) -> Revision:
    """Let Kafka have a promise of a revision that stores in another bucket."""
    _, theirs = manifest(startFrom="latest")
    mark = Mark(TOPIC_ID, generation, theirs.hash, (8, 9), since=3, place="others/raw")
    world.group.kafka[CLICKS] = Committed(5, mark)
    return theirs


def test_an_intent_for_another_place_is_executed_as_written_when_that_lets_us_in(world: FakeWorld) -> None:
    theirs = promised_elsewhere(world)
    world.memory.elsewhere[theirs.hash] = theirs.document
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert [intent.place for intent in book.pending()] == ["others/raw"]
    assert theirs.hash in arrivals.revisions.documents


@pytest.mark.parametrize(
    "snapshot",
    [None, {"spec": "somebody changed it"}, *(StorageError(kind, "no") for kind in ("unauthorized", "damaged"))],
)
def test_an_intent_for_another_place_is_kept_in_ours_when_that_does_not_let_us_in(
    world: FakeWorld, snapshot: Any
) -> None:
    theirs = promised_elsewhere(world)
    if snapshot is not None:
        world.memory.elsewhere[theirs.hash] = snapshot
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert book.idle() == {CLICKS: 5}
    assert book.boundaries(CLICKS) == (8, 9)
    assert world.group.sent == [], "the promise stands until it is replaced by ours"
    assert world.memory.losses == []


def test_another_place_that_does_not_answer_stops_no_other_partition_and_is_asked_again(world: FakeWorld) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    theirs = promised_elsewhere(world)
    world.memory.elsewhere[theirs.hash] = StorageError("timeout", "away")
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert book.unresolved() == [CLICKS]
    assert book.idle() == {ORDERS: 0}
    world.memory.elsewhere[theirs.hash] = theirs.document
    world.time += 5
    arrivals.resolve()
    assert [intent.ends for intent in book.pending()] == [(8, 9)]


def test_another_place_that_does_not_answer_is_waited_for_once_and_is_no_failure_of_ours(world: FakeWorld) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    theirs = promised_elsewhere(world)
    world.group.kafka[ORDERS] = world.group.kafka[CLICKS]
    world.memory.elsewhere[theirs.hash] = StorageError("timeout", "away")
    failures: list[StorageError] = []
    telling = replace(world.ports(), memory=TellingMemory(world.memory, PLACE, failures.append))
    resource, own = manifest()
    book = Book()
    book.own(world.group.tokens)
    Arrivals(resource, own, book, telling, clock=world.clock).resolve()
    assert sorted(book.unresolved()) == [CLICKS, ORDERS]
    assert world.memory.asked_elsewhere == 1
    assert failures == []


def test_what_was_begun_in_our_place_and_given_up_elsewhere_is_promised_again_as_it_was(world: FakeWorld) -> None:
    """A member without access to our place had taken over, and ours is another revision by now."""
    promised_elsewhere(world)
    _, before = manifest(startFrom="latest", isolationLevel="read_uncommitted")
    world.memory.stored[CLICKS] = [stored(8, 9, before.hash)]
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert held(book) == {"clicks": HoldReason.REVISION_MISSING}, "nobody knows how it was begun"

    world.memory.revisions[before.hash] = before.document
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    mark = Mark(TOPIC_ID, 1, before.hash, (8, 9), since=3, place=PLACE)
    assert world.group.sent == [(CLICKS, Committed(5, mark), True)]
    assert [intent.revision for intent in book.pending()] == [before.hash]


def test_what_our_place_has_already_is_not_stored_again_for_another_one(world: FakeWorld) -> None:
    """Another bucket and an offset that was set back: a replay, of which ours must not get a part."""
    promised_elsewhere(world, generation=2)
    world.memory.stored[CLICKS] = [stored(0, 100)]
    arrivals, book = arrivals_in(world)
    arrivals.resolve()
    assert held(book) == {"clicks": HoldReason.REPLAY_REQUESTED}


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
    assert world.group.sent == [(CLICKS, Committed(10, Mark(TOPIC_ID, 1, theirs.hash, (20, 30), place=PLACE)), True)]
    assert [intent.start for intent in book.pending()] == [10]
