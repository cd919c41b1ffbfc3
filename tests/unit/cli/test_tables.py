import io

import pytest

from logpersister.cli.tables import table
from logpersister.report.human import duration, size

COLUMNS = ["TOPIC", ">RECORDS"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_than_on_a_terminal_text_is_aligned() -> None:
    out = io.StringIO()
    table(COLUMNS, [["clicks", "1,000"], ["orders-of-today", "7"]], out)
    assert out.getvalue() == ("TOPIC            RECORDS\nclicks             1,000\norders-of-today        7\n")


def test_on_a_terminal_it_is_drawn_and_nothing_in_cells_is_markup() -> None:
    out = Terminal()
    table(COLUMNS, [["[red]clicks[/red]", "1"]], out)
    assert "[red]clicks[/red]" in out.getvalue()


@pytest.mark.parametrize("make", [io.StringIO, Terminal])
def test_names_cannot_drive_the_terminal(make: type[io.StringIO]) -> None:
    out = make()
    table(COLUMNS, [["a\x1b[31mb\nc", "1"]], out)
    assert r"a\x1b[31mb\nc" in out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "?"),
        (0, "0s"),
        (12.2, "12s"),
        (192, "3m12s"),
        (3600 * 5 + 180, "5h03m"),
        (86_400 * 2 + 3600 * 7, "2d07h"),
    ],
)
def test_durations(seconds: float | None, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (256 * 2**20, "256.0 MiB"), (3 * 2**50, "3.0 PiB")],
)
def test_sizes(value: int, expected: str) -> None:
    assert size(value) == expected
