from dataclasses import replace

import pytest

from logpersister.plan.holds import Hold, HoldReason
from logpersister.plan.intents import CommittedOffset, Intent, OffsetMetadata, UnstoredPrefix, promised
from logpersister.plan.intents import stored as stored_value
from logpersister.plan.recovery import (
    PartitionContext,
    ReplayedEnd,
    StoredRange,
    StoredTail,
    from_another_place,
    from_bucket,
    needs_bucket,
)
from logpersister.ranges import TopicPartition

CLICKS = TopicPartition("clicks", 0)
PLACE = "logs/raw"
CONTEXT = PartitionContext(CLICKS, "id-1", "backup", 1, "rev-1", PLACE)
RAISED = replace(CONTEXT, generation=2)
NOTHING = StoredTail(1)


def stored(
    start: int,
    end: int,
    *,
    revision: str = "rev-1",
    group: str = "backup",
    topic_id: str = "id-1",
    whole: bool = True,
    horizon: int | None = None,
) -> StoredRange:
    return StoredRange(start, end, group, revision, topic_id, whole, horizon)


def tail(*ranges: StoredRange, generation: int = 1, before: StoredRange | None = None) -> StoredTail:
    return StoredTail(generation, ranges, before)


def at(offset: int, since: int | None = None, generation: int = 1, revision: str | None = None) -> CommittedOffset:
    return stored_value(offset, "id-1", generation, revision=revision, since=since)


def intent(start: int, *ends: int, revision: str = "rev-1", generation: int = 1, horizon: int | None = None) -> Intent:
    return Intent(CLICKS, "id-1", start, ends, revision, generation, PLACE, horizon=horizon)


def reason(decision: CommittedOffset | Hold) -> HoldReason:
    assert isinstance(decision, Hold)
    return decision.reason


def test_what_we_have_left_needs_no_look_into_the_bucket_and_anything_else_does() -> None:
    assert not needs_bucket(at(50), "id-1", 1)
    assert not needs_bucket(at(50), "id-1", 3), "a generation is raised without a look"
    assert needs_bucket(None, "id-1", 1)
    assert needs_bucket(CommittedOffset(50, None), "id-1", 1)
    assert needs_bucket(CommittedOffset(50, OffsetMetadata("id-0", 1)), "id-1", 1)


def test_a_lower_generation_goes_on_behind_a_higher_one_only_where_it_has_stored_nothing() -> None:
    theirs = at(50, generation=2)
    assert needs_bucket(theirs, "id-1", 1)
    assert not needs_bucket(CommittedOffset(50, OffsetMetadata("id-1", 2, "rev-2", (60,))), "id-1", 1), (
        "what is pending comes first"
    )
    assert from_bucket(CONTEXT, theirs, NOTHING, 0, 0) == at(50, since=50)
    assert from_bucket(CONTEXT, theirs, tail(stored(0, 40, revision="rev-0")), 0, 0) == at(50, revision="rev-0")
    assert reason(from_bucket(CONTEXT, theirs, tail(stored(0, 90)), 0, 0)) is HoldReason.REPLAY_REQUESTED


def test_a_topic_made_again_under_a_promise_is_held_although_nothing_is_stored() -> None:
    pending = CommittedOffset(50, OffsetMetadata("id-0", 1, "rev-1", (60,)))
    assert reason(from_bucket(CONTEXT, pending, NOTHING, 0, 0)) is HoldReason.TOPIC_RECREATED
    assert from_bucket(RAISED, pending, NOTHING, 0, 0) == at(0, since=0, generation=2)


def test_a_partition_without_a_trace_starts_where_the_group_began() -> None:
    assert from_bucket(CONTEXT, None, NOTHING, begin=7, log_start=0) == at(7, since=7)


def test_a_forgotten_offset_resumes_behind_what_is_stored() -> None:
    assert from_bucket(CONTEXT, None, tail(stored(0, 10), stored(10, 20)), begin=0, log_start=0) == at(
        20, revision="rev-1"
    )


ELSEWHERE = promised(Intent(CLICKS, "id-1", 50, (60, 70, 80), "rev-9", 1, "logs/other"), since=20)


