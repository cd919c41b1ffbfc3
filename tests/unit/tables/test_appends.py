"""Which receipts may go into a table: no hole, nothing twice, nothing that is not committed for good."""

from dataclasses import replace
from typing import Any

from logpersister.ranges import Range, TopicPartition
from logpersister.tables.appends import Appends, CommittedPosition, Portion, appends
from logpersister.tables.offsets import Held, Numbering, TableView
from tests.unit.tables.samples import TOPIC_ID, portion

CLICKS = Numbering(1, TOPIC_ID)
VIEW = TableView("lake.clicks", "uuid", 0, (), None, None)


def at(offset: int, generation: int = 1, topic_id: str = TOPIC_ID) -> dict[int, CommittedPosition]:
    return {0: CommittedPosition(offset, generation, topic_id)}


def decided(*portions: Portion, held: Held | None = None, **other: Any) -> Appends:
    arguments: dict[str, Any] = {"view": VIEW, "held": held or {}, "committed": at(100)} | other
    return appends(portions=portions, **arguments)


BOTH = {number: CommittedPosition(100, 1, TOPIC_ID) for number in (0, 1)}


def told(found: Appends) -> str:
    return str(found.told("lake.clicks"))


def starts(found: Appends) -> list[int]:
    return [one.range.start for one in found.take]


def reasons(found: Appends) -> list[str]:
    return [stop.reason for stop in found.stops]


def test_ranges_without_rows_are_passed_over_with_those_that_have_some() -> None:
    """Of a sparse type: what is before its rows and behind them goes in one snapshot, if each has its receipt."""
    none = [portion(start, end, rows=False) for start, end in ((0, 5), (5, 9), (12, 20), (20, 30))]
    found = decided(*none, portion(9, 12), held={CLICKS: {0: 0}}, committed=at(20))
    assert (starts(found), found.held, found.moved) == ([9], {CLICKS: {0: 20}}, True)
    found = decided(*none, committed=at(9))
    assert (starts(found), found.held, found.moved) == ([], {CLICKS: {0: 9}}, True)
    found = decided(none[0], portion(9, 12), held={CLICKS: {0: 0}})
    assert (starts(found), found.held, reasons(found)) == ([], {CLICKS: {0: 5}}, ["gap"]), "one in between is missing"
    elsewhere = replace(VIEW, uuid="other")
    assert decided(none[0], view=elsewhere).moved, "it has no file of any table"


def test_a_hole_stops_its_partition_and_no_other() -> None:
    found = decided(
        *(portion(5, 9), portion(12, 15), portion(15, 17), portion(0, 3, partition=1)),
        held={CLICKS: {0: 5}},
        committed=at(100) | {1: CommittedPosition(3, 1, TOPIC_ID)},
    )
    assert [(one.range.partition.partition, one.range.start) for one in found.take] == [(0, 5), (1, 0)]
    assert reasons(found) == ["gap"]
    assert told(found).startswith("table lake.clicks, partition 0: the table has all rows before offset 9, and the")


def test_a_person_may_accept_a_hole() -> None:
    held: Held = {CLICKS: {0: 9}}
    assert told(decided(portion(12, 15), held=held)).endswith("set its property logpersister.accepted-gaps to 0:9-12")
    both = decided(portion(12, 15), portion(7, 9, partition=1), held={CLICKS: {0: 9, 1: 3}}, committed=BOTH)
    assert told(both).endswith("accepted-gaps to 0:9-12,1:3-7 (and 1 more partitions)")
    accepting = replace(VIEW, gaps="3:0-7, 0:9-12")
    assert starts(decided(portion(12, 15), portion(16, 17), held=held, view=accepting)) == [12]
    assert reasons(decided(portion(13, 15), held=held, view=accepting)) == ["gap"]


def test_recorded_losses_are_no_hole() -> None:
    lost = [Range(TopicPartition("clicks", 0), 10, 12), Range(TopicPartition("clicks", 0), 9, 10)]
    found = decided(portion(5, 9), portion(12, 15), held={CLICKS: {0: 5}}, unstored=lost)
    assert (starts(found), reasons(found)) == ([5, 12], [])
    assert reasons(decided(portion(12, 15), held={CLICKS: {0: 9}}, unstored=lost[:1])) == ["gap"]
    other = [Range(TopicPartition("clicks", 1), 9, 12)]
    assert reasons(decided(portion(12, 15), held={CLICKS: {0: 9}}, unstored=other)) == ["gap"]
    stored = [Range(TopicPartition("clicks", 0), 5, 12)]
    assert starts(decided(portion(5, 9), portion(12, 15), held={CLICKS: {0: 5}}, unstored=stored)) == [5, 12]


def test_a_skip_that_was_taken_back_in_part_is_no_overlap() -> None:
    skipped = [Range(TopicPartition("clicks", 0), 5, 20)]
    found = decided(portion(12, 15), portion(15, 17), held={CLICKS: {0: 5}}, unstored=skipped)
    assert (starts(found), found.held, reasons(found)) == ([12, 15], {CLICKS: {0: 17}}, [])


def test_receipts_are_of_the_table_and_its_partitions() -> None:
    assert reasons(decided(replace(portion(0, 5), table="before"))) == ["other-table"]
    assert reasons(decided(replace(portion(0, 5), spec_id=3))) == ["partition-spec"]
