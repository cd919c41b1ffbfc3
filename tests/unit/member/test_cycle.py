"""Rounds of a member, where the order and the consequences of failures matter."""

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import Mock

import pytest

from logpersister.member.cycle import Cycle
from logpersister.member.listener import Listener
from logpersister.member.sizing import SAMPLE_AGAIN_SECONDS
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import CommittedOffset, OffsetMetadata, UnstoredPrefix
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote
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


def commits(world: FakeWorld, partition: TopicPartition = CLICKS) -> list[tuple[Offset, tuple[Offset, ...]]]:
    sent = [(it.offset, it.metadata) for p, it, _ in world.register.sent if p == partition]
    return [(offset, metadata.ends if metadata else ()) for offset, metadata in sent]


def test_promise_execute_keep(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    assert commits(world) == [(0, ()), (0, (10, 20, 25))]
    assert len(world.memory.revisions) == 1, "the snapshot is there before the promise"
    assert world.jobs.ranges() == [Range(CLICKS, 0, 10), Range(CLICKS, 10, 20), Range(CLICKS, 20, 25)]
    assert world.group.busy == {CLICKS}
    world.jobs.end()
    turn(world, cycle)
    assert commits(world)[-1] == (25, ())
    assert world.group.busy == set()
    assert heard.events == [("stored", 0, 10), ("stored", 10, 20), ("stored", 20, 25)]


def test_nothing_is_promised_when_the_snapshot_cannot_be_stored(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    world.memory.topics["clicks", 1] = TopicNote(TOPIC_ID)
    turn(world, cycle)
    world.jobs.end()
    turn(world, cycle)
    again = cycle_in(world)
    begin(world, again, clicks=50)
    again.claims.claim({"clicks": TopicNote(TOPIC_ID)})
    world.memory.error = StorageError("unreachable", "S3 is away")
    with pytest.raises(StorageError):
        turn(world, again)
    assert commits(world)[-1] == (25, ())
    world.memory.error = None
    turn(world, again)
    assert commits(world)[-1] == (25, (35, 45, 50))


def test_nothing_is_executed_when_the_promise_may_not_have_arrived(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard)
    begin(world, cycle, clicks=25)
    world.register.failing = {CLICKS}
    turn(world, cycle)
    assert world.jobs.submitted == []
    assert heard.events == [("commit failed", "promise")]
    assert cycle.states.unresolved() == [CLICKS]


def test_a_commit_in_doubt_costs_no_second_execution(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    world.jobs.end()
    world.register.failing = {CLICKS}
    turn(world, cycle)
    world.register.failing = set()
    turn(world, cycle)
    turn(world, cycle)
    assert commits(world)[-1] == (25, ())
    assert len(world.jobs.submitted) == 1


def test_without_promising_what_has_ended_is_kept_and_nothing_begins(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    world.jobs.end()
    world.offsets.end[CLICKS] = 100
    world.time += 10
    cycle.turn(promising=False)
    assert commits(world)[-1] == (25, ())
    assert len(world.jobs.submitted) == 1


def test_a_loss_that_cannot_be_looked_into_now_is_met_again(world: FakeWorld) -> None:
    cycle = cycle_in(world, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    lost = {Range(CLICKS, 0, 10): WorkError("data-lost", "gone", log_start=15)}
    world.jobs.end(errors=lost)
    world.memory.error = StorageError("unreachable", "S3 is away")
    turn(world, cycle)
    world.memory.error = None
    assert world.jobs.ranges() == [Range(CLICKS, 0, 10)], "it is tried again, and lost again"
    world.jobs.end(errors=lost)
    turn(world, cycle)
    turn(world, cycle)
    assert world.memory.losses == [(CLICKS, 0, 10, "lost")], "the other ranges are stored"
    assert commits(world)[-1] == (25, ())


def test_a_loss_is_recorded_when_it_is_promised_and_not_before(world: FakeWorld) -> None:
    """A zombie's promise is refused; it must not leave a record of a loss that there was not."""
    heard = Heard()
    cycle = cycle_in(world, heard, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    world.offsets.start[CLICKS] = 5
    world.register.failing = {CLICKS}
    turn(world, cycle)
    assert commits(world)[-1] == (0, (5,))
    assert world.memory.losses == []
    assert heard.events == [("commit failed", "promise")]
    world.register.failing = set()
    record, away = world.memory.record_loss, StorageError("unreachable", "S3 is away")
    world.memory.record_loss = Mock(side_effect=away)  # type: ignore[method-assign]
    for _ in range(3):
        turn(world, cycle)
    assert commits(world)[-1] == (0, (5,)), "the offset does not move before the record is there"
    world.memory.record_loss = record  # type: ignore[method-assign]
    turn(world, cycle, 20.0)
    turn(world, cycle)
    assert world.memory.losses == [(CLICKS, 0, 5, "lost")]
    assert ("lost", 0, 5, True) in heard.events
    assert (5, ()) in commits(world)


def test_what_somebody_before_us_has_stored_is_not_lost(world: FakeWorld) -> None:
    resource, own = manifest(onDataLoss="skip")
    world.register.kafka[CLICKS] = CommittedOffset(0, OffsetMetadata(TOPIC_ID, 1, own.hash, (10, 20, 30), place=PLACE))
    world.memory.stored[CLICKS] = [StoredRange(10, 20, "backup", own.hash, TOPIC_ID, whole=True)]
    world.offsets.end[CLICKS] = 30
    cycle = Cycle(resource, own, world.ports(), clock=world.clock, now=world.clock)
    cycle.turn()
    gone = WorkError("data-lost", "gone", log_start=25)
    world.jobs.end(errors=dict.fromkeys(world.jobs.ranges(), gone))
    turn(world, cycle)
    turn(world, cycle, 10.0)
    assert world.memory.losses == [(CLICKS, 0, 10, "lost"), (CLICKS, 20, 25, "lost")]
    assert commits(world)[-1] == (20, (30,))
    assert world.jobs.ranges() == [Range(CLICKS, 20, 30)]


def test_a_member_that_takes_over_a_loss_records_it(world: FakeWorld) -> None:
    _, own = manifest(onDataLoss="skip")
    world.register.kafka[CLICKS] = CommittedOffset(
        0, OffsetMetadata(TOPIC_ID, 1, own.hash, (5,), place=PLACE, unstored=UnstoredPrefix(5, "lost"))
    )
    cycle = cycle_in(world, onDataLoss="skip")
    cycle.turn()
    assert world.memory.losses == [(CLICKS, 0, 5, "lost")]
    turn(world, cycle)
    assert commits(world) == [(5, ())]


def test_nothing_is_promised_before_the_bucket_was_looked_at_for_what_stands_behind_the_offset(
    world: FakeWorld,
) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    world.memory.behind = {CLICKS: 40, ORDERS: StorageError("timeout", "away")}
    cycle = cycle_in(world)
    begin(world, cycle)
    assert world.memory.looked_at == [], "what is not due needs no look"
    begin(world, cycle, clicks=25, orders=25)
    turn(world, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.OFFSET_WENT_BACK
    assert commits(world, ORDERS) == [(0, ())]
    del world.memory.behind[ORDERS]
    turn(world, cycle)
    world.jobs.end()
    world.offsets.end[ORDERS] = 45
    turn(world, cycle)
    turn(world, cycle)
    assert [(offset, ends[-1:]) for offset, ends in commits(world, ORDERS)[1:]] == [(0, (25,)), (25, ()), (25, (45,))]
    assert world.memory.looked_at.count(ORDERS) == 2, "once for each arrival, until it is answered"


def test_what_the_next_owner_has_stored_behind_the_offset_is_no_cause_to_hold(world: FakeWorld) -> None:
    world.memory.behind[CLICKS] = 0
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    world.register.stale[CLICKS] = CommittedOffset(25, OffsetMetadata(TOPIC_ID, 1))
    turn(world, cycle)
    assert cycle.states.held() == {}


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
    assert commits(world)[-1] == (10, (20, 25)), "what is lost as a whole is not executed"
    assert ("lost", 0, 15, True) in heard.events


def test_with_fail_a_loss_holds_the_partition_and_is_not_recorded(world: FakeWorld) -> None:
    heard = Heard()
    cycle = cycle_in(world, heard)
    begin(world, cycle, clicks=25)
    world.offsets.start[CLICKS] = 5
    turn(world, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.DATA_LOST
    assert world.memory.losses == []
    assert heard.events == [("lost", 0, 5, False)]
    turn(world, cycle)
    assert commits(world) == [(0, ())]


def test_with_skip_an_idle_partition_moves_on_after_the_loss_is_recorded(world: FakeWorld) -> None:
    cycle = cycle_in(world, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    world.offsets.start[CLICKS] = 5
    turn(world, cycle)
    assert world.memory.losses == [(CLICKS, 0, 5, "lost")]
    turn(world, cycle)
    turn(world, cycle)
    assert commits(world) == [(0, ()), (0, (5,)), (5, ()), (5, (15, 25))]


def test_a_topic_that_was_made_again_has_lost_nothing(world: FakeWorld) -> None:
    cycle = cycle_in(world, onDataLoss="skip")
    begin(world, cycle, clicks=25)
    world.offsets.ids["clicks"], world.offsets.start[CLICKS] = "B" * 22, 5
    turn(world, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.TOPIC_RECREATED
    assert world.memory.losses == []


@pytest.mark.parametrize("kind", ["corrupt", "topic-recreated", "other-rules"])
def test_what_is_held_or_fails_does_not_keep_others_from_being_promised(world: FakeWorld, kind: str) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=1000)
    turn(world, cycle)
    assert len(world.jobs.ranges()) == 16, "as many as may wait"
    world.jobs.end(errors={range_: WorkError(kind, "no") for range_ in world.jobs.ranges()})
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    world.time += 2.0
    begin(world, cycle, orders=25)
    assert cycle.states.is_stuck(CLICKS)
    turn(world, cycle)
    turn(world, cycle)
    assert commits(world, ORDERS)[-1] == (0, (10, 20, 25))


def test_a_range_that_a_build_with_other_rules_has_begun_otherwise_holds_its_partition(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=10)
    turn(world, cycle)
    (range_,) = world.jobs.ranges()
    world.jobs.end(errors={range_: WorkError("other-rules", "clicks-0[0,10) was begun by logpersister 0.9")})
    for _ in range(3):
        turn(world, cycle)
    (hold,) = cycle.states.held().values()
    assert hold.reason is HoldReason.OTHER_RULES
    assert "was begun by logpersister 0.9. Run the build that has promised it" in hold.message
    assert commits(world) == [(0, ()), (0, (10,))], "it stays promised"
    assert len(world.jobs.submitted) == 1


def test_a_topic_without_a_sample_is_asked_once_in_a_while(world: FakeWorld) -> None:
    world.sampler.error = RuntimeError("not authorised")
    cycle = cycle_in(world)
    begin(world, cycle, clicks=5)
    world.register.failing = {CLICKS}  # so that it stays to be planned
    for _ in range(5):
        turn(world, cycle)
    assert len(world.sampler.asked) == 1
    turn(world, cycle, SAMPLE_AGAIN_SECONDS)
    turn(world, cycle)
    assert len(world.sampler.asked) == 2


def test_after_an_intent_of_a_higher_generation_the_bucket_is_asked(world: FakeWorld) -> None:
    _, theirs = manifest(startFrom="latest")
    world.memory.revisions[theirs.hash] = theirs.document
    world.register.kafka[CLICKS] = CommittedOffset(0, OffsetMetadata(TOPIC_ID, 2, theirs.hash, (10,)))
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    assert world.jobs.ranges() == [Range(CLICKS, 0, 10)], "what is pending comes first"
    world.jobs.end()
    turn(world, cycle)
    turn(world, cycle)
    ours = [it.metadata for p, it, _ in world.register.sent if p == CLICKS and it.metadata is not None]
    assert [(metadata.generation, metadata.ends) for metadata in ours[:2]] == [(2, ()), (1, ())]


def test_a_topic_that_was_made_again_is_held(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    world.offsets.ids["clicks"] = "B" * 22
    turn(world, cycle, 20.0)
    assert cycle.states.held()[CLICKS].reason is HoldReason.TOPIC_RECREATED
    assert commits(world) == [(0, ())]


def test_a_damaged_note_holds_only_its_topic(world: FakeWorld) -> None:
    world.memory.topics["clicks", 1] = ForeignObjectError("somebody changed it")
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25, orders=25)
    turn(world, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.FOREIGN_OBJECTS
    assert commits(world, ORDERS)[-1][1], "others are promised"


def test_a_note_that_cannot_be_read_stops_only_its_topic_and_is_tried_again(world: FakeWorld) -> None:
    """A lifecycle rule has moved it to an archive: GET is answered by 403 InvalidObjectState."""
    world.memory.topics["clicks", 1] = StorageError("rejected", "InvalidObjectState")
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25, orders=25)
    turn(world, cycle)
    assert commits(world) == [(0, ())]
    assert cycle.states.held() == {}
    assert commits(world, ORDERS)[-1][1], "others are promised"
    turn(world, cycle, 100.0)
    assert commits(world)[-1] == (0, (10, 20, 25))


def test_a_generation_is_about_one_topic_of_a_name(world: FakeWorld) -> None:
    """Kafka forgets offsets with their topic; that another one was begun, only the bucket knows."""
    world.memory.topics["clicks", 1] = TopicNote("B" * 22)
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25, orders=25)
    turn(world, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.TOPIC_RECREATED
    assert commits(world) == [(0, ())]
    assert commits(world, ORDERS)[-1][1], "others are promised"
    assert world.memory.topics["orders", 1] == TopicNote(TOPIC_ID, 1)


def test_a_partition_that_ends_too_early_is_held_after_a_while_unless_its_topic_was_made_again(
    world: FakeWorld,
) -> None:
    world.group.tokens = {CLICKS: 1, ORDERS: 2}
    for partition in (CLICKS, ORDERS):
        world.register.kafka[partition] = CommittedOffset(50, OffsetMetadata(TOPIC_ID, 1))
    cycle = cycle_in(world)
    begin(world, cycle, clicks=20, orders=20)
    turn(world, cycle, 55.0)
    assert cycle.states.held() == {}
    world.offsets.ids["orders"] = "B" * 22
    turn(world, cycle, 10.0)
    reasons = {partition: hold.reason for partition, hold in cycle.states.held().items()}
    assert reasons == {CLICKS: HoldReason.TRUNCATED, ORDERS: HoldReason.TOPIC_RECREATED}


def promised_for_another_place(world: FakeWorld) -> Cycle:
    """Return a member that has begun to execute what a revision with another bucket has promised."""
    _, theirs = manifest(startFrom="latest")
    world.memory.elsewhere[theirs.hash] = theirs.document
    world.register.kafka[CLICKS] = CommittedOffset(
        0, OffsetMetadata(TOPIC_ID, 1, theirs.hash, (8, 9), place="others/raw")
    )
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
    assert commits(world) == [], "it may have been a moment"
    fail(world, cycle, "unauthorized")
    turn(world, cycle, seconds=100)
    assert world.register.kafka[CLICKS] == CommittedOffset(
        0, OffsetMetadata(TOPIC_ID, 1, manifest()[1].hash, (8, 9), place=PLACE)
    )
    assert manifest()[1].hash in world.memory.revisions, "the snapshot is there before the promise"
    assert world.jobs.ranges() == [Range(CLICKS, 0, 8), Range(CLICKS, 8, 9)], "what is stored there only is not ours"
    world.jobs.end()
    turn(world, cycle)
    turn(world, cycle)
    assert commits(world)[1] == (9, ()), "from there on as ours plans it"


def test_what_is_lost_of_a_promise_for_another_place_keeps_its_boundaries_in_ours(world: FakeWorld) -> None:
    """They stand in Kafka at every moment: a range that overlapped with one there could be stored there later."""
    _, theirs = manifest(startFrom="latest")
    world.register.kafka[CLICKS] = CommittedOffset(
        0, OffsetMetadata(TOPIC_ID, 1, theirs.hash, (8, 20), place="others/raw")
    )
    world.offsets.end[CLICKS], world.offsets.start[CLICKS] = 30, 5
    cycle = cycle_in(world, onDataLoss="skip")
    cycle.turn()
    assert commits(world) == [(0, (8, 20))]
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
    assert [intent.place for intent in cycle.states.pending()] == ["others/raw"]


def test_a_refusal_by_our_own_place_changes_no_promise(world: FakeWorld) -> None:
    cycle = cycle_in(world)
    begin(world, cycle, clicks=25)
    turn(world, cycle)
    for _ in range(10):
        fail(world, cycle, "unauthorized")
    assert [intent.ends for intent in cycle.states.pending()] == [(10, 20, 25)]
