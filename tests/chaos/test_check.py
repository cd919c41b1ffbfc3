"""The judge must find every way in which a bucket can be wrong; each test forges one."""

from collections.abc import Sequence
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


def whole() -> list[Stored]:
    return [
        stored(0, "dt=1970-01-01", text(0, 1, 2, 4)),
        stored(0, "dt=1970-01-02", text(3)),
        stored(7, "dt=1970-01-01", []),  # of a tombstone only
        stored(8, "dt=1970-01-01", text(8, 10)),
    ]


def kinds(
    objects: Sequence[Stored],
    *,
    records: Sequence[Seen] = RECORDS,
    progress: Progress | None = None,
    aborted: frozenset[bytes] = frozenset(),
    layout: Layout | None = None,
) -> list[str]:
    stands = {OF: progress or Progress(END, (), END)}
    found = examine(objects, {OF: records}, stands, layout or TextByDay(), aborted=aborted)
    return [problem.kind for problem in found]


def test_nothing_is_wrong() -> None:
    assert kinds(whole()) == []


def test_ranges_without_records_have_no_object() -> None:
    assert kinds([*whole()[:3], stored(8, "dt=1970-01-01", text(8)), stored(9, "dt=1970-01-01", text(10))]) == []


def test_a_partition_without_records() -> None:
    assert kinds([], records=[], progress=Progress(0, (), 0)) == []
    assert kinds([], records=[], progress=Progress(6, (), 6)) == []  # only aborted ones


@pytest.mark.parametrize("left_out", [0, 1, 3])
def test_an_object_is_missing(left_out: int) -> None:
    objects = whole()
    del objects[left_out]
    assert kinds(objects) == ["missing"]


def test_an_object_of_tombstones_only_is_not_missed() -> None:
    """Its range counts as the end of the one before, and no record is lost; ``verify`` sees it."""
    objects = whole()
    del objects[2]
    assert kinds(objects) == []


def test_all_objects_are_missing() -> None:
    assert kinds([]) == ["missing"]


def test_the_first_records_are_missing() -> None:
    assert kinds(whole()[2:]) == ["missing"]


def test_a_record_is_missing() -> None:
    objects = whole()
    objects[0] = replace(objects[0], rows=text(0, 1, 4))
    assert kinds(objects) == ["missing"]


def test_of_equal_records_one_is_missing() -> None:
    same = [Seen(offset, 0, None, EMPTY) for offset in range(4)]
    (problem,) = examine(
        [stored(0, "dt=1970-01-01", [Row(EMPTY)] * 3)], {OF: same}, {OF: Progress(4, (), 4)}, TextByDay()
    )
    assert (problem.kind, problem.message) == ("missing", "does not hold 1 records, such as offset 3")


def test_a_record_is_in_one_object_twice() -> None:
    objects = whole()
    objects[0] = replace(objects[0], rows=text(0, 1, 1, 2, 4))
    assert kinds(objects) == ["duplicate"]


def test_a_record_is_in_two_objects() -> None:
    objects = whole()
    objects[0] = replace(objects[0], rows=text(0, 1, 2, 4, 8))
    assert kinds(objects) == ["duplicate"]


def test_a_record_is_in_the_wrong_folder() -> None:
    objects = whole()
    objects[0] = replace(objects[0], rows=text(0, 1, 2, 3, 4))
    objects[1] = replace(objects[1], rows=[])
    assert sorted(kinds(objects)) == ["duplicate", "missing"]


def test_a_range_was_cut_twice() -> None:
    """As by a commit before the upload: the next member takes another range over the same records."""
    again = stored(2, "dt=1970-01-01", text(2, 4))
    assert "duplicate" in kinds([*whole(), again])


def test_two_objects_of_the_same_place() -> None:
    objects = whole()
    assert kinds([*objects, replace(objects[0], name="text/clicks/dt=1970-01-01/1_0_0.txt")]) == ["duplicate"]


def test_a_changed_byte() -> None:
    objects = whole()
    objects[3] = replace(objects[3], rows=[Row(digest(b"valve 8")), *text(10)])
    assert kinds(objects) == ["changed"]


def test_another_order() -> None:
    objects = whole()
    objects[0] = replace(objects[0], rows=text(0, 2, 1, 4))
    assert kinds(objects) == ["order"]


def test_an_aborted_record() -> None:
    rejected = digest(b"never")
    objects = whole()
    objects[3] = replace(objects[3], rows=[*text(8), Row(rejected), *text(10)])
    assert kinds(objects, aborted=frozenset({rejected})) == ["aborted"]
    assert kinds(objects) == ["foreign"]


def test_a_foreign_record() -> None:
    objects = whole()
    objects[1] = replace(objects[1], rows=[*text(3), Row(digest(b"from nowhere"))])
    assert kinds(objects) == ["foreign"]


def test_an_object_where_there_is_nothing() -> None:
    assert kinds([*whole(), stored(11, "dt=1970-01-01", [])]) == ["place"]


def test_an_object_behind_the_committed_offset() -> None:
    assert set(kinds(whole(), progress=Progress(8, (), END))) == {"place", "behind"}


def test_another_generation() -> None:
    objects = whole()
    objects[3] = replace(objects[3], generation=2)
    assert kinds(objects) == ["name"]


def test_a_partition_that_kafka_does_not_have() -> None:
    assert "behind" in kinds([*whole(), replace(whole()[0], partition=1)])
    assert "foreign" in kinds([*whole(), replace(whole()[0], partition=1)])


