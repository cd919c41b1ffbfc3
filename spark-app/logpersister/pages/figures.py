"""Figures that several kinds of pages plot, and their values in words. Pure."""

from typing import Final

from logpersister.pages.views import Figure
from logpersister.report.human import duration, number, size


def rounded(value: float) -> str:
    return number(round(value))


def a_minute(value: float) -> str:
    return f"{_short(value * 60)} a minute"


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _records_a_second(value: float) -> str:
    return f"{_short(value)}/s"


def _bytes_a_second(value: float) -> str:
    return f"{size(round(value))}/s"


LAG: Final = Figure("lag", "Lag in records", rounded)
OLDEST: Final = Figure("seconds", "Oldest record waits", duration)
RECORDS: Final = Figure("records", "Records stored", _records_a_second)
BYTES: Final = Figure("bytes", "Bytes uploaded", _bytes_a_second)
