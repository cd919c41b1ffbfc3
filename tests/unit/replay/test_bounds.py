"""Where replays begin and end: never within a stored range, and with all that was asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.replay.bounds import OutOfReachError, StoredOnce, bounds

MOST = 60


@st.composite
def stored_partitions(draw: st.DrawFn) -> tuple[list[StoredOnce], int]:
    """Return ranges of members, and replays of some of them, that begin and end where these meet."""
    cuts = sorted(draw(st.sets(st.integers(0, MOST), min_size=2)))
    found = [StoredOnce(cuts[:-1], cuts[-1])]
    for _ in range(draw(st.integers(0, 2))):
        start, end = sorted(draw(st.lists(st.sampled_from(cuts), min_size=2, max_size=2, unique=True)))
        own = sorted({start} | {cut for cut in draw(st.sets(st.integers(0, MOST))) if start < cut < end})
        found.append(StoredOnce(own, end))
    return found, cuts[-1]


def is_within(stored: StoredOnce, offset: int) -> bool:
    ends = [*stored.starts[1:], stored.end]
    return any(start < offset < end for start, end in zip(stored.starts, ends, strict=True))


offsets = st.integers(0, MOST)


@given(stored_partitions(), offsets, st.none() | offsets, st.none() | offsets)
def test_a_replay_begins_and_ends_where_ranges_meet(
    found: tuple[list[StoredOnce], int], available: int, since: int | None, until: int | None
) -> None:
    stored, committed = found
    try:
        span = bounds(stored, committed, available, since, until)
    except OutOfReachError:
        assert since is not None
        assert since < available or any(is_within(one, since) for one in stored)
        return
    if span is None:
        assert since is not None or until is not None or available >= stored[0].starts[-1]
        return
    begin, end = span
    assert available <= begin < end <= committed
    assert not any(is_within(one, offset) for one in stored for offset in span)
    assert since is None or begin <= max(since, available)
    assert end >= min(committed, committed if until is None else until)


@given(offsets, offsets, st.integers(1, MOST))
def test_where_nothing_is_stored_a_replay_has_the_offsets_that_it_was_asked_for(
    since: int, length: int, committed: int
) -> None:
    wanted = (since, min(since + length, committed))
    assert bounds([], committed, 0, since, since + length) == (wanted if wanted[0] < wanted[1] else None)


def test_a_source_that_begins_within_the_first_range_is_said() -> None:
    with pytest.raises(OutOfReachError, match="with offset 25 begins at 20, and the source at 22"):
        bounds([StoredOnce([0, 20, 40], 50)], 50, 22, 25, None)
    assert bounds([StoredOnce([0, 20, 40], 50)], 50, 22, None, None) == (40, 50)
