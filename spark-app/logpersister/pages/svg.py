"""Plots as paths of SVG. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

PIXELS: Final = 3
"""Width of a stretch of time. A plot shows the highest value of each, so that no peak is lost."""


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


def plot(
    title: str,
    times: Sequence[float],
    values: Sequence[float],
    show: Callable[[float], str],
    width: int = 600,
    height: int = 120,
) -> Plot:
    """Return a plot of values at Unix times; NaN is a gap.

    Args:
        show: makes words of a value.
    """
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Plot(title, "Nothing is known yet.", width, height, "")
    begins, ends = _clock(times[0]), _clock(times[-1])
    last = "not known" if math.isnan(values[-1]) else show(values[-1])
    summary = f"From {begins} to {ends} UTC: least {show(min(known))}, most {show(max(known))}, at the end {last}."
    return Plot(title, summary, width, height, _path(times, values, max(known), width, height))


def _path(times: Sequence[float], values: Sequence[float], highest: float, width: int, height: int) -> str:
    first, span = times[0], max(times[-1] - times[0], 1.0)
    margin, buckets = 2.0, width // PIXELS
    pieces: list[str] = []
    is_drawn = False
    for bucket, members in groupby(zip(times, values, strict=True), lambda one: int((one[0] - first) / span * buckets)):
        known = [value for _, value in members if not math.isnan(value)]
        if known:
            x = margin + (width - 2 * margin) * min(bucket, buckets) / buckets
            y = height - margin - (height - 2 * margin) * (max(known) / highest if highest > 0 else 0.0)
            # A line of no length shows as a dot, so that a value between two gaps is seen.
            pieces.append(f"L{x:.1f} {y:.1f}" if is_drawn else f"M{x:.1f} {y:.1f}h0")
        is_drawn = bool(known)
    return "".join(pieces)


def _clock(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%H:%M}"