def test_what_was_promised_for_a_place_that_refuses_is_promised_with_its_boundaries_for_ours() -> None:
    before = tail(stored(30, 40), stored(40, 50))
    assert from_another_place(CONTEXT, ELSEWHERE, before) == promised(intent(50, 60, 70, 80), since=20)
    raised = from_another_place(RAISED, ELSEWHERE, NOTHING)
    assert raised == promised(intent(50, 60, 70, 80, generation=2), since=50), "ours begins there"


def test_what_is_lost_of_it_stays_lost() -> None:
    lost = promised(
        Intent(CLICKS, "id-1", 50, (60, 70), "rev-9", 1, "logs/other", UnstoredPrefix(55, "lost")), since=20
    )
    kept = from_another_place(CONTEXT, lost, NOTHING)
    assert kept == promised(replace(intent(50, 60, 70), unstored=UnstoredPrefix(55, "lost")), since=20)


def test_what_ours_has_begun_of_it_is_executed_again_as_it_was_begun() -> None:
    """Promised for ours, given up by a member that cannot write to ours, and now it is ours again."""
    begun = tail(stored(40, 50), stored(60, 70, revision="rev-0", whole=False))
    expected = promised(intent(50, 60, 70, 80, revision="rev-0"), since=20)
    assert from_another_place(CONTEXT, ELSEWHERE, begun) == expected


@pytest.mark.parametrize(("begun_by", "goes_on_by"), [(7, 7), (None, None)])
def test_what_ours_has_begun_of_it_keeps_its_horizon(begun_by: int | None, goes_on_by: int | None) -> None:
    """By the objects: who gave it up for another place may have had another horizon, or none."""
    theirs = promised(replace(ELSEWHERE.intent(CLICKS) or intent(0, 1), horizon=9), since=20)
    untouched = from_another_place(CONTEXT, theirs, NOTHING)
    assert untouched == promised(intent(50, 60, 70, 80, horizon=9), since=20)
    begun = tail(stored(50, 60, revision="rev-0", whole=False, horizon=begun_by))
    expected = intent(50, 60, 70, 80, revision="rev-0", horizon=goes_on_by)
    assert from_another_place(CONTEXT, theirs, begun) == promised(expected, since=20)


@pytest.mark.parametrize(
    ("ranges", "generation"),
    [
        ([stored(50, 60), stored(60, 70, horizon=5)], 1),
        ([stored(50, 65)], 1),
        ([stored(50, 60), stored(80, 90)], 1),
        ([stored(50, 60), stored(60, 70, revision="rev-0")], 1),
        ([stored(50, 60)], 2),
    ],
    ids=["two horizons", "other boundaries", "more", "two revisions", "a replay of a higher generation"],
)
def test_what_ours_has_of_it_for_another_cause_is_not_stored_again(ranges: list[StoredRange], generation: int) -> None:
    theirs = promised(Intent(CLICKS, "id-1", 50, (60, 70, 80), "rev-9", generation, "logs/other"), since=20)
    held = from_another_place(CONTEXT, theirs, tail(*ranges))
    assert reason(held) is HoldReason.REPLAY_REQUESTED
    assert isinstance(held, Hold)
    assert "set the offset" not in held.message, "some of what is promised may be stored nowhere"


def test_for_a_place_that_refuses_nothing_of_others_is_overwritten_in_ours() -> None:
    held = from_another_place(CONTEXT, ELSEWHERE, tail(stored(0, 10, group="others")))
    assert reason(held) is HoldReason.FOREIGN_OBJECTS


def test_a_forgotten_intent_is_executed_again_from_its_first_hole_with_the_stored_boundaries() -> None:
    ranges = tail(stored(0, 10), stored(20, 30), stored(30, 40))
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=0) == promised(intent(10, 20, 30, 40))


def test_with_partition_paths_every_range_of_the_last_revision_is_in_doubt() -> None:
    ranges = tail(
        stored(0, 10, revision="rev-0", whole=False), stored(10, 20, whole=False), stored(20, 30, whole=False)
    )
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=0) == promised(intent(10, 20, 30))


