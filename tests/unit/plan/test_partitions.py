from itertools import pairwise

import pytest

from logpersister.plan import holds
from logpersister.plan.events import Acknowledged, Due, LookedAhead, Resolved, Unanswered
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import CommittedOffset, Intent, UnstoredPrefix, promised, stored
from logpersister.plan.partitions import Commit, PartitionStates
from logpersister.plan.states import InDoubt
from logpersister.ranges import Range, TopicPartition

CLICKS = TopicPartition("clicks", 0)
ORDERS = TopicPartition("orders", 0)


def intent(*ends: int, start: int = 0, unstored: UnstoredPrefix | None = None) -> Intent:
    return Intent(CLICKS, "id", start, ends, "rev", 1, unstored=unstored)


def ranges(*boundaries: int) -> list[Range]:
    return [Range(CLICKS, start, end) for start, end in pairwise(boundaries)]


@pytest.fixture
def states() -> PartitionStates:
    """Clicks is ours under token 1, and idle at 0."""
    states = PartitionStates(1)
    states.own({CLICKS: 1})
    resolve(states, stored(0, "id", 1))
    states.step(CLICKS, LookedAhead(None))
    return states


def resolve(states: PartitionStates, value: CommittedOffset) -> None:
    states.step(CLICKS, Resolved(value, value, "id"))


def promise(states: PartitionStates, *ends: int, unstored: UnstoredPrefix | None = None) -> None:
    value = promised(intent(*ends, unstored=unstored))
    states.step(CLICKS, Due(intent(*ends, unstored=unstored)))
    states.acknowledged(CLICKS, Commit(1, value))


def runnable(states: PartitionStates, now: float = 0.0) -> list[Range]:
    return [range_ for range_, _ in states.runnable(now)]


def end(states: PartitionStates, *done: Range, token: int = 1) -> None:
    for range_ in done:
        states.started(range_)
        states.succeeded(range_, token)


def test_a_new_assignment_knows_of_the_old_one_only_what_was_acknowledged(states: PartitionStates) -> None:
    promise(states, 10)
    assert states.own({CLICKS: 2, ORDERS: 3}) == [CLICKS]
    assert sorted(states.unresolved()) == [CLICKS, ORDERS]
    assert states.pending() == []
    assert states.own({CLICKS: 2, ORDERS: 3}) == []
    assert states.own({}) == [CLICKS, ORDERS]
    states.own({CLICKS: 4})
    resolve(states, stored(5, "id", 1))
    assert states.idle() == {CLICKS: 5}
    states.own({CLICKS: 5})
    resolve(states, stored(3, "id", 1))
    assert states.held()[CLICKS].reason is HoldReason.PROTOCOL, "older than what was acknowledged: nobody may take it"


def test_a_failed_range_waits_and_is_tried_again_as_promised(states: PartitionStates) -> None:
    promise(states, 10, 20)
    for number, range_ in enumerate(ranges(0, 10, 20), start=1):
        states.started(range_)
        states.failed(range_, 1, lambda failures: 100.0 * failures)
        assert runnable(states, 100.0 * number - 1) == []
    assert states.is_stuck(CLICKS)
    assert states.may_run_again(CLICKS)
    assert runnable(states, 200.0) == ranges(0, 10, 20)
    end(states, Range(CLICKS, 0, 10))
    assert not states.is_stuck(CLICKS)
    assert states.may_run_again(CLICKS), "what failed has left something, perhaps"


def test_the_end_of_an_execution_under_another_ownership_says_nothing(states: PartitionStates) -> None:
    promise(states, 10)
    states.own({CLICKS: 2})
    resolve(states, promised(intent(10)))
    states.started(Range(CLICKS, 0, 10))
    states.succeeded(Range(CLICKS, 0, 10), 1)
    states.failed(Range(CLICKS, 0, 10), 1, lambda _: 99.0)
    assert states.running([CLICKS])
    assert not states.is_stuck(CLICKS)
    assert states.writes() == {}


def test_an_answer_that_comes_too_late_changes_nothing(states: PartitionStates) -> None:
    promise(states, 10)
    end(states, Range(CLICKS, 0, 10))
    commit = states.writes()[CLICKS]
    states.own({CLICKS: 2})
    states.acknowledged(CLICKS, commit)
    assert states.positions() == {}
    states.own({})
    states.acknowledged(CLICKS, commit)
    assert states.step(CLICKS, Acknowledged(commit.committed)) == ()
    assert states.token(CLICKS) is None


def test_an_intent_that_is_taken_over_or_was_in_doubt_may_have_been_executed_before(states: PartitionStates) -> None:
    states.own({CLICKS: 2})
    resolve(states, promised(intent(10)))
    assert states.may_run_again(CLICKS)
    states.step(CLICKS, Unanswered(stored(10, "id", 1, revision="rev")))
    assert isinstance(states.state(CLICKS), InDoubt)
    assert states.unresolved() == [CLICKS]
    assert runnable(states) == []
    resolve(states, promised(intent(10)))
    assert runnable(states) == ranges(0, 10)


def test_a_held_partition_keeps_its_intent_and_runs_nothing(states: PartitionStates) -> None:
    promise(states, 10)
    states.hold(CLICKS, holds.data_lost(CLICKS, 0, 5))
    assert runnable(states) == []
    assert states.pending() == [intent(10)]
    assert states.is_stuck(CLICKS)
    assert states.unresolved() == [], "a person decides, not a lost answer"
    assert states.positions() == {CLICKS: 0}
