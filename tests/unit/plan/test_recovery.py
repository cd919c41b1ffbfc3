from dataclasses import replace

import pytest

from logpersister.plan.holds import Hold, HoldReason
from logpersister.plan.intents import Committed, Intent, Mark
from logpersister.plan.recovery import (
    Execute,
    Resume,
    StoredRange,
    Subject,
    from_another_place,
    from_bucket,
    from_commit,
    needs_inventory,
)
from logpersister.ranges import TopicPartition

CLICKS = TopicPartition("clicks", 0)
PLACE = "logs/raw"
SUBJECT = Subject(CLICKS, "id-1", "backup", 1, "rev-1", PLACE)


def stored(
    start: int, end: int, *, revision: str = "rev-1", group: str = "backup", topic_id: str = "id-1", whole: bool = True
) -> StoredRange:
    return StoredRange(start, end, group, revision, topic_id, whole)


def test_a_commit_of_ours_needs_no_look_into_the_bucket() -> None:
    ours = Committed(50, Mark("id-1", 1))
    assert not needs_inventory(ours, "id-1", 1)
    assert from_commit(CLICKS, ours, 1) == Resume(50)
    pending = Committed(50, Mark("id-1", 1, "rev-0", (60, 70)))
    assert from_commit(CLICKS, pending, 1) == Execute(Intent(CLICKS, "id-1", 50, (60, 70), "rev-0", 1))


def test_where_a_generation_began_is_handed_on() -> None:
    ours = Committed(50, Mark("id-1", 1, "rev-0", since=20))
    assert from_commit(CLICKS, ours, 1) == Resume(50, since=20)
    assert from_commit(CLICKS, ours, 2) == Resume(50, since=50), "it begins where the other one ends"
    pending = Committed(50, Mark("id-1", 1, "rev-0", (60,), since=20))
    assert from_commit(CLICKS, pending, 2) == Execute(Intent(CLICKS, "id-1", 50, (60,), "rev-0", 1), since=20)


def test_a_missing_a_foreign_and_a_recreated_commit_need_one() -> None:
    assert needs_inventory(None, "id-1", 1)
    assert needs_inventory(Committed(50, None), "id-1", 1)
    assert needs_inventory(Committed(50, Mark("id-0", 1)), "id-1", 1)


def test_a_lower_generation_goes_on_behind_a_higher_one_only_where_it_has_stored_nothing() -> None:
    theirs = Committed(50, Mark("id-1", 2))
    assert needs_inventory(theirs, "id-1", 1)
    assert not needs_inventory(theirs, "id-1", 2)
    assert not needs_inventory(theirs, "id-1", 3), "a generation is raised without a look"
    assert not needs_inventory(Committed(50, Mark("id-1", 2, "rev-2", (60,))), "id-1", 1), "what is pending comes first"
    assert from_bucket(SUBJECT, theirs, [], 0, 0) == Resume(50, must_commit=True, since=50)
    assert from_bucket(SUBJECT, theirs, [stored(0, 40)], 0, 0) == Resume(50, must_commit=True), "40 to 50 are theirs"
    replayed = from_bucket(SUBJECT, theirs, [stored(0, 90)], 0, 0)
    assert isinstance(replayed, Hold)
    assert replayed.reason is HoldReason.REPLAY_REQUESTED


def test_a_topic_made_again_under_a_promise_is_held_although_nothing_is_stored() -> None:
    promised = Committed(50, Mark("id-0", 1, "rev-1", (60,)))
    held = from_bucket(SUBJECT, promised, [], 0, 0)
    assert isinstance(held, Hold)
    assert held.reason is HoldReason.TOPIC_RECREATED
    assert from_bucket(replace(SUBJECT, generation=2), promised, [], 0, 0) == Resume(0, must_commit=True, since=0)


def test_a_range_of_which_kafka_has_only_a_part_left_is_still_in_doubt() -> None:
    tail = [stored(0, 10, whole=False), stored(10, 20, whole=False)]
    decision = from_bucket(SUBJECT, None, tail, start_from=0, log_start=15)
    assert decision == Execute(Intent(CLICKS, "id-1", 10, (20,), "rev-1", 1, PLACE), must_commit=True)


def test_a_partition_without_a_trace_starts_where_the_manifest_says() -> None:
    assert from_bucket(SUBJECT, None, [], start_from=7, log_start=0) == Resume(7, must_commit=True, since=7)


def test_an_offset_set_by_a_user_before_the_first_start_is_honoured() -> None:
    decision = from_bucket(SUBJECT, Committed(40, None), [], start_from=7, log_start=0)
    assert decision == Resume(40, must_commit=True, since=40)


def test_a_forgotten_offset_resumes_behind_what_is_stored() -> None:
    tail = [stored(0, 10), stored(10, 20)]
    assert from_bucket(SUBJECT, None, tail, start_from=0, log_start=0) == Resume(20, must_commit=True)


ELSEWHERE = Intent(CLICKS, "id-1", 50, (60, 70, 80), "rev-9", 1, "logs/other")


