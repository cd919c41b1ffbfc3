"""The judge of late records must find those that were not late, ranges that are split, and late ones that are lost."""

from collections.abc import Mapping, Sequence
from typing import get_args

from tests.chaos import check, late
from tests.chaos.check import Progress, Row, Seen, Stored, TopicPartition, digest
from tests.chaos.choices import Late
from tests.chaos.contents import LATE_FOLDER, QUARANTINE, minute_folder, refused_digest
from tests.chaos.folders import Folders, Success
from tests.chaos.sales import ByMinute

MINUTE = 60_000
NOON = 1_795_262_400_000
FIRST = minute_folder(NOON)
OF = ("sales", 0)


def seen(offset: int, seconds: float) -> Seen:
    value = b"v%d" % offset
    row, refused = digest(b"r%d" % offset), refused_digest("late", value)
    return Seen(offset, NOON + round(seconds * 1000), None, digest(value), "by_shop=a", row, if_late=refused)


# Record 1 passes the first minute and what is allowed of lateness; 2 and 4 come late.
RECORDS = [seen(0, 1), seen(1, 75), seen(2, 2), seen(3, 200), seen(4, 3)]
KAFKA: Mapping[TopicPartition, Sequence[Seen]] = {OF: RECORDS}
FINISHED = Folders("sales", 10_000, successes={FIRST: Success(FIRST, NOON + 80_000, {0: 2})})


def stored(start: int, path: str, offset: int) -> Stored:
    one = RECORDS[offset]
    content = (one.if_late if path == QUARANTINE else one.content) or b""
    rows = [Row(content, offset, one.timestamp)]
    return Stored(f"table/sales/{path}/1_0_{start:020d}.parquet", "sales", 0, 1, start, path, rows)


def objects(mode: Late, third: str | None = None) -> list[Stored]:
    """Return the ranges from 0, 2 and 3; records 2 and 4 stand apart, or 2 in another folder."""
    apart = QUARANTINE if mode == "quarantine" else f"{LATE_FOLDER}/{FIRST}"
    second, fourth = minute_folder(NOON + MINUTE), minute_folder(NOON + 3 * MINUTE)
    places = ((0, FIRST, 0), (0, second, 1), (2, third or apart, 2), (3, fourth, 3), (3, apart, 4))
    return [stored(*place) for place in places]


def kinds(mode: Late, found: Sequence[Stored]) -> list[str]:
    marked, layout = late.apart(KAFKA, found), ByMinute(mode)
    problems = [*check.examine(found, marked, {OF: Progress(5, (), 5)}, layout)]
    problems += late.examine(FINISHED, marked, found, layout, grown={})
    return sorted({problem.kind for problem in problems})


def test_each_kind_of_damage_is_found() -> None:
    for mode in set(get_args(Late)) - {"append"}:
        found = objects(mode)
        assert kinds(mode, found) == []
        assert kinds(mode, objects(mode, third=FIRST)) == [], "one that was promised before may be appended"
        assert late.surely_late(FINISHED, late.apart(KAFKA, found), ByMinute(mode)) == (1, 1)
        assert kinds(mode, [*found, stored(2, FIRST, 2)]) == ["duplicate", "late"], "a late record is in two places"
        assert kinds(mode, [one for one in found if one.start != 2]) == ["missing"], "a late record is lost"
        assert kinds(mode, [stored(0, found[2].path, 0), *found[1:]]) == ["late"], "it begins before it is passed"
    assert "missing" in kinds("folder", objects("folder", third=f"{LATE_FOLDER}/{minute_folder(NOON + MINUTE)}"))


def test_a_record_was_not_late_since_another_partition_had_not_passed_and_few_stand_apart() -> None:
    other, layout = ("sales", 1), ByMinute("folder")
    marked = late.apart({**KAFKA, other: [seen(0, 1)]}, objects("folder"))
    (problem, *_) = late.examine(FINISHED, marked, objects("folder"), layout, grown={})
    assert "partition 1 has never passed it" in problem.message
    assert not list(late.examine(FINISHED, marked, objects("folder"), layout, grown={other: 0.0}))
    many = [seen(0, 1), seen(1, 200), *(seen(2 + n, 2) for n in range(30))]
    (problem,) = late.examine(FINISHED, {OF: many}, [], layout, grown={})
    assert problem.message == "30 records came long after their folder, and 0 stand apart"
