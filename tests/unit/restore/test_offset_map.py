"""Old and new offsets, beside the plain rule: the number of records before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.restore.offset_table import OffsetMap

Olds = st.sets(st.integers(0, 60)).map(sorted)


@given(Olds, st.integers(0, 70))
def test_an_old_offset_becomes_the_number_of_records_before_it(olds: list[int], asked: int) -> None:
    found = OffsetMap()
    for old in olds:
        found.add_run(old, 1)
    assert found.new(asked) == sum(old < asked for old in olds)


@given(Olds)
def test_runs_are_all_records_and_as_few_as_can_be(olds: list[int]) -> None:
    found = OffsetMap()
    for old in olds:
        found.add_run(old, 1)
    rows = [(old + place, new + place) for old, new, count in found.runs() for place in range(count)]
    assert rows == [(old, new) for new, old in enumerate(olds)]
    assert len(found.runs()) == sum(old - 1 not in olds for old in olds)
    assert found.records == len(olds)


def test_records_follow_each_other() -> None:
    found = OffsetMap()
    found.add_run(10, 5)
    found.add_run(15, 5)
    assert found.runs() == [(10, 0, 10)]
    with pytest.raises(ValueError, match="offset 19 does not follow 19"):
        found.add_run(19, 1)
