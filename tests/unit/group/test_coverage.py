from itertools import pairwise

from logpersister.group.membership import LONGEST_SECONDS, Advice, AssignmentCoverage
from tests.clock import Clock

OLD, NEW = b"old", b"new"


def test_a_member_that_sees_the_same_does_nothing() -> None:
    coverage = AssignmentCoverage(Clock())
    assert coverage.check(OLD, OLD, 1) is Advice.NOTHING
    assert coverage.check(NEW, None, 1) is Advice.NOTHING, "a leader of an older release does not tell"


def test_fresh_metadata_is_looked_at_before_a_new_assignment_is_asked_for() -> None:
    coverage = AssignmentCoverage(Clock())
    assert coverage.check(OLD, NEW, 1) is Advice.REFRESH
    assert coverage.check(OLD, NEW, 1) is Advice.NOTHING, "it is not here yet"
    assert coverage.check(NEW, NEW, 2) is Advice.NOTHING, "its own view was the older one"
    assert coverage.check(NEW, OLD, 2) is Advice.REFRESH
    assert coverage.check(NEW, OLD, 3) is Advice.REJOIN


def test_views_that_stay_different_are_asked_about_less_and_less_often() -> None:
    clock = Clock()
    coverage = AssignmentCoverage(clock)
    asked: list[float] = []
    for second in range(7200):
        clock.now = float(second)
        if coverage.check(NEW, OLD, second) is Advice.REJOIN:
            asked.append(clock.now)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 5
    assert LONGEST_SECONDS <= pauses[-1] <= LONGEST_SECONDS + 5
    assert coverage.check(OLD, OLD, 1) is Advice.NOTHING
    assert coverage.check(NEW, OLD, 1) is Advice.REFRESH, "something new is asked about at once"
