"""Rounds of a member, where the order and the consequences of failures matter."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from logpersister.member.cycle import Cycle
from logpersister.member.listener import Listener
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from tests.unit.member.fakes import CLICKS, ORDERS, PLACE, TOPIC_ID, FakeDependencies, manifest


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


def cycle_in(fakes: FakeDependencies, listener: Listener | None = None, **kafka: Any) -> Cycle:
    value = None if fakes.schemas is None else {"avro": {"registry": {"url": "http://r:8081"}}}
    resource, revision = manifest(value, **kafka)
    return Cycle(resource, revision, fakes.ports(), listener=listener, clock=fakes.clock, now=fakes.clock)


def turn(fakes: FakeDependencies, cycle: Cycle, seconds: float = 2.0) -> None:
    fakes.time += seconds
    cycle.turn()


def begin(fakes: FakeDependencies, cycle: Cycle, **ends: Offset) -> None:
    """Own and resolve partitions; then records come, and are seen."""
    cycle.turn()
    for topic, end in ends.items():
        fakes.offsets.end[TopicPartition(topic, 0)] = end
    cycle.end_offsets.refresh(ages=True)


def begun(
    fakes: FakeDependencies, listener: Listener | None = None, *, kafka: Mapping[str, Any] | None = None, **ends: Offset
) -> Cycle:
    """Return a cycle that has begun (`begin`); `kafka` has settings of spec.kafka."""
    cycle = cycle_in(fakes, listener, **(kafka or {}))
    begin(fakes, cycle, **ends)
    return cycle


def commits(fakes: FakeDependencies, partition: TopicPartition = CLICKS) -> list[tuple[Offset, tuple[Offset, ...]]]:
    sent = [(it.offset, it.metadata) for p, it, _ in fakes.register.sent if p == partition]
    return [(offset, metadata.ends if metadata else ()) for offset, metadata in sent]


def test_a_partition_without_a_leader_is_said_once_and_stops_no_other(fakes: FakeDependencies) -> None:
    fakes.group.tokens = {CLICKS: 1, ORDERS: 1}
    cycle = begun(fakes, clicks=5, orders=5)
    turn(fakes, cycle)
    fakes.offsets.leaderless = {ORDERS}
    lost = Range(ORDERS, 0, 5)
    fakes.jobs.end(errors={lost: WorkError("kafka", "no leader")})
    fakes.offsets.end[CLICKS] = 9
    with capture_logs() as logs:
        for _ in range(3):
            turn(fakes, cycle, seconds=60)
    said = [(one["event"], one["partitions"], one.get("reason")) for one in logs if "readable" in one["event"]]
    assert said == [("partitions.unreadable", "orders 0", "it has no leader: start broker 2")]
    assert cycle.unreadable.keys() == {ORDERS}
    assert fakes.jobs.ranges() == [Range(CLICKS, 5, 9)], "no job waits for who cannot be read"
    fakes.offsets.leaderless = set()
    with capture_logs() as logs:
        turn(fakes, cycle)
    assert "partitions.readable" in [one["event"] for one in logs]
    assert fakes.jobs.ranges() == [lost]


def test_without_promising_what_has_ended_is_kept_and_nothing_begins(fakes: FakeDependencies) -> None:
    cycle = begun(fakes, clicks=25)
    turn(fakes, cycle)
    fakes.jobs.end()
    fakes.offsets.end[CLICKS] = 100
    fakes.time += 10
    cycle.turn(promising=False)
    assert commits(fakes)[-1] == (25, ())
    assert len(fakes.jobs.submitted) == 1


def test_a_loss_that_cannot_be_looked_into_now_is_met_again(fakes: FakeDependencies) -> None:
    cycle = begun(fakes, kafka={"onDataLoss": "skip"}, clicks=25)
    turn(fakes, cycle)
    lost = {Range(CLICKS, 0, 10): WorkError("data-lost", "gone", log_start=15)}
    fakes.jobs.end(errors=lost)
    fakes.state_store.error = StorageError("unreachable", "S3 is away")
    turn(fakes, cycle)
    fakes.state_store.error = None
    assert fakes.jobs.ranges() == [Range(CLICKS, 0, 10)], "it is tried again, and lost again"
    fakes.jobs.end(errors=lost)
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert fakes.state_store.losses == [(CLICKS, 0, 10, "lost")], "the other ranges are stored"
    assert commits(fakes)[-1] == (25, ())


def test_nothing_is_promised_before_the_bucket_was_looked_at_for_what_stands_behind_the_offset(
    fakes: FakeDependencies,
) -> None:
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    fakes.state_store.behind = {CLICKS: 40, ORDERS: StorageError("timeout", "away")}
    cycle = begun(fakes)
    assert fakes.state_store.looked_at == [], "what is not due needs no look"
    begin(fakes, cycle, clicks=25, orders=25)
    turn(fakes, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.OFFSET_WENT_BACK
    assert commits(fakes, ORDERS) == [(0, ())]
    del fakes.state_store.behind[ORDERS]
    turn(fakes, cycle)
    fakes.jobs.end()
    fakes.offsets.end[ORDERS] = 45
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert [(offset, ends[-1:]) for offset, ends in commits(fakes, ORDERS)[1:]] == [(0, (25,)), (25, ()), (25, (45,))]
    assert fakes.state_store.looked_at.count(ORDERS) == 2, "once for each arrival, until it is answered"


def test_a_promised_range_that_is_partly_lost_is_read_from_where_the_log_begins(fakes: FakeDependencies) -> None:
    heard = Heard()
    cycle = begun(fakes, heard, kafka={"onDataLoss": "skip"}, clicks=25)
    turn(fakes, cycle)
    errors = {range_: WorkError("data-lost", "gone", log_start=15) for range_ in fakes.jobs.ranges()[:2]}
    fakes.jobs.end(errors=errors)
    turn(fakes, cycle)
    turn(fakes, cycle)
    ((again,),) = [task.work for task in fakes.jobs.submitted[-1][0]]
    assert (again.range, again.read_from, again.partly_lost) == (Range(CLICKS, 10, 20), 15, True)
    assert commits(fakes)[-1] == (10, (20, 25)), "what is lost as a whole is not executed"
    assert ("lost", 0, 15, True) in heard.events


def test_with_fail_a_loss_holds_the_partition_and_is_not_recorded(fakes: FakeDependencies) -> None:
    heard = Heard()
    cycle = begun(fakes, heard, clicks=25)
    fakes.offsets.start[CLICKS] = 5
    turn(fakes, cycle)
    assert cycle.states.held()[CLICKS].reason is HoldReason.DATA_LOST
    assert fakes.state_store.losses == []
    assert heard.events == [("lost", 0, 5, False)]
    turn(fakes, cycle)
    assert commits(fakes) == [(0, ())]


@pytest.mark.parametrize("kind", ["corrupt", "topic-recreated", "other-rules", "too-many-refused"])
def test_what_is_held_or_fails_does_not_keep_others_from_being_promised(fakes: FakeDependencies, kind: str) -> None:
    cycle = begun(fakes, clicks=1000)
    turn(fakes, cycle)
    assert len(fakes.jobs.ranges()) == 16, "as many as may wait"
    fakes.jobs.end(errors={range_: WorkError(kind, "no") for range_ in fakes.jobs.ranges()})
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    fakes.time += 2.0
    begin(fakes, cycle, orders=25)
    assert cycle.states.is_stuck(CLICKS)
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert commits(fakes, ORDERS)[-1] == (0, (10, 20, 25))


@pytest.mark.parametrize(
    ("kind", "problem", "reason", "remedy"),
    [
        (
            "other-rules",
            "was begun by logpersister 0.9",
            HoldReason.OTHER_RULES,
            "Run the build that promised the range",
        ),
        ("hole", "no object of the backup has it", HoldReason.DATA_LOST, "Restore the object, and repeat the replay"),
        ("too-many-refused", "refuses 9 of 10", HoldReason.TOO_MANY_REFUSED, "Nothing of the range is stored"),
    ],
)
def test_a_range_that_shall_not_be_stored_as_it_is_holds_its_partition(
    fakes: FakeDependencies, kind: str, problem: str, reason: HoldReason, remedy: str
) -> None:
    cycle = begun(fakes, clicks=10)
    turn(fakes, cycle)
    (range_,) = fakes.jobs.ranges()
    fakes.jobs.end(errors={range_: WorkError(kind, f"clicks-0[0,10) {problem}")})
    for _ in range(3):
        turn(fakes, cycle)
    (hold,) = cycle.states.held().values()
    assert hold.reason is reason
    assert f"{problem}. {remedy}" in hold.message
    assert commits(fakes) == [(0, ()), (0, (10,))], "it stays promised"
    assert len(fakes.jobs.submitted) == 1


def test_a_note_that_cannot_be_read_stops_only_its_topic_and_is_tried_again(fakes: FakeDependencies) -> None:
    """A lifecycle rule has moved it to an archive: GET is answered by 403 InvalidObjectState."""
    fakes.state_store.topics["clicks", 1] = StorageError("rejected", "InvalidObjectState")
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = begun(fakes, clicks=25, orders=25)
    turn(fakes, cycle)
    assert commits(fakes) == [(0, ())]
    assert cycle.states.held() == {}
    assert commits(fakes, ORDERS)[-1][1], "others are promised"
    turn(fakes, cycle, 100.0)
    assert commits(fakes)[-1] == (0, (10, 20, 25))


def test_a_partition_that_ends_too_early_is_held_after_a_while_unless_its_topic_was_made_again(
    fakes: FakeDependencies,
) -> None:
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    for partition in (CLICKS, ORDERS):
        fakes.register.kafka[partition] = CommittedOffset(50, OffsetMetadata(TOPIC_ID, 1))
    cycle = begun(fakes, clicks=20, orders=20)
    turn(fakes, cycle, 55.0)
    assert cycle.states.held() == {}
    fakes.offsets.ids["orders"] = "B" * 22
    turn(fakes, cycle, 10.0)
    reasons = {partition: hold.reason for partition, hold in cycle.states.held().items()}
    assert reasons == {CLICKS: HoldReason.TRUNCATED, ORDERS: HoldReason.TOPIC_RECREATED}


def promised_for_another_place(fakes: FakeDependencies) -> Cycle:
    """Return a member that has begun to execute what a revision with another bucket has promised."""
    _, theirs = manifest(startFrom="latest")
    fakes.state_store.elsewhere[theirs.hash] = theirs.document
    fakes.register.kafka[CLICKS] = CommittedOffset(
        0, OffsetMetadata(TOPIC_ID, 1, theirs.hash, (8, 9), place="others/raw")
    )
    fakes.offsets.end[CLICKS] = 30
    cycle = cycle_in(fakes)
    cycle.turn()
    assert fakes.jobs.ranges() == [Range(CLICKS, 0, 8), Range(CLICKS, 8, 9)]
    return cycle


def fail(fakes: FakeDependencies, cycle: Cycle, kind: str, *, stored: Sequence[Range] = ()) -> None:
    """Let the job that runs fail but for some ranges, and the next one begin."""
    error = WorkError(kind, "no", upload=True)
    fakes.jobs.end(errors={range_: error for range_ in fakes.jobs.ranges() if range_ not in stored})
    turn(fakes, cycle, seconds=1)
    turn(fakes, cycle, seconds=100)


def test_what_another_place_refuses_again_and_again_is_promised_and_stored_in_ours(fakes: FakeDependencies) -> None:
    cycle = promised_for_another_place(fakes)
    fail(fakes, cycle, "unauthorized", stored=[Range(CLICKS, 8, 9)])
    fail(fakes, cycle, "unauthorized")
    fail(fakes, cycle, "unauthorized")
    assert commits(fakes) == [], "it may have been a moment"
    fail(fakes, cycle, "unauthorized")
    turn(fakes, cycle, seconds=100)
    assert fakes.register.kafka[CLICKS] == CommittedOffset(
        0, OffsetMetadata(TOPIC_ID, 1, manifest()[1].hash, (8, 9), place=PLACE)
    )
    assert manifest()[1].hash in fakes.state_store.revisions, "the snapshot is there before the promise"
    assert fakes.jobs.ranges() == [Range(CLICKS, 0, 8), Range(CLICKS, 8, 9)], "what is stored there only is not ours"
    fakes.jobs.end()
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert commits(fakes)[1] == (9, ()), "from there on as ours plans it"


def test_another_place_that_fails_for_a_while_is_waited_for(fakes: FakeDependencies) -> None:
    """Where it is away, ours most likely is too."""
    cycle = promised_for_another_place(fakes)
    for _ in range(10):
        fail(fakes, cycle, "unreachable")
    assert [intent.place for intent in cycle.states.pending()] == ["others/raw"]


def test_a_refusal_by_our_own_place_changes_no_promise(fakes: FakeDependencies) -> None:
    cycle = begun(fakes, clicks=25)
    turn(fakes, cycle)
    for _ in range(10):
        fail(fakes, cycle, "unauthorized")
    assert [intent.ends for intent in cycle.states.pending()] == [(10, 20, 25)]
