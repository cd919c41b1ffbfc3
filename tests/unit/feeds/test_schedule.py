"""When polls are due: no drift, no slot twice, replicas spread over the period."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.feeds.pauses import LONGEST_ASKED, pause, retry_after
from logpersister.feeds.schedule import Slots, share_of

PERIODS = st.floats(0.1, 86_400)
WALLS = st.floats(1.7e9, 1.9e9)
NOON = 1_795_867_200.0  # 2026-11-28T12:00:00Z


@given(PERIODS, WALLS, st.text(max_size=20), st.floats(0, 0.999))
def test_the_next_slot_is_within_a_period(period: float, wall: float, feed: str, share: float) -> None:
    slots = Slots.of(feed, period, share)
    after = slots.after(wall)
    assert wall < after <= wall + period * 1.001 + 1e-6
    assert slots.after(after) - after == pytest.approx(period, abs=1e-5)


@given(PERIODS, WALLS, st.lists(st.floats(0, 3), min_size=1, max_size=30))
def test_slow_polls_cause_no_drift(period: float, wall: float, durations: list[float]) -> None:
    """Each poll takes a part of the period, or some periods: the next one is due at a slot nevertheless."""
    slots = Slots.of("feed", period, 0)
    now, missed = 100.0, 0
    first = due = slots.due(now, wall, None)
    for duration in durations:
        now = due + duration * period
        following = slots.due(now, wall + now - 100.0, due)
        assert following > now - 1e-5
        missed += slots.missed(due, following)
        due = following
    polled = len(durations)
    assert (due - first) / period == pytest.approx(polled + missed, abs=1e-3)


@given(PERIODS, WALLS, st.floats(-0.4, 0.4))
def test_a_corrected_clock_polls_no_slot_twice(period: float, wall: float, shift: float) -> None:
    slots = Slots.of("feed", period, 0)
    due = slots.due(0.0, wall, None)
    following = slots.due(due, wall + due + shift * period, due)
    assert period / 2 - 1e-5 <= following - due <= period * 1.5 + 1e-5


def test_a_clock_that_jumps_far_stops_nothing() -> None:
    slots = Slots.of("feed", 5.0, 0)
    due = slots.due(0.0, NOON, None)
    assert slots.due(due, NOON - 86_400, due) - due <= 7.5


@given(st.integers(1, 20), st.floats(0.1, 100))
def test_replicas_complement_each_other(replicas: int, period: float) -> None:
    shares = [share_of(f"prices-{number}", replicas) for number in range(replicas)]
    polls = sorted(Slots.of("feed", period, share).after(NOON) for share in shares)
    gaps = [later - earlier for earlier, later in itertools.pairwise([*polls, polls[0] + period])]
    assert gaps == pytest.approx([period / replicas] * replicas, abs=1e-4)


def test_feeds_are_spread_over_the_period() -> None:
    phases = sorted(Slots.of(f"feed-{number}", 1.0, 0).phase for number in range(1000))
    assert max(later - earlier for earlier, later in itertools.pairwise(phases)) < 0.02
    assert 0 <= share_of("any-name", 3) < 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("999999999999999999999", LONGEST_ASKED),
        ("Sat, 28 Nov 2026 12:01:00 GMT", 60.0),
        ("Sat, 28 Nov 2026 11:01:00 GMT", 0.0),
        ("Sat, 28 Nov 2099 11:01:00 GMT", LONGEST_ASKED),
        ("soon", None),
        ("-5", None),
        ("", None),
        (None, None),
    ],
)
def test_what_a_server_asks_for(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOON) == seconds


@given(st.text(max_size=40))
def test_any_text_may_stand_there(value: str) -> None:
    asked = retry_after(value, NOON)
    assert asked is None or 0 <= asked <= LONGEST_ASKED


def test_pauses_grow_unless_the_server_says_how_long() -> None:
    assert 1.0 <= pause(2.0, 1, None) <= 2.0
    assert 150 <= pause(2.0, 30, None) <= 300
    assert pause(2.0, 30, 5.0) == 5.0
    assert 1800 <= pause(3600.0, 5, None) <= 3600
