"""The judge of finished folders must find each that was finished early, late, twice or without a record."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.chaos.check import Row, Seen, Stored, digest
from tests.chaos.contents import QUARANTINE, minute_folder
from tests.chaos.folders import Folders, Sighting, Success, due, end_of, examine, passes_at
from tests.chaos.sales import ByMinute

MINUTE = 60_000
LATENESS = 10_000
NOON = round(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() * 1000)
FIRST, SECOND = minute_folder(NOON), minute_folder(NOON + MINUTE)


def seen(offset: int, seconds: float, place: str = "by_shop=a") -> Seen:
    return Seen(offset, NOON + round(seconds * 1000), None, digest(b"v%d" % offset), place, digest(b"r%d" % offset))


KAFKA = {
    # The second record passes the end of the first minute, the third one what is allowed of lateness.
    ("sales", 0): [seen(0, 1), seen(1, 61), seen(2, 75), seen(3, 5), seen(4, 140)],
    ("sales", 1): [seen(0, 2), seen(1, 2, QUARANTINE), seen(2, 80), seen(3, 150)],
}


def stored(partition: int, start: int, folder: str, *offsets: int) -> Stored:
    rows = [Row(digest(b"r%d" % offset), offset, NOON) for offset in offsets]
    name = f"table/sales/{folder}/1_{partition}_{start:020d}.parquet"
    return Stored(name, "sales", partition, 1, start, folder, rows)


OBJECTS = [
    stored(0, 0, FIRST, 0),
    stored(0, 0, SECOND, 1, 2),
    stored(0, 3, FIRST, 3),
    stored(0, 4, minute_folder(NOON + 2 * MINUTE), 4),
    stored(1, 0, FIRST, 0),
    stored(1, 0, QUARANTINE, 1),
    stored(1, 2, SECOND, 2),
    stored(1, 2, minute_folder(NOON + 2 * MINUTE), 3),
]


def manifest(number: int, late: int, offsets: dict[str, int], *objects: Stored) -> Sighting:
    listed = [
        {"name": one.name.rpartition("/")[2], "partition": one.partition, "records": len(one.rows)} for one in objects
    ]
    records = sum(len(one.rows) for one in objects)
    document = {"number": number, "records": records, "lateRecords": late, "offsets": offsets, "objects": listed}
    return Sighting(objects[0].path, document)


def whole() -> Folders:
    """The first minute, finished when the partitions stood at 3 and 2; record 3 came late. Then the second one."""
    at = NOON + MINUTE + LATENESS + 500
    return Folders(
        "sales",
        LATENESS,
        [
            manifest(1, 0, {"0": 3, "1": 2}, OBJECTS[0], OBJECTS[4]),
            manifest(2, 1, {"0": 4, "1": 2}, OBJECTS[0], OBJECTS[2], OBJECTS[4]),
            manifest(1, 0, {"0": 5, "1": 4}, OBJECTS[1], OBJECTS[6]),
        ],
        {
            FIRST: Success(FIRST, at, {0: 3, 1: 2}),
            SECOND: Success(SECOND, at + MINUTE, {0: 5, 1: 4}),
        },
        {FIRST: {0, 1}, SECOND: {0, 1}},
    )


def kinds(folders: Folders, objects: Sequence[Stored] = OBJECTS, **more: Any) -> list[str]:
    return [problem.kind for problem in examine(folders, KAFKA, objects, ByMinute(), **more)]


def test_nothing_is_wrong() -> None:
    assert kinds(whole()) == []


def test_ends_of_folders() -> None:
    assert end_of(FIRST) == NOON + MINUTE
    assert passes_at(KAFKA["sales", 0], NOON + MINUTE + LATENESS) == 2
    assert passes_at(KAFKA["sales", 0], NOON + 10 * MINUTE) is None


def test_what_is_due() -> None:
    assert due("sales", KAFKA, ByMinute(), LATENESS) == {FIRST, SECOND}
    assert due("sales", KAFKA, ByMinute(), 3 * MINUTE) == set()
    behind = {("sales", 0): KAFKA["sales", 0], ("sales", 1): KAFKA["sales", 1][:2]}
    assert due("sales", behind, ByMinute(), LATENESS) == set(), "one partition has not passed it"


def test_a_folder_is_not_finished() -> None:
    folders = whole()
    del folders.successes[SECOND]
    assert kinds(folders) == ["unfinished"]


@pytest.mark.parametrize("partition", ["0", "1"])
def test_a_folder_was_finished_early_by_its_own_offsets(partition: str) -> None:
    folders = whole()
    document = deepcopy(dict(folders.sightings[0].document))
    document["offsets"][partition] = 1
    folders.sightings[0] = Sighting(FIRST, document)
    assert kinds(folders) == ["early"]


def test_a_folder_was_finished_without_asking_a_partition() -> None:
    folders = whole()
    document = dict(folders.sightings[0].document) | {"offsets": {"0": 3}}
    folders.sightings[0] = Sighting(FIRST, document)
    assert kinds(folders) == ["early"]
    assert kinds(folders, grown={("sales", 1): NOON + MINUTE}) == [], "it had just been added"


def test_a_folder_was_finished_before_its_records_were_committed() -> None:
    folders = whole()
    folders.successes[FIRST] = replace(folders.successes[FIRST], committed={0: 1, 1: 2})
    assert kinds(folders) == ["early"]


def test_a_folder_was_finished_before_its_time_by_the_clock() -> None:
    folders = whole()
    folders.successes[FIRST] = replace(folders.successes[FIRST], at=NOON + MINUTE + LATENESS - 1)
    assert kinds(folders) == ["early"]


def test_nobody_has_answered_what_was_committed() -> None:
    folders = whole()
    folders.successes[FIRST] = replace(folders.successes[FIRST], committed={})
    assert kinds(folders) == []


def test_a_manifest_is_none() -> None:
    folders = whole()
    folders.unreadable.append((FIRST, "cut off"))
    assert kinds(folders) == ["unreadable"]


def test_a_number_has_two_contents() -> None:
    folders = whole()
    folders.sightings.insert(1, manifest(1, 0, {"0": 3, "1": 2}, OBJECTS[4], OBJECTS[0]))
    assert kinds(folders) == ["number"]


def test_a_number_goes_back() -> None:
    folders = whole()
    folders.sightings.append(folders.sightings[0])
    assert kinds(folders) == ["number"]


def test_a_record_is_in_no_content() -> None:
    folders = whole()
    folders.sightings[0] = manifest(1, 0, {"0": 3, "1": 2}, OBJECTS[0])
    assert set(kinds(folders)) == {"content", "late"}


def test_a_late_record_is_in_no_manifest() -> None:
    folders = whole()
    del folders.sightings[1]
    assert kinds(folders) == ["content"]


def test_a_late_record_is_not_counted() -> None:
    folders = whole()
    document = dict(folders.sightings[1].document) | {"lateRecords": 0}
    folders.sightings[1] = Sighting(FIRST, document)
    assert kinds(folders) == ["late"]


@pytest.mark.parametrize("changed", [{"records": 7}, {"records": 0}])
def test_a_manifest_says_another_number_of_records(changed: dict[str, int]) -> None:
    folders = whole()
    folders.sightings[2] = Sighting(SECOND, dict(folders.sightings[2].document) | changed)
    assert set(kinds(folders)) == {"content"}


def test_a_manifest_lists_an_object_that_is_not_there() -> None:
    gone = [one for one in OBJECTS if one is not OBJECTS[6]]
    assert set(kinds(whole(), gone)) == {"content"}


def test_a_manifest_says_other_records_of_an_object() -> None:
    folders = whole()
    document = deepcopy(dict(folders.sightings[2].document))
    document["objects"][0]["records"] += 1
    folders.sightings[2] = Sighting(SECOND, document)
    assert kinds(folders) == ["content"]


def test_a_success_without_manifest_or_done() -> None:
    folders = whole()
    del folders.sightings[2]
    assert kinds(folders) == ["number"]
    folders = whole()
    folders.done[SECOND] = {0}
    assert kinds(folders) == ["done"]
