from hypothesis import given
from hypothesis import strategies as st

from logpersister.plan.intents import PLANNED_RANGES
from logpersister.plan.planner import MERGE_BELOW, Backlog, due


def test_a_full_range_is_due_at_once_and_the_rest_waits_for_its_age() -> None:
    assert due(Backlog(0, 250, aged=False), max_bytes=1000, bytes_per_offset=10) == (100, 200)
    assert due(Backlog(0, 250, aged=True), max_bytes=1000, bytes_per_offset=10) == (100, 200, 250)


def test_a_tiny_rest_joins_the_range_before_it() -> None:
    assert due(Backlog(0, 205, aged=True), max_bytes=1000, bytes_per_offset=10) == (100, 205)


@given(
    st.integers(0, 10**9),
    st.integers(1, 10**7),
    st.booleans(),
    st.integers(1, 10**9),
    st.floats(0.01, 10**6),
    st.integers(1, PLANNED_RANGES),
)
def test_what_is_due_tiles_a_beginning_of_the_backlog(
    position: int, left: int, aged: bool, max_bytes: int, bytes_per_offset: float, most: int
) -> None:
    ends = due(Backlog(position, position + left, aged), max_bytes, bytes_per_offset, most)
    assert len(ends) <= most
    assert list(ends) == sorted(set(ends))
    assert all(position < end <= position + left for end in ends)
    full = max(1, int(max_bytes / bytes_per_offset))
    sizes = [end - start for start, end in zip((position, *ends), ends, strict=False)]
    assert all(size == full for size in sizes[:-1])
    assert all(size <= full * (1 + MERGE_BELOW) for size in sizes)
    if aged and len(ends) < most:
        assert ends
        assert ends[-1] == position + left
