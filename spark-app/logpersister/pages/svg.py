"""Plots as paths of SVG. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

PIXELS: Final = 3
"""Width of a stretch of time. A plot shows the highest value of each, so that no peak is lost."""
_MARGIN: Final = 2.0
"""Pixels around a line, so that all of its width is seen."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A line over time, and its words."""

    title: str
    summary: str
    """What the line shows, for those who do not see it."""
    width: int
    height: int
    path: str
    """Empty: nothing is known."""
    mark: str = ""
    """Path of a level that values are compared with; empty: there is none."""
    last: str = ""
    below: tuple[str, ...] = ()
    """What stands below the plot: when it begins, its highest value and its mark, when it ends."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A level that values are compared with, as a dashed line."""

    name: str
    """What it is: ``target``."""
    value: float


def plot(
    title: str,
    times: Sequence[float],
    values: Sequence[float],
    show: Callable[[float], str],
    width: int = 600,
    height: int = 120,
    mark: Mark | None = None,
) -> Plot:
    """Return a plot of values at Unix times; NaN is a gap."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Plot(title, "Nothing is known yet.", width, height, "")
    begins, ends = _clock(times[0]), f"{_clock(times[-1])} UTC"
    last, most = "not known" if math.isnan(values[-1]) else show(values[-1]), f"most {show(max(known))}"
    highest, level, told = max(known), "", ""
    if mark is not None:
        highest = max(highest, mark.value)
        level = f"M{_MARGIN:.1f} {_y(mark.value, highest, height):.1f}H{width - _MARGIN:.1f}"
        told = f"{mark.name} {show(mark.value)}"
    summary = f"From {begins} to {ends}: least {show(min(known))}, {most}, at the end {last}."
    return Plot(
        title=title,
        summary=f"{summary} Dashed: {told}." if told else summary,
        width=width,
        height=height,
        path=_path(times, values, highest, width, height),
        mark=level,
        last=last,
        below=(begins, f"{most}, {told}" if told else most, ends),
    )


def _path(times: Sequence[float], values: Sequence[float], highest: float, width: int, height: int) -> str:
    first, span = times[0], max(times[-1] - times[0], 1.0)
    buckets = width // PIXELS
    pieces: list[str] = []
    is_drawn = False
    for bucket, members in groupby(zip(times, values, strict=True), lambda one: int((one[0] - first) / span * buckets)):
        known = [value for _, value in members if not math.isnan(value)]
        if known:
            x = _MARGIN + (width - 2 * _MARGIN) * min(bucket, buckets) / buckets
            y = _y(max(known), highest, height)
            # A line of no length shows as a dot, so that a value between two gaps is seen.
            pieces.append(f"L{x:.1f} {y:.1f}" if is_drawn else f"M{x:.1f} {y:.1f}h0")
        is_drawn = bool(known)
    return "".join(pieces)


def _y(value: float, highest: float, height: int) -> float:
    return height - _MARGIN - (height - 2 * _MARGIN) * (value / highest if highest > 0 else 0.0)


def _clock(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%H:%M}"