def test_with_partition_paths_every_range_of_the_last_horizon_is_in_doubt() -> None:
    """An intent has one, so what was stored by another one is committed. By the last one it is executed again."""
    parts = [stored(0, 10, whole=False, horizon=3), stored(10, 20, whole=False, horizon=5)]
    ranges = tail(*parts, stored(20, 30, whole=False, horizon=5))
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=0) == promised(intent(10, 20, 30, horizon=5))
    ranges = tail(*parts, stored(20, 30, whole=False))
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=0) == promised(intent(20, 30))


def test_a_range_of_which_kafka_has_only_a_part_left_is_still_in_doubt() -> None:
    ranges = tail(stored(0, 10, whole=False), stored(10, 20, whole=False))
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=15) == promised(intent(10, 20))


def test_what_kafka_no_longer_has_counts_as_stored() -> None:
    ranges = tail(stored(0, 10, whole=False), stored(20, 30, whole=False))
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=35) == at(30, revision="rev-1")
    assert from_bucket(CONTEXT, None, ranges, begin=0, log_start=15) == promised(intent(15, 20, 30))


def test_a_new_generation_goes_on_behind_the_one_before_when_the_group_is_forgotten() -> None:
    """What is in doubt of the one before is finished in its own generation."""
    assert from_bucket(RAISED, None, tail(stored(0, 10)), begin=99, log_start=0) == at(10, revision="rev-1")
    doubtful = tail(stored(0, 10), stored(20, 30))
    assert from_bucket(RAISED, None, doubtful, begin=0, log_start=0) == promised(intent(10, 20, 30))


@pytest.mark.parametrize("theirs", [stored(0, 10, group="other"), stored(0, 10, topic_id="id-0")])
def test_what_others_have_stored_in_a_lower_generation_is_not_our_business(theirs: StoredRange) -> None:
    assert from_bucket(RAISED, None, tail(theirs), begin=7, log_start=0) == at(7, since=7, generation=2)


def test_an_offset_set_back_for_a_replay_in_a_new_generation_is_honoured() -> None:
    assert from_bucket(RAISED, CommittedOffset(3, None), tail(stored(0, 10)), 0, 0) == at(3, since=3, generation=2)


def test_a_hole_before_the_first_range_reaches_back_to_what_the_generation_before_has_stored() -> None:
    ranges = tail(stored(30, 40, whole=False), generation=2, before=stored(0, 20))
    decision = from_bucket(RAISED, None, ranges, begin=0, log_start=0)
    assert decision == promised(intent(20, 30, 40, generation=2))
    others = replace(ranges, before=stored(0, 20, group="other"))
    assert from_bucket(RAISED, None, others, begin=5, log_start=0) == promised(intent(5, 30, 40, generation=2))


def test_an_offset_set_forward_goes_on_there_after_what_it_left_out_is_recorded() -> None:
    skipped = Intent(CLICKS, "id-1", 10, (25,), "rev-1", 1, PLACE, UnstoredPrefix(25, "skipped"))
    assert from_bucket(CONTEXT, CommittedOffset(25, None), tail(stored(0, 10)), 0, 0) == promised(skipped)
    assert from_bucket(CONTEXT, CommittedOffset(10, None), tail(stored(0, 10)), 0, 0) == at(10, revision="rev-1")


def test_an_offset_set_back_is_a_wish_to_replay_and_needs_a_higher_generation() -> None:
    decision = from_bucket(CONTEXT, CommittedOffset(5, None), tail(stored(0, 10)), 0, 0)
    assert reason(decision) is HoldReason.REPLAY_REQUESTED
    assert isinstance(decision, Hold)
    assert "raise spec.generation" in decision.message


def test_a_topic_that_was_made_again_is_never_mixed_with_the_old_one() -> None:
    decision = from_bucket(replace(CONTEXT, topic_id="id-2"), None, tail(stored(0, 10)), 0, 0)
    assert reason(decision) is HoldReason.TOPIC_RECREATED


