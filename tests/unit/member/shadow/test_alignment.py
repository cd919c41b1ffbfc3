"""Objects of two groups that cut their ranges differently are brought together where both have a boundary."""

from hypothesis import given
from hypothesis import strategies as st

from logpersister.member.shadow.alignment import OverlappingRanges, align
from tests.examples import examples
from tests.unit.member.shadow.samples import ranges_of, rows

SETTINGS = examples(100)
ALL = rows(*range(60))
cuts = st.lists(st.integers(1, 59), max_size=8).map(lambda inner: sorted({0, 60, *inner}))


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
