"""What a page shows, whatever it is about: facts, plots and tables. Pure; `site` makes HTML of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeVar
from urllib.parse import quote

from logpersister.pages.history import History, Reading
from logpersister.pages.svg import Mark, Plot, plot
from logpersister.report.human import instant, number, plural

ROWS: Final = 200
"""Topics or feeds on one page; further ones are on the next."""

Row = TypeVar("Row")
Tone = Literal["plain", "good", "warning", "bad"]
"""How a word is coloured. The word says it too."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with more than its words."""

    text: str
    tone: Tone = "plain"
    link: str = ""
    plot: Plot | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a caption. The first cell of a row is its header."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""
    """What it leaves out."""
    numbers: Collection[str] = ()
    """Columns of numbers, which stand below each other by their ends."""
    empty: str = "None."
    """What is said where there are no rows."""


@dataclass(frozen=True, slots=True)
class Page:
    """All of one page."""

    title: str
    state: Cell
    facts: Sequence[tuple[str, str | Cell]]
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    cause: str = ""
    """Why the state is not as it should be, and what to do."""
    choices: Sequence[Cell] = ()
    """Links to parts of it."""
    number: int = 1
    """Number of the page of rows, where rows are more than fit."""
    pages: int = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of the first page."""

    page: int = 1
    """Number of the page of rows."""
    namespace: str = ""
    """Namespace of Kubernetes, where the process knows several; empty: all."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot to be, of a figure that the history has."""

    name: str
    title: str
    show: Callable[[float], str]


class Source(Protocol):
    """What a process knows about its topics, feeds or groups."""

    @property
    def word(self) -> str:
        """``topics``, ``feeds`` or ``groups``: what the first page lists."""

    @property
    def depth(self) -> int:
        """How many names identify one."""

    @property
    def paths(self) -> Sequence[tuple[str, str]]:
        """What there is beside pages, as words and paths."""

    @property
    def name(self) -> str:
        """Name of the process."""

    def readings(self) -> Mapping[str, Reading]:
        """Return what the history takes now."""

    @property
    def folders(self) -> "Mapping[str, Callable[..., Page | None]]":
        """What returns the page of one of them, by the folder of such pages: ``topics``, ``feeds``, ``groups``.

        It takes the history and the names; it returns None where there is no such one.
        """

    def home(self, history: History, wanted: Wanted) -> Page: ...


OF_PROCESS: Final = (("Status as JSON", "status"), ("Metrics", "metrics"))
"""What members and collectors serve beside pages."""


def plots(
    history: History, subject: str, figures: Iterable[Figure], marks: Mapping[str, Mark] = MappingProxyType({})
) -> tuple[Plot, ...]:
    """Return the plots of a subject, some with marks; none if it has no history."""
    lines = history.of(subject)
    if lines is None:
        return ()
    return tuple(
        plot(one.title, lines.times, lines.values.get(one.name, ()), one.show, mark=marks.get(one.name))
        for one in figures
    )


def sparkline(history: History, subject: str, figure: Figure) -> Cell:
    """Return a small plot for a table."""
    lines = history.of(subject)
    if lines is None:
        return Cell("no plot")
    title = f"{figure.title} of {subject}"
    drawn = plot(title, lines.times, lines.values.get(figure.name, ()), figure.show, 110, 24)
    return Cell("", plot=drawn) if drawn.path else Cell("not known yet")


def alarm(value: int) -> str | Cell:
    """Return a number that should be 0."""
    return Cell(number(value), "warning") if value else "0"


def link_to(word: str, *names: str) -> Cell:
    """Return the name of a topic, feed or group that leads from the first page to its own."""
    return Cell("/".join(names), link="/".join([word, *(quote(name, safe="") for name in names)]))


def part_of(rows: Sequence[Row], page: int) -> tuple[Sequence[Row], int, int]:
    """Return the rows of a page, its number and that of the last one."""
    pages = max(1, -(-len(rows) // ROWS))
    page = min(max(1, page), pages)
    return rows[(page - 1) * ROWS : page * ROWS], page, pages


NO_PLOTS: Final = "It has no plots: there are none yet, or others have more to show."
"""Note of a subject that has none."""


def without_plots(history: History, word: str) -> tuple[str, ...]:
    """Return a note about what has no plots."""
    left = history.left_out
    return (f"{plural(left, word)} without plots: others have more to show.",) if left else ()


def first_of(count: int, shown: int) -> str:
    """Return a note about entries that are not shown."""
    return f"The first {number(shown)} of {number(count)}." if count > shown else ""


def when(time: datetime | None) -> str:
    """Return a time as people read it; it may be broken before its hour."""
    return "never" if time is None else instant(time).replace("T", " ")
