"""The judge of finished folders must find each that was finished early, late, twice or without a record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.check import Row, Seen, Stored, digest
from tests.chaos.contents import QUARANTINE, minute_folder
from tests.chaos.folders import Folders, Sighting, Success, due, examine
from tests.chaos.sales import ByMinute

MINUTE = 60_000
LATENESS = 10_000
NOON = 1_795_262_400_000
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
    listed = [{"name": one.name.rpartition("/")[2], "records": len(one.rows)} for one in objects]
    counted = {"number": number, "records": sum(len(one.rows) for one in objects), "lateRecords": late}
    return Sighting(objects[0].path, {**counted, "offsets": offsets, "objects": listed})


def whole() -> Folders:
    """The first minute, finished when the partitions stood at 3 and 2; record 3 came late. Then the second one."""
    at = NOON + MINUTE + LATENESS + 500
    sightings = [
        manifest(1, 0, {"0": 3, "1": 2}, OBJECTS[0], OBJECTS[4]),
        manifest(2, 1, {"0": 4, "1": 2}, OBJECTS[0], OBJECTS[2], OBJECTS[4]),
        manifest(1, 0, {"0": 5, "1": 4}, OBJECTS[1], OBJECTS[6]),
    ]
    first, second = Success(FIRST, at, {0: 3, 1: 2}), Success(SECOND, at + MINUTE, {0: 5, 1: 4})
    done = {FIRST: {0, 1}, SECOND: {0, 1}}
    return Folders("sales", LATENESS, sightings, {FIRST: first, SECOND: second}, done)


def kinds(folders: Folders, objects: Sequence[Stored] = OBJECTS, **more: Any) -> list[str]:
    return [problem.kind for problem in examine(folders, KAFKA, objects, ByMinute(), **more)]


def test_what_is_due() -> None:
    assert due("sales", KAFKA, ByMinute(), LATENESS) == {FIRST, SECOND}
    assert due("sales", KAFKA, ByMinute(), 3 * MINUTE) == set()
    behind = {("sales", 0): KAFKA["sales", 0], ("sales", 1): KAFKA["sales", 1][:2]}
    assert due("sales", behind, ByMinute(), LATENESS) == set(), "one partition has not passed it"


def said(place: int, **changed: Any) -> Callable[[Folders], None]:
    def damage(folders: Folders) -> None:
        one = folders.sightings[place]
        folders.sightings[place] = Sighting(one.folder, {**one.document, **changed})

    return damage


def finished(**changed: Any) -> Callable[[Folders], None]:
    def damage(folders: Folders) -> None:
        folders.successes[FIRST] = replace(folders.successes[FIRST], **changed)

    return damage


OF_SECOND = whole().sightings[2].document["objects"]
DAMAGES: Mapping[str, tuple[Callable[[Folders], Any], str]] = {
    "nothing is wrong": (lambda _: None, ""),
    "nobody has answered what was committed": (finished(committed={}), ""),
    "not finished": (lambda it: it.successes.pop(SECOND), "unfinished"),
    "early by its offsets": (said(0, offsets={"0": 1, "1": 2}), "early"),
    "early by the offsets of another partition": (said(0, offsets={"0": 3, "1": 1}), "early"),
    "without asking a partition": (said(0, offsets={"0": 3}), "early"),
    "before its records were committed": (finished(committed={0: 1, 1: 2}), "early"),
    "before its time by the clock": (finished(at=NOON + MINUTE + LATENESS - 1), "early"),
    "a manifest is none": (lambda it: it.unreadable.append((FIRST, "cut off")), "unreadable"),
    "a number has two contents": (
        lambda it: it.sightings.insert(1, manifest(1, 0, {"0": 3, "1": 2}, OBJECTS[4], OBJECTS[0])),
        "number",
    ),
    "a number goes back": (lambda it: it.sightings.append(it.sightings[0]), "number"),
    "a record is in no content": (
        lambda it: it.sightings.__setitem__(0, manifest(1, 0, {"0": 3, "1": 2}, OBJECTS[0])),
        "content late",
    ),
    "a late record is in no manifest": (lambda it: it.sightings.pop(1), "content"),
    "a late record is not counted": (said(1, lateRecords=0), "late"),
    "another number of records": (said(2, records=7), "content"),
    "other records of an object": (said(2, objects=[OF_SECOND[0], {**OF_SECOND[1], "records": 2}]), "content"),
    "a success without a manifest": (lambda it: it.sightings.pop(2), "number"),
    "a success without a done": (lambda it: it.done.update({SECOND: {0}}), "done"),
}


@pytest.mark.parametrize(("damage", "found"), DAMAGES.values(), ids=DAMAGES)
def test_each_kind_of_damage_is_found(damage: Callable[[Folders], Any], found: str) -> None:
    damage(folders := whole())
    assert " ".join(sorted(set(kinds(folders)))) == found


def test_a_partition_that_was_just_added_need_not_be_asked_and_an_object_must_be_there() -> None:
    said(0, offsets={"0": 3})(folders := whole())
    assert kinds(folders, grown={("sales", 1): NOON + MINUTE}) == []
    assert set(kinds(whole(), [one for one in OBJECTS if one is not OBJECTS[6]])) == {"content"}
