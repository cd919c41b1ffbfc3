"""The pages of a process as HTML, and the thread that takes their history."""

import hashlib
import itertools
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs, unquote, urlencode

import structlog

from logpersister.pages.history import EVERY_SECONDS, History
from logpersister.pages.views import Page, Source, Wanted, when
from logpersister.report import logs
from logpersister.report.server import Answer

if TYPE_CHECKING:
    from jinja2 import Environment

log = structlog.get_logger(__name__)

HTML: Final = "text/html; charset=utf-8"


class Site:
    """Answers of one process to browsers."""

    def __init__(
        self,
        source: Source,
        every: float = EVERY_SECONDS,
        clock: Callable[[], float] = time.time,
        history: History | None = None,
    ) -> None:
        self.history: Final = history or History()
        self._source = source
        self._every = every
        self._clock = clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._take_history, name="history", daemon=True)

    def look(self) -> None:
        """Take into the history what is known now."""
        self.history.take(self._clock(), self._source.readings())

    def answer(self, path: str, query: str) -> Answer | None:
        """Return the page at a path, ``/`` or ``/topics/clicks``; None: there is none."""
        if path == "/":
            wanted = _wanted(query)
            return self._rendered(self._source.home(self.history, wanted), wanted)
        word, *names = map(unquote, path.removeprefix("/").split("/"))
        find = self._source.folders.get(word)
        if find is None or len(names) != self._source.depth or "" in names:
            return None
        page = find(self.history, *names)
        return None if page is None else self._rendered(page)

    def _rendered(self, page: Page, wanted: Wanted | None = None) -> Answer:
        """Return a page as HTML; ``wanted`` is what of the first page, None for another one."""
        environment = _environment()
        text = environment.get_template("page.html").render(
            page=page,
            is_home=wanted is not None,
            root="./" if wanted is not None else "../" * self._source.depth,
            source=self._source,
            kept=urlencode({"namespace": wanted.namespace}) if wanted is not None and wanted.namespace else "",
            next_id=itertools.count(1).__next__,
            now=when(datetime.fromtimestamp(self._clock(), UTC)),
        )
        headers = (
            ("Content-Security-Policy", _policy()),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        )
        return Answer(HTTPStatus.OK, HTML, text.encode(), headers)

    def _take_history(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                log.exception("pages.history-failed")
            if self._stop.wait(self._every):
                return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _wanted(query: str) -> Wanted:
    given = parse_qs(query)
    page = given.get("page", ["1"])[0]
    number = int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 1
    return Wanted(number, given.get("namespace", [""])[0])


@cache
def _environment() -> "Environment":
    # Imported when somebody looks: it takes longer than all of the rest that a start imports for reports.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    return Environment(
        loader=PackageLoader("logpersister.pages"),
        autoescape=True,
        finalize=_without_secrets,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _policy() -> str:
    """Nothing may be loaded or run: the one style stands in the page, and is named by its hash."""
    style = _environment().get_template("style.css").render()
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _without_secrets(value: Any) -> Any:
    return logs.redactor.text(value) if type(value) is str else value
