"""The judge of the table must find every way in which it can be wrong; each test forges one."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.chaos.check import Progress, Row, Seen, digest
from tests.chaos.contents import QUARANTINE, TOMBSTONE, minute_folder
from tests.chaos.sales import ByMinute
from tests.chaos.tables import LiveRow, Snapshots, examine, examine_offsets

MINUTE = 60_000
KAFKA = {
    ("sales", 0): [
        Seen(0, 0, digest(b"k"), digest(b"0"), "by_shop=a", digest(b"row 0")),
        Seen(1, MINUTE, None, digest(b"1"), "by_shop=a", digest(b"row 1")),
        Seen(2, 0, None, digest(b"2"), QUARANTINE, digest(b"bad")),
        Seen(5, 0, digest(b"t"), None, "by_shop=null", None),
    ],
    ("sales", 1): [Seen(0, 0, None, digest(b"other"), "by_shop=b", digest(b"row 2"))],
    ("events", 0): [Seen(0, 0, None, digest(b"event"), "x", digest(b"event"))],
}


def live(
    partition: int, offset: int, content: bytes, time: int = 0, key: bytes | None = None, **changed: Any
) -> LiveRow:
    row = Row(content, offset, time, digest(key) if key is not None else None)
    return LiveRow(partition, minute_folder(time), row)._replace(**changed)


WHOLE = [
    live(0, 0, digest(b"row 0"), key=b"k"),
    live(0, 1, digest(b"row 1"), MINUTE),
    live(0, 5, TOMBSTONE, key=b"t"),
    live(1, 0, digest(b"row 2")),
]


def kinds(rows: Sequence[LiveRow]) -> list[str]:
    return [problem.kind for problem in examine(rows, "sales", KAFKA, ByMinute(), "a test")]


def test_nothing_is_wrong() -> None:
    assert kinds(WHOLE) == []
    assert kinds(WHOLE[::-1]) == [], "a table has no order"


@pytest.mark.parametrize("place", range(4))
def test_each_row_is_there_once(place: int) -> None:
    assert kinds([row for number, row in enumerate(WHOLE) if number != place]) == ["missing"]
    assert kinds([*WHOLE, WHOLE[place]]) == ["duplicate"]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([*WHOLE, live(0, 2, digest(b"bad"))], ["foreign"]),
        ([*WHOLE, live(7, 0, digest(b"row"))], ["foreign"]),
        ([*WHOLE[1:], live(0, 0, digest(b"another"), key=b"k")], ["changed"]),
        ([*WHOLE[1:], live(0, 0, digest(b"row 0"))], ["changed"]),
        ([*WHOLE[1:], WHOLE[0]._replace(folder=minute_folder(MINUTE))], ["place"]),
        ([*WHOLE[1:], WHOLE[1]], ["duplicate", "missing"]),
    ],
    ids=["refused", "of nowhere", "another value", "without its key", "another folder", "two ways at once"],
)
def test_each_kind_of_damage_is_found(rows: Sequence[LiveRow], found: list[str]) -> None:
    assert sorted(kinds(rows)) == found


PROGRESS = {
    ("sales", 0): Progress(6, (), 6),
    ("sales", 1): Progress(1, (), 1),
    ("sales", 2): Progress(0, (), 0),
    ("events", 0): Progress(1, (), 1),
}


def offsets(*texts: str, receipts: Sequence[str] = ()) -> list[str]:
    found = examine_offsets(Snapshots(list(texts), 0), receipts, "sales", PROGRESS)
    return [problem.kind for problem in found]


def test_the_table_holds_what_is_committed() -> None:
    assert offsets('{"1/id":{"0":3}}', '{"1/id":{"0":6,"1":1}}') == []


@pytest.mark.parametrize(
    "texts",
    [
        ["{}"],
        [],
        ['{"1/id":{"0":6}}'],
        ['{"1/id":{"0":5,"1":1}}'],
        ['{"1/id":{"0":7,"1":1}}'],
        ['{"1/id":{"0":6,"1":1,"2":4}}'],
        ['{"1/id":{"0":6,"1":1}}', '{"1/id":{"0":5}}', '{"1/id":{"0":6,"1":1}}'],
        ['{"2/id":{"0":6,"1":1}}', '{"1/id":{"0":6,"1":1}}'],
        ['{"1/id":{"0":6,"1"', '{"1/id":{"0":6,"1":1}}'],
    ],
    ids=[
        *("nothing", "no snapshot", "a partition is missing", "behind", "ahead", "too many", "back and forth"),
        *("another generation", "cut off"),
    ],
)
def test_offsets_that_are_not_what_is_committed(texts: list[str]) -> None:
    assert "offsets" in offsets(*texts)


def test_receipts_are_left() -> None:
    assert offsets('{"1/id":{"0":6,"1":1}}', receipts=["one", "two"]) == ["receipt", "receipt"]
