"""Every kind of finding that needs no reading of records."""

from dataclasses import replace
from typing import Any

import pytest

from logpersister.plan.intents import CommittedOffset
from logpersister.verify.evidence import KafkaView, PartitionEvidence, StoredObject
from logpersister.verify.findings import Kind
from logpersister.verify.tiling import MissingOffsets, examine
from tests.unit.verify.samples import committed, damaged, evidence, loss, pending, stored_object

TILED = [stored_object(0, 100), stored_object(100, 250), stored_object(250, 300)]


def found(seen: PartitionEvidence) -> list[tuple[Kind, int, int]]:
    return [(finding.kind, finding.start, finding.end) for finding in examine(seen).findings]


def missing(seen: PartitionEvidence) -> list[tuple[int, int]]:
    return [missing.span for missing in examine(seen).missing]


def clean(seen: PartitionEvidence) -> bool:
    return not found(seen) and not missing(seen)


def test_objects_that_tile_are_clean() -> None:
    result = examine(evidence(TILED, committed(300)))
    assert (result.findings, result.missing) == ([], [])
    assert list(result.objects) == TILED


def test_a_partition_without_objects() -> None:
    assert found(evidence([], None)) == [(Kind.NOT_BEGUN, 0, 1_000)]
    assert clean(evidence([], committed(300)))


def test_holes_inside_and_at_the_end() -> None:
    assert missing(evidence([TILED[0], TILED[2]], committed(300))) == [(100, 250)]
    assert missing(evidence(TILED[:2], committed(300))) == [(250, 300)]


def test_the_first_stored_offset_is_where_the_promise_begins() -> None:
    assert clean(evidence(TILED[1:], committed(300)))


def test_a_group_that_begins_with_the_earliest_has_what_kafka_has() -> None:
    seen = evidence(TILED[1:], committed(300), from_earliest=True)
    assert examine(seen).missing == [MissingOffsets((0, 100), 1, before_first=True)]
    assert missing(evidence([], committed(300), from_earliest=True)) == [(0, 300)]
    assert missing(replace(seen, kafka=KafkaView("topic-id", 90, 1_000))) == [(90, 100)]
    assert clean(replace(seen, kafka=KafkaView("topic-id", 200, 1_000)))
    assert clean(evidence(TILED, None, from_earliest=True, kafka=None)) is False


def test_losses_explain_holes() -> None:
    seen = evidence([TILED[0], TILED[2]], committed(300), losses=[loss(100, 250, "skipped")])
    assert found(seen) == [(Kind.SKIPPED, 100, 250)]
    assert missing(seen) == []
    partly = replace(seen, losses=[loss(100, 200)])
    assert found(partly) == [(Kind.LOST, 100, 200)]
    assert missing(partly) == [(200, 250)]


def test_losses_of_an_earlier_topic_explain_nothing() -> None:
    seen = evidence([TILED[0], TILED[2]], committed(300), losses=[loss(100, 250, topic_id="another")])
    assert (found(seen), missing(seen)) == ([], [(100, 250)])


def test_two_objects_with_the_same_offsets() -> None:
    seen = evidence([*TILED, stored_object(50, 120)], committed(300))
    findings = examine(seen).findings
    assert [(one.kind, one.start, one.end) for one in findings] == [
        (Kind.OVERLAP, 50, 100),
        (Kind.OVERLAP, 100, 120),
    ]
    assert findings[0].key == stored_object(50, 120).key
    assert TILED[0].key in findings[0].message


def test_one_range_under_two_extensions_or_with_and_without_path() -> None:
    assert found(evidence([*TILED, stored_object(0, 100, extension=".txt.gz")], committed(300))) == [
        (Kind.OVERLAP, 0, 100)
    ]
    with_path = stored_object(0, 100, path="dt=2026-11-21", first=1, last=1, records=1)
    assert (Kind.OVERLAP, 0, 100) in found(evidence([*TILED, with_path], committed(300)))


def replace_facts(one: StoredObject, **changed: Any) -> StoredObject:
    assert one.facts is not None
    return replace(one, facts=replace(one.facts, **changed))


