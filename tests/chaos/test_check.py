"""The judge must find every way in which a bucket can be wrong; each case forges one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.chaos.check import EMPTY, ByContent, Layout, Progress, Row, Seen, SequenceFiles, Stored, TextByDay, digest
from tests.chaos.check import examine as judged

DAY = 86_400_000
OF = ("clicks", 0)
END = 12
ABORTED = digest(b"never")


def record(offset: int) -> Seen:
    """Offset 3 is of the next day, 7 is a tombstone."""
    value = None if offset == 7 else digest(b"value %d" % offset)
    return Seen(offset, DAY if offset == 3 else 0, digest(b"key") if offset == 7 else None, value)


RECORDS = [record(offset) for offset in (0, 1, 2, 3, 4, 7, 8, 10)]
"""Offsets 5, 6, 9 and 11 hold none: markers of transactions, aborted records."""


def stored(start: int, path: str, rows: Sequence[Row]) -> Stored:
    return Stored(f"text/clicks/{path}/1_0_{start:020d}.txt.gz", "clicks", 0, 1, start, path, rows)


def text(*offsets: int) -> list[Row]:
    return [Row(digest(b"value %d" % offset)) for offset in offsets]


WHOLE = [
    stored(0, "dt=1970-01-01", text(0, 1, 2, 4)),
    stored(0, "dt=1970-01-02", text(3)),
    stored(7, "dt=1970-01-01", []),  # of a tombstone only
    stored(8, "dt=1970-01-01", text(8, 10)),
]


def with_rows(place: int, *rows: Row) -> list[Stored]:
    return [replace(one, rows=rows) if one is WHOLE[place] else one for one in WHOLE]


def kinds(
    objects: Sequence[Stored],
    records: Sequence[Seen] = RECORDS,
    layout: Layout | None = None,
    progress: Progress | None = None,
) -> str:
    end = max(END, len(records))
    stands = {OF: progress or Progress(end, (), end)}
    found = judged(objects, {OF: records}, stands, layout or TextByDay(), aborted=frozenset({ABORTED}))
    return " ".join(sorted({problem.kind for problem in found}))


BUCKETS: Mapping[str, tuple[Sequence[Stored], str]] = {
    "whole": (WHOLE, ""),
    "ranges without records": (
        [*WHOLE[:3], stored(8, "dt=1970-01-01", text(8)), stored(9, "dt=1970-01-01", text(10))],
        "",
    ),
    "an object is missing": (WHOLE[1:], "missing"),
    "the object of a folder is missing": ([WHOLE[0], *WHOLE[2:]], "missing"),
    "all objects are missing": ([], "missing"),
    "the first records are missing": (WHOLE[2:], "missing"),
    "a record is missing": (with_rows(0, *text(0, 1, 4)), "missing"),
    "a record is in one object twice": (with_rows(0, *text(0, 1, 1, 2, 4)), "duplicate"),
    "a record is in two objects": (with_rows(0, *text(0, 1, 2, 4, 8)), "duplicate"),
    "a record is in the wrong folder": (
        [replace(WHOLE[0], rows=text(0, 1, 2, 3, 4)), replace(WHOLE[1], rows=[]), *WHOLE[2:]],
        "duplicate missing",
    ),
    "a range was cut twice": ([*WHOLE, stored(2, "dt=1970-01-01", text(2, 4))], "duplicate missing"),
    "two objects of the same place": ([*WHOLE, replace(WHOLE[0], name="another")], "duplicate"),
    "a changed byte": (with_rows(3, Row(digest(b"valve 8")), *text(10)), "changed"),
    "another order": (with_rows(0, *text(0, 2, 1, 4)), "order"),
    "an aborted record": (with_rows(3, *text(8), Row(ABORTED), *text(10)), "aborted"),
    "a foreign record": (with_rows(1, *text(3), Row(digest(b"from nowhere"))), "foreign"),
    "an object where there is nothing": ([*WHOLE, stored(11, "dt=1970-01-01", [])], "place"),
    "another generation": ([*WHOLE[:3], replace(WHOLE[3], generation=2)], "name"),
    "a partition that Kafka does not have": ([*WHOLE, replace(WHOLE[0], partition=1)], "behind foreign place"),
}


@pytest.mark.parametrize(("objects", "found"), BUCKETS.values(), ids=BUCKETS)
def test_each_kind_of_damage_is_found(objects: Sequence[Stored], found: str) -> None:
    assert kinds(objects) == found


def test_not_everything_is_committed() -> None:
    for committed, pending, found in ((8, (), "behind place"), (11, (), "behind"), (END, (15,), "pending")):
        assert kinds(WHOLE, progress=Progress(committed, pending, END)) == found


def test_each_field_of_sequence_files_is_compared_and_equal_values_are_told_apart() -> None:
    def judge(records: Sequence[Seen], rows: Sequence[Row]) -> str:
        return kinds([stored(0, "", rows)], records, SequenceFiles())

    rows = [Row(one.value or EMPTY, one.offset, one.timestamp, one.key) for one in RECORDS]
    assert judge(RECORDS, rows) == ""
    row = rows[5]
    for other in (row._replace(offset=6), row._replace(timestamp=1), row._replace(key=None), Row(b"x", *row[1:])):
        assert judge(RECORDS, [*rows[:5], other, *rows[6:]]) == "changed"
    same = [Seen(offset, 0, None, EMPTY) for offset in range(3)]
    rows = [Row(EMPTY, offset, 0) for offset in range(3)]
    for chosen, found in (((0, 1, 2), ""), ((0, 2, 1), "order"), ((0, 0, 2), "duplicate missing"), ((0, 2), "missing")):
        assert judge(same, [rows[place] for place in chosen]) == found


def of_content(offset: int, place: str | None = "x", version: int = 1) -> Seen:
    value = b"value %d" % offset
    return Seen(offset, 0, None, digest(value), place, digest(b"row of " + value), version)


def of_rows(start: int, path: str, *offsets: int, replay: str = "", version: int = 1) -> Stored:
    one = stored(start, path, [Row(digest(b"row of value %d" % offset), offset, 0) for offset in offsets])
    return replace(one, name=f"{one.name}{replay}", replay=replay, version=version)


CONTENTS = [of_content(0), of_content(1), of_content(2, None), of_content(3), of_content(4, "q")]
"""One record is left out, one is in quarantine."""
IN_QUARANTINE = of_rows(0, "q", 4)
WITH_REPLAY = [of_rows(0, "x", 0, 3), of_rows(0, "x", 1, replay="a")]
NEWER = [of_content(0), of_content(1, version=2)]
OF_TWO_FOLDERS = [of_content(0), of_content(1, "y")]
ROWS: Mapping[str, tuple[Sequence[Seen], Sequence[Stored], str]] = {
    "nothing is wrong": (CONTENTS, [of_rows(0, "x", 0, 1, 3), IN_QUARANTINE], ""),
    "a replay belongs to the range of its source": (CONTENTS, [*WITH_REPLAY, of_rows(0, "q", 4, replay="a")], ""),
    "what is left out is there": (CONTENTS, [of_rows(0, "x", 0, 1, 2, 3), IN_QUARANTINE], "duplicate"),
    "a replay repeats a member": (
        CONTENTS,
        [of_rows(0, "x", 0, 1, 3), IN_QUARANTINE, of_rows(0, "x", 1, replay="a")],
        "duplicate",
    ),
    "a replay repeats another": (CONTENTS, [*WITH_REPLAY, of_rows(0, "x", 1, replay="b"), IN_QUARANTINE], "duplicate"),
    "the source of a replay is left": (CONTENTS, [*WITH_REPLAY, of_rows(0, "q", 1, 4)], "duplicate"),
    "a replay deletes first": (CONTENTS, [of_rows(0, "x", 0, 3), of_rows(0, "q", 4, replay="a")], "missing"),
    "a replay out of order": (
        CONTENTS,
        [of_rows(0, "x", 0), of_rows(0, "x", 3, 1, replay="a"), IN_QUARANTINE],
        "order",
    ),
    "the newest columns": (NEWER, [of_rows(0, "x", 0, 1, version=2)], ""),
    "columns older than a record": (NEWER, [of_rows(0, "x", 0, 1)], "schema"),
    "each range has its own columns": (OF_TWO_FOLDERS, [of_rows(0, "x", 0), of_rows(1, "y", 1, version=2)], ""),
    "two versions in one range": (OF_TWO_FOLDERS, [of_rows(0, "x", 0), of_rows(0, "y", 1, version=2)], "schema"),
}


@pytest.mark.parametrize(("records", "objects", "found"), ROWS.values(), ids=ROWS)
def test_each_kind_of_damage_in_rows_is_found(records: Sequence[Seen], objects: Sequence[Stored], found: str) -> None:
    assert kinds(objects, records, ByContent()) == found
