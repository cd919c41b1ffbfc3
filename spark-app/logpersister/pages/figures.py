"""Figures that several kinds of pages plot, and their values in words. Pure."""

from typing import Final

from logpersister.pages.views import Figure
from logpersister.report.human import duration, number, size
from logpersister.report.lag import LagSummary, TopicLag


def rounded(value: float) -> str:
    return number(round(value))


def a_minute(value: float) -> str:
    return f"{_short(value * 60)} a minute"


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def lag_in_words(lag: LagSummary | TopicLag | None) -> tuple[str, str]:
    """Return in how many records the lag is, and how long the oldest waits."""
    return (number(None), duration(None)) if lag is None else (number(lag.records), duration(lag.seconds))


LAG: Final = Figure("lag", "Lag in records", rounded)
OLDEST: Final = Figure("seconds", "Oldest record waits", duration)
RECORDS: Final = Figure("records", "Records stored", lambda value: f"{_short(value)}/s")
BYTES: Final = Figure("bytes", "Bytes uploaded", lambda value: f"{size(round(value))}/s")
