"""The history is bounded, its figures are of the same moments, and what matters has plots."""

import math

from logpersister.pages.history import WHOLE, History, Reading


def reading(value: float | None = None, rank: float = 0.0, **counters: float) -> Reading:
    return Reading({"lag": value}, counters, rank)


def figure(history: History, subject: str, name: str) -> list[float | None]:
    lines = history.of(subject)
    assert lines is not None
    return [None if math.isnan(value) else value for value in lines.values[name]]


def test_gauges_stand_as_they_are_and_gaps_stay_gaps() -> None:
    history = History()
    for at, value in ((0.0, 5.0), (30.0, None), (60.0, 7.0)):
        history.take(at, {"clicks": reading(value)})
    assert figure(history, "clicks", "lag") == [5.0, None, 7.0]
    lines = history.of("clicks")
    assert lines is not None
    assert list(lines.times) == [0.0, 30.0, 60.0]


def test_of_counters_is_shown_how_fast_they_rise() -> None:
    history = History()
    for at, value in ((0.0, 100.0), (10.0, 150.0), (20.0, 150.0), (30.0, 20.0)):
        history.take(at, {"clicks": reading(records=value)})
    assert figure(history, "clicks", "records") == [None, 5.0, 0.0, 0.0]


def test_only_the_last_readings_are_kept() -> None:
    history = History(points=4)
    for at in range(11):
        history.take(float(at), {"clicks": reading(float(at))})
    assert figure(history, "clicks", "lag") == [7.0, 8.0, 9.0, 10.0]


def test_what_comes_later_has_no_past_and_what_goes_has_gaps() -> None:
    history = History()
    history.take(0.0, {"clicks": reading(1.0)})
    history.take(1.0, {"orders": reading(2.0)})
    assert figure(history, "clicks", "lag") == [1.0, None]
    assert figure(history, "orders", "lag") == [None, 2.0]


def test_so_many_have_plots_those_of_the_highest_rank() -> None:
    history = History(points=2, subjects=3)
    ranks = {f"topic-{number}": reading(1.0, rank=float(number)) for number in range(50)}
    history.take(0.0, {WHOLE: reading(9.0), **ranks})
    assert [name for name in ranks if history.of(name)] == ["topic-47", "topic-48", "topic-49"]
    assert history.of(WHOLE) is not None
    assert history.left_out == 47


def test_a_place_is_given_to_another_only_for_a_higher_rank() -> None:
    history = History(subjects=2)
    history.take(0.0, {"a": reading(1.0, 1.0), "b": reading(1.0, 2.0)})
    history.take(1.0, {"a": reading(1.0, 1.0), "b": reading(1.0, 2.0), "c": reading(1.0, 1.0)})
    assert history.of("c") is None
    history.take(2.0, {"a": reading(1.0, 1.0), "b": reading(1.0, 2.0), "c": reading(1.0, 3.0)})
    assert (history.of("a"), history.left_out) == (None, 1)
    history.take(3.0, {"a": reading(1.0, 1.0), "c": reading(1.0, 3.0)})
    assert history.of("b") is None, "those that are gone have no place that others want"


def test_an_empty_history_has_no_plots() -> None:
    assert History().of(WHOLE) is None
