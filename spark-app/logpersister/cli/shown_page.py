"""A page for browsers (`logpersister.pages.views`) as text: drawn by rich on a terminal, plain elsewhere."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TextIO

from logpersister.cli.tables import printable, table
from logpersister.pages.views import Cell, Page, Table, Tone

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.text import Text

SENTENCES: Final = frozenset({"message", "reason", "state", "what it waits for"})
"""Columns whose cells may take several lines."""
LEAST: Final = 9
"""Characters of such a column at least."""
STYLES: Final[Mapping[Tone, str]] = {"plain": "", "good": "green", "warning": "yellow", "bad": "bold red"}


def write(page: Page, out: TextIO) -> None:
    """Write a page as plain text."""
    out.write(f"{printable(page.title)}: {printable(page.state.text)}\n")
    if page.facts:
        width = max(len(name) for name, _ in page.facts)
        out.writelines(f"  {name.ljust(width)}  {printable(text_of(value))}\n" for name, value in page.facts)
    for one in page.tables:
        out.write(f"\n{one.caption}\n")
        columns = [">" * right + name.upper() for name, right in zip(one.header, _numeric(one), strict=True)]
        table(columns, [[text_of(cell) for cell in row] for row in one.rows], out)
    if page.notes:
        out.write("\n")
    out.writelines(f"{printable(note)}\n" for note in page.notes)


def drawn(page: Page) -> "Group":
    """Return a page as rich draws it."""
    # Only here: importing rich takes longer than most commands need without a terminal.
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table as Drawn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    parts: list[RenderableType] = [Text.assemble((printable(page.title), "bold"), "  ", _styled(page.state))]
    if page.facts:
        facts = Drawn.grid(padding=(0, 2))
        for name, value in page.facts:
            facts.add_row(Text(name, "dim"), _styled(value))
        parts.append(facts)
    for one in page.tables:
        shown = Drawn(box=None, pad_edge=False, header_style="dim")
        for index, (name, right) in enumerate(zip(one.header, _numeric(one), strict=True)):
            # On a narrow terminal names and sentences take more lines, before figures are cut.
            wraps = index == 0 or name in SENTENCES
            narrowest = LEAST if wraps else None
            shown.add_column(
                name, justify="right" if right else "left", no_wrap=not wraps, overflow="fold", min_width=narrowest
            )
        for row in one.rows:
            shown.add_row(*map(_styled, row))
        parts += [Text(), Text(one.caption, "bold"), shown, *([Text(one.note, "dim")] if one.note else [])]
    parts += [Text(printable(note), "dim") for note in page.notes]
    return Group(*parts)


def text_of(value: str | Cell) -> str:
    """Return the words of a cell."""
    return value.text if isinstance(value, Cell) else value


def _styled(value: str | Cell) -> "Text":
    from rich.text import Text  # noqa: PLC0415

    return Text(printable(text_of(value)), STYLES[value.tone] if isinstance(value, Cell) else "")


def _numeric(one: Table) -> list[bool]:
    columns = zip(*one.rows, strict=True) if one.rows else ([] for _ in one.header)
    return [
        all(text_of(cell)[:1].isdigit() or text_of(cell) in {"", "?", "never"} for cell in column) for column in columns
    ]
