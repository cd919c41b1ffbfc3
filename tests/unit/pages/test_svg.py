"""Lines of known values, and the words beside them."""

import math
import re

from logpersister.pages.svg import plot

NAN = math.nan


def points(path: str) -> list[tuple[str, float, float]]:
    return [(kind, float(x), float(y)) for kind, x, y in re.findall(r"([ML])([\d.]+) ([\d.]+)", path)]


def test_a_line_goes_from_the_left_to_the_right_and_its_peak_is_at_the_top() -> None:
    drawn = plot("Lag", [0.0, 50.0, 100.0], [0.0, 10.0, 5.0], "{:.0f}".format, 600, 104)
    assert points(drawn.path) == [("M", 2.0, 102.0), ("L", 300.0, 2.0), ("L", 598.0, 52.0)]
    assert drawn.summary == "From 00:00 to 00:01 UTC: least 0, most 10, at the end 5."


def test_gaps_are_not_bridged() -> None:
    drawn = plot("Lag", [0.0, 1.0, 2.0, 3.0], [1.0, NAN, 1.0, NAN], str)
    assert [kind for kind, *_ in points(drawn.path)] == ["M", "M"]
    assert drawn.summary.endswith("at the end not known.")


def test_of_many_values_every_peak_is_seen() -> None:
    values = [1.0] * 720
    values[333] = 100.0
    drawn = plot("Lag", [30.0 * at for at in range(720)], values, str, 600, 104)
    assert len(points(drawn.path)) <= 201
    assert min(y for _, _, y in points(drawn.path)) == 2.0


def test_zeros_are_a_line_at_the_bottom() -> None:
    assert {y for _, _, y in points(plot("Lag", [0.0, 9.0], [0.0, 0.0], str, 60, 24).path)} == {22.0}


def test_nothing_known_is_said() -> None:
    for times, values in (([], []), ([0.0, 1.0], []), ([0.0], [NAN])):
        drawn = plot("Lag", times, values, str)
        assert (drawn.path, drawn.summary) == ("", "Nothing is known yet.")