class TestPaths:
    ONE = stored_object(0, 100, path="dt=2026-11-20", first=0, last=98, records=50)
    OTHER = stored_object(0, 100, path="dt=2026-11-21", first=1, last=99, records=50)

    def test_objects_of_one_range_fit(self) -> None:
        assert clean(evidence([self.ONE, self.OTHER], committed(100)))

    def test_quarantine_fits_to_objects_with_and_without_folders(self) -> None:
        bad = stored_object(0, 100, path="_quarantine", first=2, last=97, records=20, parser="json")
        rest = stored_object(0, 100, first=0, last=99, records=80, parser="json")
        one, other = (replace_facts(each, records=40, parser="json") for each in (self.ONE, self.OTHER))
        for objects in ([bad, rest], [bad, one, other], [bad], [rest]):
            assert clean(evidence(objects, committed(100)))
        assert (Kind.OVERLAP, 0, 100) in found(evidence([bad, rest, one], committed(100)))

    def test_nothing_is_in_quarantine_where_nothing_is_refused(self) -> None:
        moved = stored_object(0, 100, path="_quarantine")
        (finding,) = examine(evidence([moved], committed(100))).findings
        assert finding.kind is Kind.WRONG_FACTS
        assert "no parser" in finding.message

    def test_more_records_than_offsets(self) -> None:
        more = stored_object(0, 100, path="dt=2026-11-21", first=1, last=99, records=51)
        assert found(evidence([self.ONE, more], committed(100))) == [(Kind.WRONG_FACTS, 0, 100)]

    def test_an_offset_in_both(self) -> None:
        both = stored_object(0, 100, path="dt=2026-11-21", first=1, last=98, records=50)
        assert found(evidence([self.ONE, both], committed(100))) == [(Kind.WRONG_FACTS, 0, 100)]

    def test_different_revisions(self) -> None:
        other = stored_object(0, 100, path="dt=2026-11-21", first=1, last=99, records=50, revision="fedcba654321")
        assert found(evidence([self.ONE, other], committed(100))) == [(Kind.WRONG_FACTS, 0, 100)]

    def test_different_horizons(self) -> None:
        """Each record may then be in a folder and in that of late ones."""
        late = stored_object(0, 100, path="_late/dt=2026-11-20", first=1, last=99, records=50, horizon=7)
        assert clean(evidence([replace_facts(self.ONE, horizon=7), late], committed(100)))
        (finding,) = examine(evidence([self.ONE, late], committed(100))).findings
        assert (finding.kind, finding.start, finding.end) == (Kind.WRONG_FACTS, 0, 100)
        assert "different horizons" in finding.message

    def test_nothing_is_late_without_a_horizon(self) -> None:
        late = stored_object(0, 100, path="_late/dt=2026-11-20")
        (finding,) = examine(evidence([late], committed(100))).findings
        assert finding.kind is Kind.WRONG_FACTS
        assert "no horizon" in finding.message

    def test_late_records_are_in_a_quarantine_where_nothing_is_refused(self) -> None:
        assert clean(evidence([stored_object(0, 100, path="_quarantine", horizon=7)], committed(100)))

    def test_different_ends_overlap(self) -> None:
        shorter = stored_object(0, 90, path="dt=2026-11-21", first=1, last=89, records=2)
        assert found(evidence([self.ONE, shorter], committed(100))) == [(Kind.OVERLAP, 0, 90)]


class TestBeyondTheCommittedOffset:
    def test_a_pending_intent_promises_it(self) -> None:
        assert clean(evidence(TILED, pending(100, 250, 300)))
        assert clean(evidence([TILED[0], TILED[2]], pending(100, 250, 300)))

    def test_an_intent_of_other_ranges_does_not(self) -> None:
        assert found(evidence(TILED, pending(100, 200, 300))) == [
            (Kind.BEYOND_COMMIT, 100, 250),
            (Kind.BEYOND_COMMIT, 250, 300),
        ]

    def test_nothing_promises_it(self) -> None:
        assert found(evidence(TILED, committed(100))) == [
            (Kind.BEYOND_COMMIT, 100, 250),
            (Kind.BEYOND_COMMIT, 250, 300),
        ]

    def test_an_object_across_the_committed_offset(self) -> None:
        seen = evidence(TILED, committed(200))
        assert found(seen) == [(Kind.BEYOND_COMMIT, 100, 250), (Kind.BEYOND_COMMIT, 250, 300)]
        assert missing(seen) == []

    def test_what_a_member_did_during_the_listing(self) -> None:
        assert clean(evidence(TILED, committed(100), committed(300)))
        assert clean(evidence(TILED, committed(100), pending(100, 250, 300)))

    def test_somebody_has_set_the_offset_back(self) -> None:
        findings = examine(evidence(TILED, CommittedOffset(100, None))).findings
        assert {finding.kind for finding in findings} == {Kind.BEYOND_COMMIT}
        assert "somebody has set the group's offset" in findings[0].message

    def test_a_replay_leaves_the_lower_generation_behind_it(self) -> None:
        replayed = stored_object(0, 100, generation=2)
        assert clean(evidence([*TILED, replayed], committed(100, generation=2), generation=2))
        assert clean(evidence(TILED, CommittedOffset(0, None), generation=2))