def test_what_was_promised_for_a_place_that_refuses_is_promised_with_its_boundaries_for_ours() -> None:
    before = [stored(30, 40), stored(40, 50)]
    assert from_another_place(SUBJECT, ELSEWHERE, 20, before) == Resume(50, since=20, ends=(60, 70, 80))
    raised = from_another_place(replace(SUBJECT, generation=2), ELSEWHERE, 20, [])
    assert raised == Resume(50, since=50, ends=(60, 70, 80)), "ours begins there"


def test_what_ours_has_begun_of_it_is_executed_again_as_it_was_begun() -> None:
    """Promised for ours, given up by a member that cannot write to ours, and now it is ours again."""
    tail = [stored(40, 50), stored(60, 70, revision="rev-0", whole=False)]
    expected = Intent(CLICKS, "id-1", 50, (60, 70, 80), "rev-0", 1, PLACE)
    assert from_another_place(SUBJECT, ELSEWHERE, 20, tail) == Execute(expected, must_commit=True, since=20)


@pytest.mark.parametrize(
    ("tail", "generation"),
    [
        ([stored(50, 65)], 1),
        ([stored(50, 60), stored(80, 90)], 1),
        ([stored(50, 60), stored(60, 70, revision="rev-0")], 1),
        ([stored(50, 60)], 2),
    ],
    ids=["other boundaries", "more", "two revisions", "a replay of a higher generation"],
)
def test_what_ours_has_of_it_for_another_cause_is_not_stored_again(tail: list[StoredRange], generation: int) -> None:
    held = from_another_place(SUBJECT, replace(ELSEWHERE, generation=generation), 20, tail)
    assert isinstance(held, Hold)
    assert held.reason is HoldReason.REPLAY_REQUESTED
    assert "set the offset" not in held.message, "some of what is promised may be stored nowhere"


def test_for_a_place_that_refuses_nothing_of_others_is_overwritten_in_ours() -> None:
    held = from_another_place(SUBJECT, ELSEWHERE, 20, [stored(0, 10, group="others")])
    assert isinstance(held, Hold)
    assert held.reason is HoldReason.FOREIGN_OBJECTS


def test_a_forgotten_intent_is_executed_again_from_its_first_hole_with_the_stored_boundaries() -> None:
    tail = [stored(0, 10), stored(20, 30), stored(30, 40)]
    decision = from_bucket(SUBJECT, None, tail, start_from=0, log_start=0)
    assert decision == Execute(Intent(CLICKS, "id-1", 10, (20, 30, 40), "rev-1", 1, PLACE), must_commit=True)


def test_with_partition_paths_every_range_of_the_last_revision_is_in_doubt() -> None:
    tail = [stored(0, 10, revision="rev-0", whole=False), stored(10, 20, whole=False), stored(20, 30, whole=False)]
    decision = from_bucket(SUBJECT, None, tail, start_from=0, log_start=0)
    assert decision == Execute(Intent(CLICKS, "id-1", 10, (20, 30), "rev-1", 1, PLACE), must_commit=True)


def test_what_kafka_no_longer_has_counts_as_stored() -> None:
    tail = [stored(0, 10, whole=False), stored(20, 30, whole=False)]
    assert from_bucket(SUBJECT, None, tail, start_from=0, log_start=35) == Resume(30, must_commit=True)
    decision = from_bucket(SUBJECT, None, tail, start_from=0, log_start=15)
    assert decision == Execute(Intent(CLICKS, "id-1", 15, (20, 30), "rev-1", 1, PLACE), must_commit=True)


def test_an_offset_set_forward_goes_on_there_and_records_what_it_left_out() -> None:
    tail = [stored(0, 10)]
    assert from_bucket(SUBJECT, Committed(25, None), tail, 0, 0) == Resume(25, must_commit=True, skipped_from=10)
    assert from_bucket(SUBJECT, Committed(10, None), tail, 0, 0) == Resume(10, must_commit=True)


def test_an_offset_set_back_is_a_wish_to_replay_and_needs_a_higher_generation() -> None:
    decision = from_bucket(SUBJECT, Committed(5, None), [stored(0, 10)], 0, 0)
    assert isinstance(decision, Hold)
    assert decision.reason is HoldReason.REPLAY_REQUESTED
    assert "raise spec.generation" in decision.message


def test_a_topic_that_was_made_again_is_never_mixed_with_the_old_one() -> None:
    decision = from_bucket(replace(SUBJECT, topic_id="id-2"), None, [stored(0, 10)], 0, 0)
    assert isinstance(decision, Hold)
    assert decision.reason is HoldReason.TOPIC_RECREATED


def test_objects_of_another_group_are_never_overwritten() -> None:
    decision = from_bucket(SUBJECT, None, [stored(0, 10, group="other")], 0, 0)
    assert isinstance(decision, Hold)
    assert decision.reason is HoldReason.FOREIGN_OBJECTS
    assert "'other'" in decision.message
