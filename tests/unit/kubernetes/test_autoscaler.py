"""As many members as the lag asks for: a played group whose load changes, and what holds whatever is seen."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.autoscale import AutoscaleSpec
from logpersister_operator.crd.status_autoscale import Autoscale
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.scaling.autoscaler import (
    LATE,
    AutoscaleDecision,
    AutoscaleInputs,
    autoscale,
    begin,
    hold,
)

EPOCH = datetime(2026, 11, 22, tzinfo=UTC)
SPEC = AutoscaleSpec(min_members=1, max_members=12, target_lag=timedelta(minutes=31))
WAITS, TARGET = 15 * 60.0, 31 * 60.0
"""How long records wait anyway, and how long they may."""
TICK = 30.0
EACH = 1000.0
"""Records a second that a member can store."""
STARTS = 90.0
"""Seconds until a new member stores something."""
HOUR = 3600.0


class Group:
    """Members that store what they can; records wait `WAITS` before they are stored."""

    def __init__(self, arriving: Callable[[float], float], first: int = 1, commits: Callable[[], bool] = lambda: True):
        self._arriving = arriving
        self._commits = commits
        self.state = begin(SPEC, first)
        self.time = 0.0
        self._written, self._stored, self._committed = [0.0], 0.0, 0.0
        self._works_since = 0.0
        self._working = first
        self.sizes = [(0.0, first)]
        self.ages: list[tuple[float, float]] = []
        self.writes = 0

    def run(self, hours: float) -> None:
        until = self.time + hours * HOUR
        while self.time < until:
            self._flow()
            self._decide()

    def _flow(self) -> None:
        self.time += TICK
        self._written.append(self._written[-1] + self._arriving(self.time) * TICK)
        due = self._written[max(0, len(self._written) - 1 - int(WAITS / TICK))]
        members = min(self._working, self.state.members) if self.time < self._works_since else self.state.members
        self._working = members
        self._stored += min(members * EACH * TICK, max(0.0, due - self._stored))
        if self._commits():
            self._committed = self._stored

    def _decide(self) -> None:
        age = self.time - TICK * (bisect_right(self._written, self._committed) - 1)
        self.ages.append((self.time, age))
        ratio = max(0.0, age - WAITS) / (TARGET - WAITS)
        at = EPOCH + timedelta(seconds=self.time)
        seen = AutoscaleInputs(at, ratio, ratio, age, TARGET, 64, int(self._committed), int(self._written[-1]))
        before = self.state
        if self.time < self._works_since:
            self.state = hold(SPEC, before, Reason.MEMBERS_NOT_READY, "").state
        else:
            self.state = autoscale(SPEC, before, seen, "a").state
        self.writes += self.state != before
        if self.state.members != before.members:
            self.sizes.append((self.time, self.state.members))
            self._works_since = self.time + (STARTS if self.state.members > before.members else 0.0)

    def turns(self, since: float = 0.0) -> int:
        """Return how often the number of members began to go the other way."""
        steps = [after > before for (_, before), (at, after) in pairwise(self.sizes) if at >= since]
        return sum(one != other for one, other in pairwise(steps))

    def changes(self, since: float) -> list[int]:
        return [members for at, members in self.sizes if at > since]


def test_a_steady_load_gets_the_members_that_it_needs_and_keeps_them() -> None:
    group = Group(lambda _: 2500.0)
    group.run(6)
    assert group.state.members in (3, 4)
    assert group.turns() <= 1, group.sizes
    settled = group.time
    group.run(24)
    assert group.changes(settled) == [], "it does not try again and again"
    assert max(age for at, age in group.ages if at > settled) < TARGET
    assert group.ages[-1][1] < WAITS + (TARGET - WAITS) / 2


def test_members_follow_a_step_of_the_load_up_and_down() -> None:
    group = Group(lambda time: 900.0 if time < 2 * HOUR or time > 10 * HOUR else 6500.0, first=2)
    group.run(2)
    assert group.state.members in (1, 2)
    group.run(8)
    assert 7 <= group.state.members <= 10, group.sizes
    assert group.ages[-1][1] < TARGET
    up = [members for at, members in group.sizes if 2 * HOUR < at <= 4 * HOUR]
    assert up[0] <= 4, "at most twice as many at once"
    assert all(after <= 2 * before for (_, before), (_, after) in pairwise(group.sizes))
    group.run(14)
    assert group.state.members == 2, "one could do it, with next to no room"
    downs = [(at, after - before) for (_, before), (at, after) in pairwise(group.sizes) if at > 10 * HOUR]
    assert {step for _, step in downs} == {-1}
    assert all(later - at >= SPEC.scale_down_stabilization.total_seconds() for (at, _), (later, _) in pairwise(downs))
    assert group.turns(since=10 * HOUR) == 0


def test_a_load_that_fills_its_members_does_not_make_them_come_and_go() -> None:
    """More than one less could store, and each number is tried at most once."""
    for load in range(700, 8000, 1100):
        group = Group(lambda _, load=load: float(load), first=12)  # type: ignore[misc]
        group.run(30)
        assert group.turns() <= 2, (load, group.sizes)
        assert group.changes(24 * HOUR) == [], (load, group.sizes)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_commits_that_come_in_jumps_do_not_make_members_come_and_go(seed: int) -> None:
    chance = random.Random(seed)
    group = Group(lambda _: 2900.0, commits=lambda: chance.random() < 0.25)
    group.run(24)
    assert group.turns() <= 4, group.sizes
    assert 3 <= group.state.members <= 6
    group.run(24)
    assert len(group.changes(24 * HOUR)) <= 1, group.sizes


def test_at_rest_nothing_is_written() -> None:
    group = Group(lambda time: 2500.0 if time < HOUR else 0.0, first=4)
    group.run(8)
    assert group.state.members == SPEC.min_members
    writes = group.writes
    group.run(24)
    assert group.writes == writes
    assert Autoscale.model_validate(group.state.model_dump(mode="json", by_alias=True)) == group.state


def seen(
    seconds: float,
    ratio: float,
    *,
    overall: float | None = None,
    stored: int = 0,
    written: int = 0,
    partitions: int = 64,
) -> AutoscaleInputs:
    age = WAITS + ratio * (TARGET - WAITS)
    all_of_them = ratio if overall is None else overall
    return AutoscaleInputs(
        EPOCH + timedelta(seconds=seconds), ratio, all_of_them, age, TARGET, partitions, stored, written
    )


def decisions(*lags: AutoscaleInputs, members: int = 4) -> Iterator[AutoscaleDecision]:
    state = begin(SPEC, members)
    for inputs in lags:
        scaling = autoscale(SPEC, state, inputs, "a")
        state = scaling.state
        yield scaling


def decided(*lags: AutoscaleInputs, members: int = 4) -> AutoscaleDecision:
    """Return the last decision."""
    return list(decisions(*lags, members=members))[-1]


def test_members_are_added_by_what_came_and_by_what_is_behind() -> None:
    over = seen(0, 1.1)
    assert decided(over).change is None
    assert decided(over).due == EPOCH + SPEC.scale_up_stabilization
    assert decided(over, seen(59, 1.2, stored=10, written=99)).change is None, "it may pass"
    assert decided(over, seen(60, 1.1, stored=100, written=100)).members == 5, "a little behind, and not less"
    assert decided(over, seen(60, 1.1, stored=100, written=150)).members == 6
    found = decided(over, seen(60, 1.1, stored=100, written=900))
    assert found.members == 8
    assert found.change is not None
    assert found.change.cause == (
        "the oldest record waited 32m36s, more than 31m00s; 54,000 records an hour arrived, 6,000 were stored"
    )
    assert decided(over, seen(60, 40.0, stored=100, written=100), members=9).members == 12


def test_members_are_not_added_when_that_would_not_help() -> None:
    over = seen(0, 1.2)
    falls = decided(over, seen(60, 1.1, stored=100, written=100))
    assert (falls.members, falls.acts) == (4, True), "it is back at its target in a minute"
    assert decided(seen(0, 40.0), seen(60, 39.9, stored=100, written=100)).members == 8, "that would take hours"
    halted = decided(over, seen(60, 1.3, stored=0, written=100))
    assert (halted.members, halted.reason) == (4, Reason.NOTHING_STORED)
    for_hours = [seen(30 * number, 1.3, written=100 * number) for number in range(2, 900)]
    _, *later = decisions(over, *for_hours)
    assert {one.reason for one in later} == {Reason.NOTHING_STORED}, "it is said as long as it holds"
    again = decided(over, *for_hours, seen(27_000, 1.3, stored=10, written=90_000))
    assert again.change is None, "what is stored now tells what members can do, not what was stored in all those hours"
    full = decided(over, seen(60, 1.3, stored=1, written=100), members=12)
    assert (full.members, full.reason, full.acts) == (12, Reason.LIMIT_REACHED, False)
    lags = [seen(30 * number, 1.3 - number / 100, stored=100 * number, written=300 * number) for number in range(9)]
    assert len({one.words for one in decisions(*lags, members=12)}) == 1, (
        "it is said as long as it holds, and not in turns with something else"
    )
    full = decided(seen(0, 1.2, partitions=4), seen(60, 1.3, stored=1, written=100, partitions=4))
    assert "the number of partitions allows no more" in full.words


def test_a_member_is_taken_away_only_if_all_partitions_are_calm_for_long() -> None:
    low = seen(0, 0.1)
    assert decided(low, seen(600, 0.1)).members == 3
    assert decided(low, seen(599, 0.1)).members == 4
    assert decided(low, seen(300, 0.6), seen(600, 0.1)).members == 4, "it began anew"
    assert decided(low, seen(600, 0.0, overall=0.6)).members == 4, "a partition stands still"
    assert decided(low, seen(600 + LATE.total_seconds() + 1, 0.1)).members == 4, "nobody has looked meanwhile"
    assert decided(low, seen(300, 0.1, partitions=65, written=10**9), seen(600, 0.1, partitions=65)).members == 4
    assert decided(low, seen(600, 0.1), members=1).state.watch is None


def test_what_a_member_can_store_is_seen_while_it_has_more_to_do_than_it_can() -> None:
    short = decided(seen(0, 1.1), seen(60, 1.2, stored=240, written=480))
    assert (short.state.rate, short.members) == (3600, 8)
    came = autoscale(SPEC, short.state, seen(120, 1.4, stored=300, written=900), "a").state
    slow = autoscale(SPEC, came, seen(180, 1.5, stored=420, written=1200), "a")
    assert (slow.state.rate, slow.members) == (3600, 12), "members that have just come need a while"
    again = autoscale(SPEC, slow.state, seen(240, 1.5, stored=500, written=1500), "a").state
    works = autoscale(SPEC, again, seen(300, 1.2, stored=500 + 12 * 180, written=1600), "a")
    assert (works.state.rate, works.change) == ((3600 + 10800) // 2, None), "some of it may have been read before"


SIGHTS = st.tuples(
    st.floats(0, 3600),
    st.floats(0, 1000) | st.floats(0, 2),
    st.floats(0, 2) | st.just(float("inf")),
    st.integers(0, 20),
    st.integers(-(10**6), 10**9),
    st.integers(-(10**6), 10**9),
    st.sampled_from(["see", "see", "see", "hold", "rollout"]),
)


@given(st.integers(1, 10), st.integers(0, 10), st.integers(1, 30), st.integers(1, 1000), st.lists(SIGHTS, max_size=30))
def test_whatever_is_seen_the_bounds_hold(
    least: int, more: int, first: int, stabilization: int, history: list[tuple[float, float, float, int, int, int, str]]
) -> None:
    times = timedelta(seconds=stabilization)
    spec = AutoscaleSpec(
        min_members=least, max_members=least + more, scale_up_stabilization=times, scale_down_stabilization=times
    )
    state, seconds, stored, written = begin(spec, first), 0.0, 0, 0
    for pause, ratio, overall, partitions, more_stored, more_written, what in history:
        seconds, stored, written = seconds + pause, max(0, stored + more_stored), max(0, written + more_written)
        inputs = seen(seconds, ratio, overall=overall, stored=stored, written=written, partitions=partitions)
        if what == "see":
            found = autoscale(spec, state, inputs, "a")
            assert found.members <= max(least, min(least + more, partitions or least + more))
            assert found.members <= 2 * state.members
            assert (found.change is not None) == (found.members != state.members)
            if found.members < state.members and partitions >= state.members:
                assert found.members == state.members - 1
        else:
            found = hold(spec, state, Reason.MEMBERS_NOT_READY, "", forget=what == "rollout")
            assert found.members == state.members
        assert least <= found.members <= least + more
        state = Autoscale.model_validate(found.state.model_dump(mode="json", by_alias=True))
        assert state == found.state