def test_objects_of_another_group_are_never_overwritten() -> None:
    decision = from_bucket(CONTEXT, None, tail(stored(0, 10, group="other")), 0, 0)
    assert reason(decision) is HoldReason.FOREIGN_OBJECTS
    assert isinstance(decision, Hold)
    assert "'other'" in decision.message


def replayed(end: int, generation: int = 2, topic_id: str | None = "id-1") -> ReplayedEnd:
    return ReplayedEnd(generation, end, topic_id)


def test_a_forgotten_offset_is_where_members_have_stored_whatever_was_replayed() -> None:
    """The generation is raised to that of the replay, or beyond, and nothing is stored in it yet."""
    members = replace(tail(stored(0, 80), stored(80, 200)), replays=(replayed(80),))
    for context in (CONTEXT, RAISED, replace(CONTEXT, generation=3)):
        assert from_bucket(context, None, members, begin=0, log_start=0) == at(200, revision="rev-1")


def test_what_a_replay_has_replaced_is_not_begun_anew_where_the_replaced_objects_were_deleted() -> None:
    gone = replace(NOTHING, replays=(replayed(80),))
    assert from_bucket(CONTEXT, None, gone, begin=0, log_start=0) == at(80, since=80)
    some = StoredTail(1, (stored(0, 40, whole=False), stored(80, 90, whole=False)), replays=(replayed(80),))
    assert from_bucket(CONTEXT, None, some, begin=0, log_start=0) == promised(intent(80, 90))
    before = StoredTail(1, (stored(0, 40),), replays=(replayed(80),))
    assert from_bucket(CONTEXT, None, before, begin=0, log_start=0) == at(80, revision="rev-1")
    raised = StoredTail(3, (stored(80, 90, whole=False),), replays=(replayed(80),))
    later = replace(CONTEXT, generation=3)
    assert from_bucket(later, None, raised, begin=0, log_start=0) == promised(intent(80, 90, generation=3))


def test_a_generation_that_was_set_back_behind_a_replay_goes_on_where_it_is() -> None:
    set_back = StoredTail(3, (stored(20, 30),), before=stored(80, 200), replays=(replayed(80),))
    later = replace(CONTEXT, generation=3)
    assert from_bucket(later, None, set_back, begin=0, log_start=0) == at(30, generation=3, revision="rev-1")


def test_an_offset_set_back_into_a_replay_is_held_unless_the_generation_is_higher() -> None:
    set_back = CommittedOffset(50, None)
    of_members = StoredTail(1, (stored(80, 200),), replays=(replayed(80),))
    raised = replace(of_members, generation=1)
    assert reason(from_bucket(RAISED, set_back, raised, 0, 0)) is HoldReason.REPLAY_REQUESTED
    gone = replace(NOTHING, replays=(replayed(80),))
    assert reason(from_bucket(CONTEXT, set_back, gone, 0, 0)) is HoldReason.REPLAY_REQUESTED
    lowered = CommittedOffset(50, OffsetMetadata("id-1", 3))
    assert reason(from_bucket(RAISED, lowered, raised, 0, 0)) is HoldReason.REPLAY_REQUESTED
    higher = replace(CONTEXT, generation=3)
    assert from_bucket(higher, set_back, raised, 0, 0) == at(50, since=50, generation=3)


def test_replays_of_an_earlier_topic_tell_nothing_but_that_their_names_are_taken() -> None:
    old = replace(NOTHING, replays=(replayed(80, topic_id="id-0"),))
    assert from_bucket(CONTEXT, None, old, begin=0, log_start=0) == at(0, since=0)
    assert reason(from_bucket(RAISED, None, old, begin=0, log_start=0)) is HoldReason.TOPIC_RECREATED


def test_what_another_place_refuses_is_not_stored_into_a_replay() -> None:
    into = replace(NOTHING, replays=(replayed(80, generation=1),))
    assert reason(from_another_place(CONTEXT, ELSEWHERE, into)) is HoldReason.REPLAY_REQUESTED
    behind = replace(NOTHING, replays=(replayed(50, generation=1),))
    assert from_another_place(CONTEXT, ELSEWHERE, behind) == promised(intent(50, 60, 70, 80), since=20)
