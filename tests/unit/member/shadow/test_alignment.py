"""Objects of two groups that cut their ranges differently are brought together where both have a boundary."""

from hypothesis import given
from hypothesis import strategies as st

from logpersister.member.shadow.alignment import OverlappingRanges, align
from tests.examples import examples
from tests.unit.member.shadow.samples import objects_of, ranges_of, rows

SETTINGS = examples(100)
ALL = rows(*range(60))
cuts = st.lists(st.integers(1, 59), max_size=8).map(lambda inner: sorted({0, 60, *inner}))


def spans(overlaps: object) -> list[tuple[int, int, int, int]]:
    assert isinstance(overlaps, list)
    return [
        (one.start, one.end, len(one.stable), len(one.shadow)) for one in overlaps if isinstance(one, OverlappingRanges)
    ]


def test_what_one_side_has_alone_is_a_union_too() -> None:
    found = align(ranges_of(ALL, [0, 10, 20]), ranges_of(ALL, [0, 10]), 0, 20)
    assert spans(found.overlaps) == [(0, 10, 1, 1), (10, 20, 1, 0)]
    assert not found.overlaps[1].begins_together


def test_ranges_without_records_divide_and_join_nothing() -> None:
    gaps = rows(0, 1, 2, 20, 21)
    found = align(ranges_of(gaps, [0, 10, 30]), ranges_of(gaps, [0, 5, 15, 30]), 0, 30)
    assert spans(found.overlaps) == [(0, 10, 1, 1), (10, 30, 1, 1)]
    assert align([], [], 5, 30).frontier == 30


def test_a_range_of_several_folders_is_one() -> None:
    stable = objects_of(ALL, 0, 10, folder=lambda row: f"p={row.offset % 2}")
    found = align(stable, ranges_of(ALL, [0, 5, 10]), 0, 10)
    assert spans(found.overlaps) == [(0, 10, 2, 2)]


@SETTINGS
@given(cuts, cuts, st.lists(st.integers(0, 60), max_size=4).map(sorted))
def test_however_it_is_cut_and_looked_at_every_object_is_in_one_union(
    one: list[int], other: list[int], looks: list[int]
) -> None:
    stable, shadow = ranges_of(ALL, one), ranges_of(ALL, other)
    frontier = 0
    overlaps: list[OverlappingRanges] = []
    for limit in [*looks, 60]:
        found = align(stable, shadow, frontier, limit)
        assert frontier <= found.frontier <= max(frontier, limit)
        frontier = found.frontier
        overlaps += found.overlaps
    assert frontier == 60
    assert [each for overlap in overlaps for each in overlap.stable] == stable
    assert [each for overlap in overlaps for each in overlap.shadow] == shadow
    inner = {overlap.start for overlap in overlaps}
    assert inner == set(one) & set(other) - {60}
