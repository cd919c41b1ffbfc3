"""``logpersister top``: members or collectors at a glance, live in a terminal; elsewhere once, as plain text."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO

from logpersister.cli import context
from logpersister.cli.asked_status import ask, checked
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.lag import GroupLag, lag_of
from logpersister.cli.tables import printable, table
from logpersister.manifest import FeedCollector, LogPersister
from logpersister.pages.reported import Report, collector_page, group_page
from logpersister.pages.views import Cell, Page, Table, Tone
from logpersister.report import logs
from logpersister.report.human import plural

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


EVERY_SECONDS: Final = 2.0

Look = Callable[[], tuple[Page, bool]]
"""Return the page of now, and whether all that was asked has answered."""


def run(arguments: argparse.Namespace) -> int:
    """Show the page once, or until Ctrl-C."""
    logs.configure(level="error")
    resource, secrets = context.either(arguments.file), context.secrets(arguments)
    addresses = [checked(text) for text in arguments.status]
    with ThreadPoolExecutor(min(len(addresses), 32), thread_name_prefix="status") as threads:

        def reports() -> list[Report]:
            return list(threads.map(partial(ask, seconds=arguments.timeout), addresses))

        look: Look
        if isinstance(resource, FeedCollector):
            look = partial(look_at_collector, resource.name, reports)
        else:
            look = partial(look_at_group, resource, partial(lag_of, resource, secrets, arguments.timeout), reports)
        if arguments.once or not sys.stdout.isatty():
            return show_once(look, sys.stdout)
        return show_live(look)


def show_once(look: Look, out: TextIO) -> int:
    """Write the page; the exit code says whether all have answered."""
    page, complete = look()
    write(page, out)
    return Exit.OK if complete else Exit.UNREACHABLE


def show_live(look: Look) -> int:
    """Show the page until Ctrl-C, and look again and again."""
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    with Live(drawn(look()[0]), screen=True, auto_refresh=False) as live:
        while True:
            live.refresh()
            time.sleep(EVERY_SECONDS)
            live.update(drawn(look()[0]))


def look_at_collector(collector: str, reports: Callable[[], Sequence[Report]]) -> tuple[Page, bool]:
    """Return the page of a collector."""
    found = reports()
    page = collector_page(collector, found, datetime.now(UTC), _unanswered(found))
    return page, all(one.get("collector") == collector for one in found)


def look_at_group(
    resource: LogPersister, lag: Callable[[], GroupLag], reports: Callable[[], Sequence[Report]]
) -> tuple[Page, bool]:
    """Return the page of a group; what Kafka does not tell is said on it."""
    found = reports()
    notes, summary = _unanswered(found), None
    try:
        group = lag()
    except CommandError as error:
        if error.code is Exit.INVALID:
            raise
        notes.append(f"The lag is not known: {error}")
    else:
        summary = group.observation.summary
        notes += _of_kafka(group, asked=sum(one.get("group") == resource.group_id for one in found))
    page = group_page(resource.group_id, found, summary, datetime.now(UTC), notes)
    return page, summary is not None and all(one.get("group") == resource.group_id for one in found)


def _unanswered(reports: Sequence[Report]) -> list[str]:
    if all(one.document for one in reports):
        return []
    return ["Members and collectors answer where they were started with --http; name that with --status."]


def _of_kafka(group: GroupLag, *, asked: int) -> list[str]:
    notes = []
    members = len(group.group.members)
    if members > asked:
        notes.append(f"The group has {plural(members, 'member')}, of which {asked} is asked (--status).")
    unread = len(group.observation.errors) + len(group.refused)
    if unread:
        notes.append(f"The lag is without {plural(unread, 'partition')} or topics that could not be read.")
    notes += [f"Topic {topic} does not exist yet." for topic in group.missing_topics]
    return notes
