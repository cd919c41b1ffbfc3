"""Tables: drawn by rich on a terminal, aligned plain text elsewhere. Also how people read numbers."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import TextIO

Row = Sequence[str]
LOOKAHEAD = 500


def table(columns: Sequence[str], rows: Iterable[Row], out: TextIO) -> None:
    """Write a table with a header line. Cells come from Kafka and the bucket: nothing in them is markup.

    Rows are written as they come once `LOOKAHEAD` of them have told how wide the columns are.

    Args:
        columns: names; ``>`` before one says that its cells stand right, as numbers do.
    """
    cells = ([printable(cell) for cell in row] for row in rows)
    first = list(islice(cells, LOOKAHEAD))
    if out.isatty() and len(first) < LOOKAHEAD:
        _rich(columns, first, out)
    else:
        _plain(columns, first, cells, out)


def _rich(columns: Sequence[str], rows: Sequence[Row], out: TextIO) -> None:
    # Only here: importing rich takes longer than most commands need without a terminal.
    from rich import box  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        drawn.add_column(column.removeprefix(">"), justify="right" if column[:1] == ">" else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    Console(file=out, highlight=False).print(drawn)


def _plain(columns: Sequence[str], first: Sequence[Row], others: Iterable[Row], out: TextIO) -> None:
    header = [column.removeprefix(">") for column in columns]
    widths = [max(map(len, column)) for column in zip(header, *first, strict=True)]
    for row in chain([header], first, others):
        aligned = [
            cell.rjust(width) if column[:1] == ">" else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        out.write("  ".join(aligned).rstrip() + "\n")


def printable(text: str) -> str:
    """Return the text without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def cut(text: str, widest: int) -> str:
    """Return the text, or its beginning with a sign that there is more."""
    return text if len(text) <= widest else text[: widest - 1] + "…"
