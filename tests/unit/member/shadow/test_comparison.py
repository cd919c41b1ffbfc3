"""Whether two sets of objects hold the same records, by what they say of themselves."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.member.shadow.alignment import ComparedObject, OverlappingRanges
from logpersister.member.shadow.comparison import Verdict, compare
from tests.examples import examples
from tests.unit.member.shadow.samples import Row, objects_of, ranges_of, rows

SETTINGS = examples(100)
ALL = rows(*range(20))
EQUAL = Verdict(None, checksum_compared=True)
UNPROVEN = Verdict(None, checksum_compared=False)


def verdict(stable: list[ComparedObject], shadow: list[ComparedObject], *, same_layout: bool = True) -> Verdict:
    return compare(OverlappingRanges(0, 20, tuple(stable), tuple(shadow)), same_layout=same_layout)


def parity(row: Row) -> str:
    return f"p={row.offset % 2}"


def third(row: Row) -> str:
    return f"t={row.offset % 3}"


@pytest.mark.parametrize(
    ("shadow", "message", "fewer"),
    [
        (ALL[1:], "20 records of the stable group, 19 records of the shadow", True),
        ([*ALL, Row(19, b"once more")], "20 records of the stable group, 21 records of the shadow", False),
        ([*ALL[:9], Row(9, b"other"), *ALL[10:]], "the same number of records, but other keys or values", False),
        ([*ALL[:8], ALL[9], ALL[8], *ALL[10:]], "the same number of records, but other keys or values", False),
    ],
)
def test_what_is_different_is_said(shadow: list[Row], message: str, fewer: bool) -> None:
    found = verdict(ranges_of(ALL, [0, 7, 20]), objects_of(shadow, 0, 20))
    assert found.difference is not None
    assert found.difference.startswith(message)
    assert found.fewer == fewer


def test_records_in_another_folder_are_a_difference_where_folders_are_the_same() -> None:
    moved = ranges_of(ALL, [0, 20], lambda row: "p=0" if row.offset < 2 else parity(row))
    found = verdict(ranges_of(ALL, [0, 20], parity), moved)
    assert found.difference == "folder p=0: 10 records of the stable group, 11 records of the shadow"
    other = ranges_of([*ALL[:9], Row(9, b"other"), *ALL[10:]], [0, 20], parity)
    found = verdict(ranges_of(ALL, [0, 20], parity), other)
    assert found.difference == "folder p=1: the same number of records, but other keys or values"


def test_other_folders_leave_only_the_number_of_records() -> None:
    of_three = ranges_of(ALL, [0, 20], third)
    assert verdict(ranges_of(ALL, [0, 20], parity), of_three, same_layout=False) == UNPROVEN
    assert verdict(ranges_of(ALL, [0, 20], parity), of_three[:2], same_layout=False).difference is not None


def silent(objects: list[ComparedObject]) -> list[ComparedObject]:
    """Return objects of a release that did not say how large their payloads are."""
    return [replace(one, facts=replace(one.facts, payload=None)) for one in objects]


def test_objects_of_earlier_releases_are_compared_one_to_one() -> None:
    assert verdict(silent(ranges_of(ALL, [0, 20])), ranges_of(ALL, [0, 7, 20])) == EQUAL
    assert verdict(silent(ranges_of(ALL, [0, 7, 20])), ranges_of(ALL, [0, 20])) == UNPROVEN


def test_another_topic_of_the_same_name_is_a_difference() -> None:
    recreated = [replace(one, facts=replace(one.facts, topic_id="other")) for one in ranges_of(ALL, [0, 20])]
    assert verdict(ranges_of(ALL, [0, 20]), recreated).difference == "they are of different topics of the same name"
    old_broker = [replace(one, facts=replace(one.facts, topic_id=None)) for one in ranges_of(ALL, [0, 20])]
    assert verdict(ranges_of(ALL, [0, 20]), old_broker) == EQUAL


cuts = st.lists(st.integers(1, 19), max_size=5).map(lambda inner: sorted({0, 20, *inner}))


@SETTINGS
@given(cuts, cuts, st.sets(st.integers(0, 19)), st.sampled_from([parity, third, lambda _: ""]), st.data())
def test_nothing_but_the_records_matters(
    one: list[int], other: list[int], offsets: set[int], folder: object, data: st.DataObject
) -> None:
    assert callable(folder)
    some = rows(*sorted(offsets))
    assert verdict(ranges_of(some, one, folder), ranges_of(some, other, folder)) == EQUAL
    if not some:
        return
    index = data.draw(st.integers(0, len(some) - 1))
    without = [row for row in some if row != some[index]]
    changed = [row._replace(value=b"?") if row == some[index] else row for row in some]
    for records in (without, changed):
        assert verdict(ranges_of(some, one, folder), ranges_of(records, other, folder)).difference is not None
