"""The judges of tables must find every way in which one can be wrong; each case forges one."""

from collections.abc import Sequence
from typing import Any

from tests.chaos.check import Progress, Row, Seen, digest
from tests.chaos.contents import QUARANTINE, TOMBSTONE, minute_folder
from tests.chaos.hive_table import examine_partitions
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


def live(partition: int, offset: int, content: bytes, time: int = 0, key: bytes | None = None) -> LiveRow:
    return LiveRow(partition, minute_folder(time), Row(content, offset, time, digest(key) if key is not None else None))


WHOLE = [
    live(0, 0, digest(b"row 0"), key=b"k"),
    live(0, 1, digest(b"row 1"), MINUTE),
    live(0, 5, TOMBSTONE, key=b"t"),
    live(1, 0, digest(b"row 2")),
]


def kinds(rows: Sequence[LiveRow]) -> str:
    return " ".join(sorted(problem.kind for problem in examine(rows, "sales", KAFKA, ByMinute(), "a test")))


def test_each_kind_of_damage_is_found() -> None:
    damaged: list[tuple[list[LiveRow], str]] = [
        (WHOLE, ""),
        (WHOLE[::-1], ""),  # a table has no order
        *((WHOLE[:place] + WHOLE[place + 1 :], "missing") for place in range(4)),
        *(([*WHOLE, row], "duplicate") for row in WHOLE),
        ([*WHOLE, live(0, 2, digest(b"bad"))], "foreign"),  # it was refused
        ([*WHOLE, live(7, 0, digest(b"row"))], "foreign"),
        ([*WHOLE[1:], live(0, 0, digest(b"another"), key=b"k")], "changed"),
        ([*WHOLE[1:], live(0, 0, digest(b"row 0"))], "changed"),  # without its key
        ([*WHOLE[1:], WHOLE[0]._replace(folder=minute_folder(MINUTE))], "place"),
        ([*WHOLE[1:], WHOLE[1]], "duplicate missing"),
    ]
    for rows, found in damaged:
        assert kinds(rows) == found


def test_what_a_table_says_that_it_holds() -> None:
    stands = {("sales", 0): 6, ("sales", 1): 1, ("sales", 2): 0, ("events", 0): 1}
    progress = {of: Progress(offset, (), offset) for of, offset in stands.items()}

    def told(*texts: str, **more: Any) -> set[str]:
        found = examine_offsets(Snapshots(texts, 0), more.pop("receipts", ()), "sales", progress, **more)
        return {problem.kind for problem in found}

    last = '{"1/id":{"0":6,"1":1}}'
    assert told('{"1/id":{"0":3}}', last) == set()
    assert told(last, receipts=["one"]) == {"receipt"}
    assert told('{"1/id":{"0":5}}', of_type=True) == set()
    for texts in (
        ["{}"],
        [],
        ['{"1/id":{"0":6}}'],
        ['{"1/id":{"0":5,"1":1}}'],
        ['{"1/id":{"0":7,"1":1}}'],
        ['{"1/id":{"0":6,"1":1,"2":4}}'],
        [last, '{"1/id":{"0":5}}', last],
        ['{"2/id":{"0":6,"1":1}}', last],
        ['{"1/id":{"0":6,"1"', last],
    ):
        assert told(*texts) == {"offsets"}


def test_partitions_of_hive_are_the_folders() -> None:
    folders, late = {minute_folder(0), minute_folder(MINUTE)}, f"_late/{minute_folder(0)}"
    for found, kinds_of in ((folders, []), (set(), ["unregistered"]), (folders | {late}, ["registered"])):
        assert [problem.kind for problem in examine_partitions(found, folders)] == kinds_of
