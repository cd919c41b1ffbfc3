"""Rounds of a member, where the order and the consequences of failures matter."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from logpersister.member.cycle import SAMPLE_AGAIN_SECONDS, Cycle
from logpersister.member.listener import Listener
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import Committed, Mark
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from tests.unit.member.worlds import CLICKS, ORDERS, PLACE, TOPIC_ID, FakeWorld, manifest


class Heard(Listener):
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def stored(self, outcomes: Sequence[RangeOutcome]) -> None:
        self.events += [("stored", outcome.range.start, outcome.range.end) for outcome in outcomes]

    def failed(self, range_: Range, error: WorkError) -> None:
        self.events.append(("failed", range_.start, error.kind))

    def lost(self, partition: TopicPartition, start: Offset, end: Offset, *, skipped: bool) -> None:
        self.events.append(("lost", start, end, skipped))

    def committing(self, step: str, seconds: float, failed: Mapping[TopicPartition, Exception]) -> None:
        if failed:
            self.events.append(("commit failed", step))


def cycle_in(world: FakeWorld, listener: Listener | None = None, **kafka: Any) -> Cycle:
    resource, revision = manifest(**kafka)
    return Cycle(resource, revision, world.ports(), listener=listener, clock=world.clock, now=world.clock)


def turn(world: FakeWorld, cycle: Cycle, seconds: float = 2.0) -> None:
    world.time += seconds
    cycle.turn()


def begin(world: FakeWorld, cycle: Cycle, **ends: Offset) -> None:
    """Own and resolve partitions; then records come."""
    cycle.turn()
    for topic, end in ends.items():
        world.offsets.end[TopicPartition(topic, 0)] = end


def marks(world: FakeWorld, partition: TopicPartition = CLICKS) -> list[tuple[Offset, tuple[Offset, ...]]]:
    sent = [(it.offset, it.mark) for p, it, _ in world.group.sent if p == partition]
    return [(offset, mark.ends if mark else ()) for offset, mark in sent]


def test_promise_execute_keep(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    assert marks(world) == [(0, ()), (0, (10, 20, 25))]
    assert len(world.memory.revisions) == 1, "the snapshot is there before the promise"
    assert world.jobs.ranges() == [Range(CLICKS, 0, 10), Range(CLICKS, 10, 20), Range(CLICKS, 20, 25)]
    assert world.group.busy == {CLICKS}
    world.jobs.end()
    turn(world, cycle)
    assert marks(world)[-1] == (25, ())
    assert world.group.busy == set()
    assert heard.events == [("stored", 0, 10), ("stored", 10, 20), ("stored", 20, 25)]


def test_nothing_is_promised_when_the_snapshot_cannot_be_stored(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    world.memory.error = StorageError("unreachable", "S3 is away")
    with pytest.raises(StorageError):
        turn(world, cycle)
    assert marks(world) == [(0, ())]
    world.memory.error = None
    turn(world, cycle)
    assert marks(world)[-1] == (0, (10, 20, 25))


def test_nothing_is_executed_when_the_promise_may_not_have_arrived(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard)
    begin(world, cycle, clicks=25)
    world.group.failing = {CLICKS}
    turn(world, cycle)
    assert world.jobs.submitted == []
    assert heard.events == [("commit failed", "promise")]
    assert cycle.book.unresolved() == [CLICKS]


def test_a_commit_in_doubt_costs_no_second_execution(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    world.jobs.end()
    world.group.failing = {CLICKS}
    turn(world, cycle)
    world.group.failing = set()
    turn(world, cycle)
    turn(world, cycle)
    assert marks(world)[-1] == (25, ())
    assert len(world.jobs.submitted) == 1


def test_without_promising_what_has_ended_is_kept_and_nothing_begins(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    world.jobs.end()
    world.offsets.end[CLICKS] = 100
    world.time += 10
    cycle.turn(promising=False)
    assert marks(world)[-1] == (25, ())
    assert len(world.jobs.submitted) == 1


def test_losses_that_cannot_be_recorded_now_leave_no_range_running(world: FakeWorld) -> None:
    cycle = cycle_in(world, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    lost = {Range(CLICKS, 0, 10): WorkError("data-lost", "gone", log_start=15)}
    world.jobs.end(errors=lost)
    world.memory.error = StorageError("unreachable", "S3 is away")
    with pytest.raises(StorageError):
        turn(world, cycle)
    assert not cycle.book.running([CLICKS])
    world.memory.error = None
    turn(world, cycle, 5.0)
    assert world.jobs.ranges() == [Range(CLICKS, 0, 10)], "it is tried again, and lost again"
    world.jobs.end(errors=lost)
    turn(world, cycle)
    assert world.memory.losses == [(CLICKS, 0, 15, "lost")]
    assert marks(world)[-1] == (25, ())


def test_a_promised_range_that_is_partly_lost_is_read_from_where_the_log_begins(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    errors = {range_: WorkError("data-lost", "gone", log_start=15) for range_ in world.jobs.ranges()[:2]}
    world.jobs.end(errors=errors)
    turn(world, cycle)
    turn(world, cycle)
    ((again,),) = [task.work for task in world.jobs.submitted[-1][0]]
    assert (again.range, again.read_from, again.partly_lost) == (Range(CLICKS, 10, 20), 15, True)
    assert marks(world)[-1] == (10, (20, 25)), "what is lost as a whole is not executed"
    assert ("lost", 0, 15, True) in heard.events


def test_with_fail_a_loss_holds_the_partition_and_is_not_recorded(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard)
    begin(world, cycle, clicks=25)
    world.offsets.start[CLICKS] = 5
    turn(world, cycle)
    assert cycle.book.held()[CLICKS].reason is HoldReason.DATA_LOST
    assert world.memory.losses == []
    assert heard.events == [("lost", 0, 5, False)]
    turn(world, cycle)
    assert marks(world) == [(0, ())]


def test_with_skip_an_idle_partition_moves_on_after_the_loss_is_recorded(world: FakeWorld) -> None:
    cycle = cycle_in(world, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    world.offsets.start[CLICKS] = 5
    turn(world, cycle)
    turn(world, cycle)
    assert world.memory.losses == [(CLICKS, 0, 5, "lost")]
    turn(world, cycle)
    assert marks(world) == [(0, ()), (5, ()), (5, (15, 25))]


@pytest.mark.parametrize("kind", ["corrupt", "topic-recreated"])
def test_what_is_held_or_fails_does_not_keep_others_from_being_promised(world: FakeWorld, kind: str) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=1000)
    turn(world, cycle)
    assert len(world.jobs.ranges()) == 16, "as many as may wait"
    world.jobs.end(errors={range_: WorkError(kind, "no") for range_ in world.jobs.ranges()})
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    world.time += 2.0
    begin(world, cycle, orders=25)
    assert cycle.book.is_stuck(CLICKS)
    turn(world, cycle)
    turn(world, cycle)
    assert marks(world, ORDERS)[-1] == (0, (10, 20, 25))


def test_a_topic_without_a_sample_is_asked_once_in_a_while(world: FakeWorld) -> None:
    world.sampler.error = RuntimeError("not authorised")
    cycle = cycle_in(world)
    begin(world, cycle, clicks=5)
    world.group.failing = {CLICKS}  # so that it stays to be planned
    for _ in range(5):
        turn(world, cycle)
    assert len(world.sampler.asked) == 1
    turn(world, cycle, SAMPLE_AGAIN_SECONDS)
    turn(world, cycle)
    assert len(world.sampler.asked) == 2


def test_after_an_intent_of_a_higher_generation_the_bucket_is_asked(world: FakeWorld) -> None:
    _, theirs = manifest(startFrom="latest")
    world.memory.revisions[theirs.hash] = theirs.document
    world.group.kafka[CLICKS] = Committed(0, Mark(TOPIC_ID, 2, theirs.hash, (10,)))
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    assert world.jobs.ranges() == [Range(CLICKS, 0, 10)], "what is pending comes first"
    world.jobs.end()
    turn(world, cycle)
    turn(world, cycle)
    ours = [it.mark for p, it, _ in world.group.sent if p == CLICKS and it.mark is not None]
    assert [(mark.generation, mark.ends) for mark in ours[:2]] == [(2, ()), (1, ())]


def test_a_topic_that_was_made_again_is_held(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    world.offsets.ids["clicks"] = "B" * 22
    turn(world, cycle, 20.0)
    assert cycle.book.held()[CLICKS].reason is HoldReason.TOPIC_RECREATED
    assert marks(world) == [(0, ())]


def test_a_damaged_note_holds_only_its_topic(world: FakeWorld) -> None:
    world.memory.topics["clicks", 1] = ForeignObjectError("somebody changed it")
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25, orders=25)
    turn(world, cycle)
    assert cycle.book.held()[CLICKS].reason is HoldReason.FOREIGN_OBJECTS
    assert marks(world, ORDERS)[-1][1], "others are promised"


def test_a_generation_is_about_one_topic_of_a_name(world: FakeWorld) -> None:
    """Kafka forgets offsets with their topic; that another one was begun, only the bucket knows."""
    world.memory.topics["clicks", 1] = "B" * 22
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25, orders=25)
    turn(world, cycle)
    assert cycle.book.held()[CLICKS].reason is HoldReason.TOPIC_RECREATED
    assert marks(world) == [(0, ())]
    assert marks(world, ORDERS)[-1][1], "others are promised"
    assert world.memory.topics["orders", 1] == TOPIC_ID


def test_a_partition_that_ends_too_early_is_held_after_a_while_unless_its_topic_was_made_again(
    world: FakeWorld,
) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    for partition in (CLICKS, ORDERS):
        world.group.kafka[partition] = Committed(50, Mark(TOPIC_ID, 1))
    cycle = cycle_in(world)
    begin(world, cycle, clicks=20, orders=20)
    turn(world, cycle, 55.0)
    assert cycle.book.held() == {}
    world.offsets.ids["orders"] = "B" * 22
    turn(world, cycle, 10.0)
    reasons = {partition: hold.reason for partition, hold in cycle.book.held().items()}
    assert reasons == {CLICKS: HoldReason.TRUNCATED, ORDERS: HoldReason.TOPIC_RECREATED}


def promised_for_another_place(world: FakeWorld) -> Cycle:
    """Return a member that has begun to execute what a revision with another bucket has promised."""
    _, theirs = manifest(startFrom="latest")
    world.memory.elsewhere[theirs.hash] = theirs.document
    world.group.kafka[CLICKS] = Committed(0, Mark(TOPIC_ID, 1, theirs.hash, (8, 9), place="others/raw"))
    world.offsets.end[CLICKS] = 30
    cycle = cycle_in(world)
    cycle.turn()
    assert world.jobs.ranges() == [Range(CLICKS, 0, 8), Range(CLICKS, 8, 9)]
    return cycle


def fail(world: FakeWorld, cycle: Cycle, kind: str, *, stored: Sequence[Range] = ()) -> None:
    """Let the job that runs fail but for some ranges, and the next one begin."""
    error = WorkError(kind, "no", upload=True)
    world.jobs.end(errors={range_: error for range_ in world.jobs.ranges() if range_ not in stored})
    turn(world, cycle, seconds=1)
    turn(world, cycle, seconds=100)


def test_what_another_place_refuses_again_and_again_is_promised_and_stored_in_ours(world: FakeWorld) -> None:
    cycle = promised_for_another_place(world)
    fail(world, cycle, "unauthorized", stored=[Range(CLICKS, 8, 9)])
    fail(world, cycle, "unauthorized")
    fail(world, cycle, "unauthorized")
    assert marks(world) == [], "it may have been a moment"
    fail(world, cycle, "unauthorized")
    turn(world, cycle, seconds=100)
    assert world.group.kafka[CLICKS] == Committed(0, Mark(TOPIC_ID, 1, manifest()[1].hash, (8, 9), place=PLACE))
    assert manifest()[1].hash in world.memory.revisions, "the snapshot is there before the promise"
    assert world.jobs.ranges() == [Range(CLICKS, 0, 8), Range(CLICKS, 8, 9)], "what is stored there only is not ours"
    world.jobs.end()
    turn(world, cycle)
    turn(world, cycle)
    assert marks(world)[1] == (9, ()), "from there on as ours plans it"


def test_what_is_lost_of_a_promise_for_another_place_keeps_its_boundaries_in_ours(world: FakeWorld) -> None:
    """They stand in Kafka at every moment: a range that overlapped with one there could be stored there later."""
    _, theirs = manifest(startFrom="latest")
    world.group.kafka[CLICKS] = Committed(0, Mark(TOPIC_ID, 1, theirs.hash, (8, 20), place="others/raw"))
    world.offsets.end[CLICKS], world.offsets.start[CLICKS] = 30, 5
    cycle = cycle_in(world, onDataLoss="skip")
    cycle.turn()
    assert marks(world) == [(0, (8, 20))]
    lost = WorkError("data-lost", "gone", log_start=5)
    world.jobs.end(errors={Range(CLICKS, 0, 8): lost})
    turn(world, cycle)
    turn(world, cycle, seconds=100)
    assert world.memory.losses == [(CLICKS, 0, 5, "lost")]
    ((again,),) = [task.work for task in world.jobs.submitted[-1][0]]
    assert (again.range, again.read_from, again.partly_lost) == (Range(CLICKS, 0, 8), 5, True)


def test_another_place_that_fails_for_a_while_is_waited_for(world: FakeWorld) -> None:
    """Where it is away, ours most likely is too."""
    cycle = promised_for_another_place(world)
    for _ in range(10):
        fail(world, cycle, "unreachable")
    assert [intent.place for intent in cycle.book.pending()] == ["others/raw"]


def test_a_refusal_by_our_own_place_changes_no_promise(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    for _ in range(10):
        fail(world, cycle, "unauthorized")
    assert [intent.ends for intent in cycle.book.pending()] == [(10, 20, 25)]