class TestGenerations:
    def test_a_higher_one_goes_on(self) -> None:
        higher = stored_object(100, 300, generation=2)
        assert clean(evidence([TILED[0], higher], committed(300, generation=2), generation=2))
        assert clean(evidence([TILED[0]], committed(100, generation=2), generation=2))

    def test_members_of_both_take_turns(self) -> None:
        turns = [stored_object(at, at + 50, generation=1 + at // 50 % 2) for at in range(0, 300, 50)]
        assert clean(evidence(turns, committed(300, generation=2), generation=2))

    def test_a_hole_between_two(self) -> None:
        higher = stored_object(150, 300, generation=2)
        seen = evidence([TILED[0], higher], committed(300, generation=2), generation=2)
        assert examine(seen).missing == [MissingOffsets((100, 150), 2)]

    def test_a_replay_with_a_hole(self) -> None:
        replay = [stored_object(0, 100, generation=2), stored_object(250, 300, generation=2)]
        seen = evidence([*TILED, *replay], committed(300, generation=2), generation=2)
        assert examine(seen).missing == [MissingOffsets((100, 250), 2)]

    def test_a_replay_fills_the_hole_of_a_lower_one(self) -> None:
        seen = evidence(
            [TILED[0], TILED[2], stored_object(0, 300, generation=2)], committed(300, generation=2), generation=2
        )
        assert clean(seen)


class TestStrangers:
    def test_objects_of_another_group_count_for_nothing(self) -> None:
        foreign = stored_object(100, 250, group="another")
        seen = evidence([TILED[0], foreign, TILED[2]], committed(300))
        assert found(seen) == [(Kind.FOREIGN, 100, 250)]
        assert missing(seen) == [(100, 250)]

    def test_objects_of_no_group(self) -> None:
        foreign = replace(damaged(stored_object(100, 250), end=None), group=None)
        assert found(evidence([*TILED[:1], foreign], committed(100))) == [(Kind.FOREIGN, 100, 101)]

    def test_objects_of_an_earlier_topic(self) -> None:
        old = stored_object(0, 700, topic_id="old")
        new = stored_object(0, 100, generation=2)
        seen = evidence([old, new], committed(100, generation=2), generation=2)
        assert found(seen) == [(Kind.OTHER_TOPIC, 0, 700)]
        assert missing(seen) == []

    def test_a_topic_made_again_is_judged_by_what_was_committed(self) -> None:
        seen = evidence(TILED, committed(300), kafka=KafkaView("new", 0, 10), from_earliest=True)
        assert clean(seen)
        assert seen.readable is None


class TestFacts:
    def test_a_copy_under_another_start(self) -> None:
        copied = replace(TILED[0], key="copy", name=replace(TILED[0].name, start=300))
        findings = examine(evidence([*TILED, copied], committed(300))).findings
        assert [(one.kind, one.key) for one in findings] == [(Kind.MISNAMED, "copy")]
        assert "clicks-0[0,100)" in findings[0].message

    @pytest.mark.parametrize(
        "facts",
        [{"records": 0}, {"records": 101}, {"records": 1}, {"tombstones": 101}, {"checksum": "md5:0"}],
        ids=str,
    )
    def test_what_cannot_be(self, facts: dict[str, Any]) -> None:
        wrong = stored_object(0, 100, **facts)
        assert found(evidence([wrong, *TILED[1:]], committed(300))) == [(Kind.WRONG_FACTS, 0, 100)]

    def test_an_object_without_its_facts_document(self) -> None:
        seen = evidence([TILED[0], damaged(TILED[1], end=250), TILED[2]], committed(300))
        assert found(seen) == [(Kind.DAMAGED, 100, 250)]
        assert missing(seen) == [], "its range is known"
        unknown = evidence([TILED[0], damaged(TILED[1], end=None), TILED[2]], committed(300))
        assert found(unknown) == [(Kind.DAMAGED, 100, 101)]
        assert missing(unknown) == [(100, 250)]


def test_no_committed_offset() -> None:
    seen = evidence([TILED[0], TILED[2]], None)
    assert found(seen) == [(Kind.UNCOMMITTED, 0, 300)]
    assert missing(seen) == [(100, 250)]


def test_a_finding_is_one_line_that_says_all() -> None:
    (finding,) = examine(evidence([*TILED, stored_object(280, 300)], committed(300))).findings
    assert str(finding) == (
        "overlap: clicks-0 [280,300): the offsets are also in raw/clicks/1_0_00000000000000000250.txt, "
        "of the same generation: raw/clicks/1_0_00000000000000000280.txt"
    )
