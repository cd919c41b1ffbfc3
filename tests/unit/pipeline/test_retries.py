"""Retries of a worker, told once each."""

from logpersister.pipeline.connections import RetryTally


def test_what_was_taken_is_not_told_again() -> None:
    tally = RetryTally()
    tally.count("throttled")
    tally.count("throttled")
    assert tally.take() == {"throttled": 2}
    assert tally.take() == {}


def test_totals_count_from_when_they_are_watched() -> None:
    totals = {"timeout": 5}
    tally = RetryTally()
    tally.watch(totals)
    assert tally.take() == {}
    totals["timeout"] += 1
    totals["moved"] = 2
    tally.count("moved")
    assert tally.take() == {"timeout": 1, "moved": 3}
    assert tally.take() == {}
