from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from logpersister.ranges import Span, common, minus, union
from tests.examples import examples

SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=8
)


def offsets(spans: list[Span]) -> set[int]:
    return {offset for start, end in spans for offset in range(start, end)}


def tidy(spans: list[Span]) -> bool:
    return all(start < end for start, end in spans) and all(one[1] < other[0] for one, other in pairwise(spans))


@examples(300)
@given(one=SPANS, other=SPANS)
def test_spans_are_sets_of_offsets(one: list[Span], other: list[Span]) -> None:
    for found, expected in (
        (union(one), offsets(one)),
        (minus(one, other), offsets(one) - offsets(other)),
        (common(one, other), offsets(one) & offsets(other)),
    ):
        assert offsets(found) == expected
        assert tidy(found)
