"""Which receipts may go into a table: no hole, nothing twice, nothing that is not committed for good."""

from dataclasses import replace
from typing import Any

import pytest

from logpersister.ranges import Range, TopicPartition
from logpersister.storage.receipts import Receipt
from logpersister.tables.appends import Appends, CommittedPosition, appends
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, Numbering, TableView
from tests.unit.tables.samples import TOPIC_ID, receipt

CLICKS = Numbering(1, TOPIC_ID)
VIEW = TableView("lake.clicks", "uuid", 0, (), None, None)


def at(offset: int, generation: int = 1, topic_id: str = TOPIC_ID) -> dict[int, CommittedPosition]:
    return {0: CommittedPosition(offset, generation, topic_id)}


def decided(*receipts: Receipt, held: Held | None = None, **other: Any) -> Appends:
    arguments: dict[str, Any] = {"view": VIEW, "held": held or {}, "committed": at(100)} | other
    return appends(receipts=receipts, **arguments)


def starts(found: Appends) -> list[int]:
    return [one.range.start for one in found.take]


def reasons(found: Appends) -> list[str]:
    return [stop.reason for stop in found.stops]


def test_what_is_committed_goes_in_order() -> None:
    found = decided(receipt(5, 9), receipt(0, 5), receipt(9, 20), committed=at(9))
    assert (starts(found), found.held, reasons(found)) == ([0, 5], {CLICKS: {0: 9}}, [])


def test_what_the_table_has_is_done() -> None:
    found = decided(receipt(0, 5), receipt(5, 9), held={CLICKS: {0: 5}})
    assert (starts(found), [name.start for name in found.done]) == ([5], [0])


def test_it_begins_where_its_first_receipt_does() -> None:
    assert decided(receipt(50, 60)).held == {CLICKS: {0: 60}}


def test_a_hole_stops_its_partition_and_no_other() -> None:
    found = decided(
        *(receipt(5, 9), receipt(12, 15), receipt(15, 17), receipt(0, 3, partition=1)),
        held={CLICKS: {0: 5}},
        committed=at(100) | {1: CommittedPosition(3, 1, TOPIC_ID)},
    )
    assert [(one.range.partition.partition, one.range.start) for one in found.take] == [(0, 5), (1, 0)]
    assert reasons(found) == ["gap"]
    with pytest.raises(TableError, match=r"partition 0: the table has all rows before offset 9, .* at 12"):
        found.raise_stops("lake.clicks")


def test_a_person_may_accept_a_hole() -> None:
    held: Held = {CLICKS: {0: 9}}
    with pytest.raises(TableError, match=r"set its property logpersister\.accepted-gaps to 0:9-12"):
        decided(receipt(12, 15), held=held).raise_stops("lake.clicks")
    accepting = replace(VIEW, gaps="3:0-7, 0:9-12")
    assert starts(decided(receipt(12, 15), receipt(16, 17), held=held, view=accepting)) == [12]
    assert reasons(decided(receipt(13, 15), held=held, view=accepting)) == ["gap"]


def test_recorded_losses_are_no_hole() -> None:
    lost = [Range(TopicPartition("clicks", 0), 10, 12), Range(TopicPartition("clicks", 0), 9, 10)]
    found = decided(receipt(5, 9), receipt(12, 15), held={CLICKS: {0: 5}}, unstored=lost)
    assert (starts(found), reasons(found)) == ([5, 12], [])
    assert reasons(decided(receipt(12, 15), held={CLICKS: {0: 9}}, unstored=lost[:1])) == ["gap"]
    other = [Range(TopicPartition("clicks", 1), 9, 12)]
    assert reasons(decided(receipt(12, 15), held={CLICKS: {0: 9}}, unstored=other)) == ["gap"]
    stored = [Range(TopicPartition("clicks", 0), 5, 12)]
    assert starts(decided(receipt(5, 9), receipt(12, 15), held={CLICKS: {0: 5}}, unstored=stored)) == [5, 12]


def test_a_skip_that_was_taken_back_in_part_is_no_overlap() -> None:
    skipped = [Range(TopicPartition("clicks", 0), 5, 20)]
    found = decided(receipt(12, 15), receipt(15, 17), held={CLICKS: {0: 5}}, unstored=skipped)
    assert (starts(found), found.held, reasons(found)) == ([12, 15], {CLICKS: {0: 17}}, [])


def test_rows_that_the_table_may_have_are_not_appended() -> None:
    found = decided(receipt(3, 9), held={CLICKS: {0: 5}})
    assert (starts(found), reasons(found)) == ([], ["overlap"])


@pytest.mark.parametrize(
    "committed",
    [{}, at(8), at(100, topic_id="other"), at(100, generation=0)],
    ids=["nothing", "less", "of another topic", "of a lower generation"],
)
def test_other_offsets_say_nothing(committed: dict[int, CommittedPosition]) -> None:
    found = decided(receipt(0, 9), committed=committed)
    assert (starts(found), found.done, reasons(found)) == ([], [], [])


def test_generations_are_counted_apart() -> None:
    """A stale offset of the lower one says nothing of a replay."""
    replayed = receipt(0, 5, generation=2)
    held: Held = {CLICKS: {0: 9}}
    assert starts(decided(replayed, held=held, committed=at(9))) == []
    found = decided(receipt(5, 9), replayed, receipt(9, 12), held=held, committed=at(12, generation=2))
    assert [(one.generation, one.range.start) for one in found.take] == [(1, 9), (2, 0)]
    assert found.held == {CLICKS: {0: 12}, Numbering(2, TOPIC_ID): {0: 5}}


def test_receipts_are_of_the_table_and_its_partitions() -> None:
    assert reasons(decided(replace(receipt(0, 5), table="before"))) == ["other-table"]
    assert reasons(decided(replace(receipt(0, 5), spec_id=3))) == ["partition-spec"]


def test_a_snapshot_is_bounded() -> None:
    found = decided(*(receipt(n, n + 1) for n in range(9)), most=4)
    assert (starts(found), found.held) == ([0, 1, 2, 3], {CLICKS: {0: 4}})
