"""The judge must find every way in which a bucket can be wrong; each case forges one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.check import (
    EMPTY,
    ByContent,
    Layout,
    Progress,
    Row,
    Seen,
    SequenceFiles,
    Stored,
    TextByDay,
    digest,
    examine,
)

DAY = 86_400_000
OF = ("clicks", 0)
END = 12
ABORTED = digest(b"never")


def record(offset: int, value: bytes | None = b"", key: bytes | None = None) -> Seen:
    """Offset 3 is of the next day."""
    text = b"value %d" % offset if value == b"" else value
    return Seen(
        offset,
        DAY if offset == 3 else 0,
        digest(key) if key is not None else None,
        digest(text) if text is not None else None,
    )


RECORDS = [record(n) for n in range(5)] + [record(7, None, b"tombstone")] + [record(n) for n in (8, 10)]
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


def without(place: int) -> list[Stored]:
    return [one for one in WHOLE if one is not WHOLE[place]]


def with_rows(place: int, *rows: Row) -> list[Stored]:
    return [replace(one, rows=rows) if one is WHOLE[place] else one for one in WHOLE]


def kinds(
    objects: Sequence[Stored],
    *,
    records: Sequence[Seen] = RECORDS,
    progress: Progress | None = None,
    layout: Layout | None = None,
) -> str:
    stands = {OF: progress or Progress(END, (), END)}
    found = examine(objects, {OF: records}, stands, layout or TextByDay(), aborted=frozenset({ABORTED}))
    return " ".join(sorted({problem.kind for problem in found}))


@pytest.mark.parametrize(
    "objects",
    [
        WHOLE,
        [*WHOLE[:3], stored(8, "dt=1970-01-01", text(8)), stored(9, "dt=1970-01-01", text(10))],
        without(2),  # its range counts as the end of the one before, and no record is lost; `verify` sees it
    ],
    ids=["whole", "ranges without records", "an object of tombstones is missing"],
)
def test_nothing_is_wrong(objects: Sequence[Stored]) -> None:
    assert kinds(objects) == ""


def test_a_partition_without_records() -> None:
    assert kinds([], records=[], progress=Progress(6, (), 6)) == ""


DAMAGED: Mapping[str, tuple[Sequence[Stored], str]] = {
    "an object is missing": (without(0), "missing"),
    "the object of a folder is missing": (without(1), "missing"),
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


@pytest.mark.parametrize(("objects", "found"), DAMAGED.values(), ids=DAMAGED)
def test_each_kind_of_damage_is_found(objects: Sequence[Stored], found: str) -> None:
    assert kinds(objects) == found


@pytest.mark.parametrize(
    ("progress", "found"), [((8, ()), "behind place"), ((11, ()), "behind"), ((END, (15,)), "pending")]
)
def test_not_everything_is_committed(progress: tuple[int, Sequence[int]], found: str) -> None:
    assert kinds(WHOLE, progress=Progress(*progress, END)) == found


def test_of_equal_records_one_is_missing() -> None:
    same = [Seen(offset, 0, None, EMPTY) for offset in range(4)]
    objects = [stored(0, "dt=1970-01-01", [Row(EMPTY)] * 3)]
    assert kinds(objects, records=same, progress=Progress(4, (), 4)) == "missing"


def rows_of_files(records: Sequence[Seen]) -> list[Row]:
    return [Row(one.value or EMPTY, one.offset, one.timestamp, one.key) for one in records]


@pytest.mark.parametrize("changed", [{}, {"offset": 6}, {"timestamp": 1}, {"key": None}, {"value": digest(b"x")}])
def test_each_field_of_sequence_files_is_compared(changed: dict[str, Any]) -> None:
    rows = rows_of_files(RECORDS)
    rows[5] = rows[5]._replace(**changed)
    objects = [stored(0, "", rows[:5]), stored(5, "", rows[5:])]
    assert kinds(objects, layout=SequenceFiles()) == ("changed" if changed else "")


@pytest.mark.parametrize(("chosen", "found"), [((0, 1, 2), ""), ((0, 2, 1), "order"), ((0, 0, 2), "duplicate missing")])
def test_equal_values_in_sequence_files_are_told_apart(chosen: Sequence[int], found: str) -> None:
    same = [Seen(offset, 0, None, digest(b"same")) for offset in range(3)]
    rows = [rows_of_files(same)[place] for place in chosen]
    assert kinds([stored(0, "", rows)], records=same, progress=Progress(3, (), 3), layout=SequenceFiles()) == found


ID = "0123456789ab"


def of_content(offset: int, place: str | None = "x", version: int = 1) -> Seen:
    value = b"value %d" % offset
    return Seen(offset, 0, None, digest(value), place, digest(b"row of " + value), version)


def of_rows(start: int, path: str, *offsets: int, replay: str = "", version: int = 1) -> Stored:
    one = stored(start, path, [Row(digest(b"row of value %d" % offset), offset, 0) for offset in offsets])
    name = one.name.replace(".txt.gz", f".r{replay}.parquet" if replay else ".parquet")
    return replace(one, name=name, replay=replay, version=version)


CONTENTS = [of_content(0), of_content(1), of_content(2, None), of_content(3), of_content(4, "q")]
"""One record is left out, one is in quarantine."""
IN_QUARANTINE = of_rows(0, "q", 4)


WITH_REPLAY = [of_rows(0, "x", 0, 3), of_rows(0, "x", 1, replay=ID)]
DAMAGED_ROWS: Mapping[str, tuple[Sequence[Stored], str]] = {
    "nothing is wrong": ([of_rows(0, "x", 0, 1, 3), IN_QUARANTINE], ""),
    "a replay belongs to the range of its source": ([*WITH_REPLAY, of_rows(0, "q", 4, replay=ID)], ""),
    "what is left out is there": ([of_rows(0, "x", 0, 1, 2, 3), IN_QUARANTINE], "duplicate"),
    "a replay repeats a member": (
        [of_rows(0, "x", 0, 1, 3), IN_QUARANTINE, of_rows(0, "x", 1, replay=ID)],
        "duplicate",
    ),
    "a replay repeats another": ([*WITH_REPLAY, of_rows(0, "x", 1, replay=ID[::-1]), IN_QUARANTINE], "duplicate"),
    "the source of a replay is left": ([*WITH_REPLAY, of_rows(0, "q", 1, 4)], "duplicate"),
    "a replay deletes first": ([of_rows(0, "x", 0, 3), of_rows(0, "q", 4, replay=ID)], "missing"),
    "a replay out of order": ([of_rows(0, "x", 0), of_rows(0, "x", 3, 1, replay=ID), IN_QUARANTINE], "order"),
}


@pytest.mark.parametrize(("objects", "found"), DAMAGED_ROWS.values(), ids=DAMAGED_ROWS)
def test_each_kind_of_damage_in_rows_is_found(objects: Sequence[Stored], found: str) -> None:
    assert kinds(objects, records=CONTENTS, progress=Progress(5, (), 5), layout=ByContent()) == found


NEWER = [of_content(0), of_content(1, version=2)]
OF_TWO_FOLDERS = [of_content(0), of_content(1, "y")]


@pytest.mark.parametrize(
    ("records", "objects", "found"),
    [
        (NEWER, [of_rows(0, "x", 0, 1, version=2)], ""),
        (NEWER, [of_rows(0, "x", 0, 1)], "schema"),
        (OF_TWO_FOLDERS, [of_rows(0, "x", 0), of_rows(1, "y", 1, version=2)], ""),
        (OF_TWO_FOLDERS, [of_rows(0, "x", 0), of_rows(0, "y", 1, version=2)], "schema"),
    ],
    ids=["the newest columns", "older than a record", "each range has its own", "two versions in one range"],
)
def test_columns_of_another_version_are_found(records: Sequence[Seen], objects: Sequence[Stored], found: str) -> None:
    assert kinds(objects, records=records, progress=Progress(2, (), 2), layout=ByContent()) == found