def test_not_everything_is_committed() -> None:
    assert kinds(whole(), progress=Progress(11, (), END)) == ["behind"]
    assert kinds(whole(), progress=Progress(END, (15,), END)) == ["pending"]


class TestSequenceFiles:
    def objects(self, **changed: Any) -> list[Stored]:
        rows = [Row(one.value or EMPTY, one.offset, one.timestamp, one.key) for one in RECORDS]
        if changed:
            rows[5] = rows[5]._replace(**changed)
        return [stored(0, "", rows[:5]), stored(5, "", rows[5:])]

    def kinds(self, **changed: Any) -> list[str]:
        return kinds(self.objects(**changed), layout=SequenceFiles())

    def test_nothing_is_wrong(self) -> None:
        assert self.kinds() == []

    @pytest.mark.parametrize("changed", [{"offset": 6}, {"timestamp": 1}, {"key": None}, {"value": digest(b"x")}])
    def test_a_field_is_changed(self, changed: dict[str, Any]) -> None:
        assert self.kinds(**changed) == ["changed"]

    def test_equal_values_are_told_apart(self) -> None:
        same = [Seen(offset, 0, None, digest(b"same")) for offset in range(3)]
        rows = [Row(one.value or EMPTY, one.offset, one.timestamp, one.key) for one in same]
        progress = Progress(3, (), 3)

        def found(*chosen: Row) -> list[str]:
            return kinds([stored(0, "", chosen)], records=same, progress=progress, layout=SequenceFiles())

        assert found(*rows) == []
        assert found(rows[0], rows[2], rows[1]) == ["order"]
        assert found(rows[0], rows[0], rows[2]) == ["duplicate", "missing"]


ID = "0123456789ab"


class TestRows:
    """Objects of rows: some records are left out, some come out of quarantine, and files have columns of a version."""

    def record(self, offset: int, place: str | None = "x", version: int = 1) -> Seen:
        value = b"value %d" % offset
        return Seen(offset, 0, None, digest(value), place, digest(b"row of " + value), version)

    def row(self, offset: int) -> Row:
        return Row(digest(b"row of value %d" % offset), offset, 0)

    def stored(self, start: int, path: str, *offsets: int, replay: str = "", version: int = 1) -> Stored:
        one = stored(start, path, [self.row(offset) for offset in offsets])
        name = one.name.replace(".txt.gz", f".r{replay}.parquet" if replay else ".parquet")
        return replace(one, name=name, replay=replay, version=version)

    def kinds(self, objects: Sequence[Stored], records: Sequence[Seen] | None = None) -> list[str]:
        if records is None:
            records = [self.record(0), self.record(1), self.record(2, None), self.record(3), self.record(4, "q")]
        return kinds(objects, records=records, progress=Progress(5, (), 5), layout=ByContent())

    def test_nothing_is_wrong(self) -> None:
        assert self.kinds([self.stored(0, "x", 0, 1, 3), self.stored(0, "q", 4)]) == []

    def test_what_is_left_out_is_missed_nowhere(self) -> None:
        assert self.kinds([], [self.record(0, None), self.record(1, None)]) == []
        assert "duplicate" in self.kinds([self.stored(0, "x", 0, 1, 2, 3), self.stored(0, "q", 4)])

    def test_a_replay_belongs_to_the_range_of_its_source(self) -> None:
        replayed = [self.stored(0, "x", 0, 3), self.stored(0, "x", 1, replay=ID), self.stored(0, "q", 4, replay=ID)]
        assert self.kinds(replayed) == []
        assert self.kinds([self.stored(0, "x", 0, 1, 3, replay=ID), self.stored(0, "q", 4)]) == []

    def test_a_replay_that_repeats(self) -> None:
        whole = [self.stored(0, "x", 0, 1, 3), self.stored(0, "q", 4)]
        assert self.kinds([*whole, self.stored(0, "x", 1, replay=ID)]) == ["duplicate"]
        again = [self.stored(0, "x", 1, replay=ID), self.stored(0, "x", 1, replay=ID[::-1])]
        assert self.kinds([self.stored(0, "x", 0, 3), *again, self.stored(0, "q", 4)]) == ["duplicate"]

    def test_a_replay_whose_source_is_left(self) -> None:
        objects = [self.stored(0, "x", 0, 3), self.stored(0, "x", 1, replay=ID), self.stored(0, "q", 1, 4)]
        assert self.kinds(objects) == ["duplicate"]

    def test_a_replay_that_deletes_first(self) -> None:
        assert self.kinds([self.stored(0, "x", 0, 3), self.stored(0, "q", 4, replay=ID)]) == ["missing"]

    def test_a_replay_out_of_order(self) -> None:
        objects = [self.stored(0, "x", 0), self.stored(0, "x", 3, 1, replay=ID), self.stored(0, "q", 4)]
        assert self.kinds(objects) == ["order"]

    def test_columns_that_are_older_than_a_record(self) -> None:
        records = [self.record(0), self.record(1, version=2)]
        assert self.kinds([self.stored(0, "x", 0, 1, version=2)], records) == []
        assert self.kinds([self.stored(0, "x", 0, 1, version=1)], records) == ["schema"]

    def test_columns_of_two_versions_in_one_range(self) -> None:
        records = [self.record(0), self.record(1, "y")]
        assert self.kinds([self.stored(0, "x", 0), self.stored(0, "y", 1)], records) == []
        assert self.kinds([self.stored(0, "x", 0), self.stored(0, "y", 1, version=2)], records) == ["schema"]
        assert self.kinds([self.stored(0, "x", 0), self.stored(1, "y", 1, version=2)], records) == []
