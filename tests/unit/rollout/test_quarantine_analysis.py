"""How many records a canary may put into quarantine: shares, how they are counted, and when one is evidence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.rollout import RolloutSpec
from logpersister_operator.rollout.evidence import MOST_COUNTED, Evidence, ReportedCounters, Tally
from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.quarantine_analysis import Share, excess, heard
from logpersister_operator.rollout.record import RolloutRecord, Trial
from logpersister_operator.rollout.transitions import Phase

NOW = datetime(2026, 11, 22, tzinfo=UTC)
READY = Fleet(3, frozenset(range(3)), 3)
EXAMPLE = "clicks-3@120: not JSON: expected value at line 1 column 7"


def told(records: int, quarantined: int = 0, member: str = "a", *, minutes: int = -9) -> ReportedCounters:
    """Return what a member tells that has started so many minutes after the rollout began."""
    return ReportedCounters(member, NOW + timedelta(minutes=minutes), records, quarantined)


def says(*members: ReportedCounters, ranges: int = 9) -> Evidence:
    bad = any(one.quarantined for one in members)
    return Evidence(len(members), ranges=ranges, stored=members, example=EXAMPLE if bad else "")


NEW = says(told(0), ranges=0)
Look = tuple[Evidence, Evidence]


def found(*looks: Look, percent: int = 1, minutes: int = 1, old: Fleet = READY) -> str:
    """Return what is found about B, which is tried beside A, after some looks at what both tell."""
    policy = RolloutSpec.model_validate({"canary": {"analysis": {"maxQuarantineRatio": f"{percent}%"}}})
    record = RolloutRecord(Phase.CANARY, NOW, stable="A", candidate="B", began=NOW, trial=Trial(NOW))
    now, fleets = NOW + timedelta(minutes=minutes), {"A": old, "B": READY}
    moments = [RolloutInputs(now, "B", 3, policy, fleets, {"A": theirs, "B": mine}) for mine, theirs in looks]
    for inputs in moments:
        record = heard(record, inputs.evidence_of("B"), inputs)
    return excess(record, looks[-1][0], moments[-1], policy.canary.analysis)


def simply(mine: ReportedCounters, theirs: ReportedCounters, *, ranges: int = 9, **others: Any) -> str:
    """Return what is found when both have stored nothing before."""
    return found((NEW, NEW), (says(mine, ranges=ranges), says(theirs)), **others)


@pytest.mark.parametrize(
    ("mine", "other", "percent", "exceeds"),
    [
        (Share(1, 100), Share(0, 100), 1, False),
        (Share(101, 10_000), Share(0, 1), 1, True),
        (Share(101, 10_000), Share(1, 10_000), 1, False),
        (Share(1, 10**12), Share(0, 10**12), 0, True),
        (Share(1, 3), Share(333_333, 1_000_000), 0, True),
        (Share(7, 7), Share(0, 0), 99, True),
        (Share(0, 0), Share(0, 0), 0, False),
    ],
)
def test_shares_are_compared_exactly(mine: Share, other: Share, percent: int, exceeds: bool) -> None:
    assert mine.exceeds(other, percent) is exceeds


def test_it_is_told_with_both_shares_and_an_example() -> None:
    assert simply(told(4000, 500), told(2000, 20)) == (
        "500 of 4,000 records (12.5%) that it stored went into quarantine, "
        f"and 20 of 2,000 records (1.0%) of the old revision; for example {EXAMPLE}"
    )


def test_what_the_old_revision_refuses_too_is_nobodys_fault() -> None:
    assert not simply(told(4000, 2000), told(1000, 500))
    assert not simply(told(4000, 2040), told(1000, 500))
    assert simply(told(4000, 2041), told(1000, 500))


def test_only_what_came_during_the_rollout_counts() -> None:
    before = (says(told(1000, 900)), says(told(1000, 900)))
    assert not found(before, (says(told(2000, 910)), says(told(2000, 900))))
    told_now = found(before, (says(told(2000, 920)), says(told(2000, 900))))
    assert told_now.startswith("20 of 1,000 records (2.0%) that it stored")


def test_a_process_that_started_meanwhile_counts_from_its_beginning() -> None:
    """So nothing is missed that a canary stores before it is asked for the first time."""
    assert found((says(told(30, 30, minutes=1)), NEW)).startswith("30 of 30 records (100.0%)")
    restarted = says(told(50, 5, minutes=2))
    assert found((says(told(30, 5, minutes=1)), NEW), (restarted, NEW)).startswith("10 of 80 records (12.5%)")


def test_old_members_that_leave_or_do_not_answer_change_no_share() -> None:
    """Each had counted for months, and other numbers."""
    long, other, silent = told(90_000, 50_000), told(1000, 10, "b"), Evidence()
    canary, later = says(told(100, 3, minutes=1)), says(told(200, 6, minutes=1))
    grown = told(1200, 14, "b")
    expected = "6 of 200 records (3.0%) that it stored went into quarantine, and 4 of 200 records (2.0%) of the old"
    for theirs in ([says(grown)], [silent, says(grown)], [says(grown, long)], [says(long), says(grown), says(grown)]):
        looks = [(canary, says(long, other)), *((later, one) for one in theirs)]
        assert found(*looks, percent=0).startswith(expected)


CROWD = range(2 * MOST_COUNTED)
ANSWERS = st.dictionaries(st.sampled_from(CROWD), st.integers(-9, 9), max_size=len(CROWD))
"""Who answers, and when each of them has started."""


@given(st.lists(ANSWERS, max_size=5))
def test_the_same_answers_heard_again_change_nothing(looks: list[dict[int, int]]) -> None:
    """A record goes on until nothing follows, each time with the same answers."""
    tally = Tally()
    for turn, look in enumerate(looks):
        answers = [told(10 * turn, turn, f"m{number:02}", minutes=minutes) for number, minutes in look.items()]
        tally = tally.after(answers, NOW)
        assert tally.after(answers, NOW) == tally
        assert 0 <= 10 * tally.quarantined == tally.records
        assert len(tally.told) <= MOST_COUNTED


def test_an_old_revision_that_stored_nothing_meanwhile_is_known_by_what_it_stored_before() -> None:
    before = says(told(1000, 500))
    assert not found((NEW, before), (says(told(4000, 2000)), before))
    nothing = simply(told(4000, 2000), told(0))
    assert nothing.endswith(f"0 of 0 records (0.0%) of the old revision; for example {EXAMPLE}")


def test_it_is_judged_when_it_could_pass() -> None:
    assert not simply(told(4000, 4000), told(0), ranges=2)
    assert simply(told(4000, 4000), told(0), ranges=3), "a parser that refuses everything fails early"
    assert simply(told(4000, 4000), told(0), ranges=2, minutes=5), "a quiet topic passes by time, and fails by it"


def test_one_record_alone_withdraws_nothing() -> None:
    assert not simply(told(3, 1), told(0))
    assert simply(told(3, 2), told(0))
    assert simply(told(3, 1), told(0), percent=0), "unless not a single one is allowed"
