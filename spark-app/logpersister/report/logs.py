"""Logs: events with fields, one line a fact, for people on a terminal and for machines elsewhere.

structlog is the only way out. The standard library's loggers (kafka-python, botocore, py4j) are led into it at
WARNING, their repetitions limited, so that a broker that is away for an hour does not write a gigabyte.
"""

import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import Any, Final, Literal, TextIO, cast

import structlog

from logpersister.report.redaction import Redactor

LogFormat = Literal["auto", "console", "json", "logfmt"]
LogLevel = Literal["debug", "info", "warning", "error"]

redactor: Final = Redactor()
"""Redactor of this process. Code that resolves a secret registers it: ``logs.redactor.hide(value)``."""

_LIBRARY_LEVELS: Final = {
    # Fields and reasons: what a library says below these levels is about its inside, and much of it.
    "kafka": logging.WARNING,
    "kafka.coordinator": logging.WARNING,
    "botocore": logging.WARNING,
    "boto3": logging.WARNING,
    "s3transfer": logging.WARNING,
    "urllib3": logging.ERROR,  # each retried connection is a warning there; ours count and report retries
    "kubernetes.informer": logging.CRITICAL,  # a traceback a lost connection; the operator says it in a line
    "kafka.net.selector": logging.ERROR,  # says of each long step that it was long; on a busy machine all are
    "py4j": logging.WARNING,
    "pyspark": logging.WARNING,
}


class KafkaComplaints(logging.Filter):
    """Hands connection messages of the Kafka library to the member that sums them up; without one lets them pass.

    A broker that restarts is dozens of messages there, in terms of the library's inside.
    """

    _NAMES: Final = ("kafka.net", "kafka.cluster", "kafka.coordinator", "kafka.consumer", "kafka.fetcher")
    _OF_LOGINS: Final = ("authentic", "sasl", "identity provider", "certificate")
    _OF_SETTINGS: Final = (*_OF_LOGINS, "authoriz", "fenced")
    """Words of messages that no outage of the network explains."""
    _OF_WAITING: Final = "Rebalance listener "
    """Begin of what is said of each rebalance that waits for running work, as it should; heartbeats go on meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._take: Callable[[str], None] | None = None
        self._refused: Callable[[str], None] = lambda _: None
        self.hides = True
        """Whether what is taken is not logged besides."""

    def filter(self, record: logging.LogRecord) -> bool:
        if self._take is None or not record.name.startswith(self._NAMES):
            return True
        message = record.getMessage()
        if message.startswith(self._OF_WAITING):
            return not self.hides
        if any(word in message.lower() for word in self._OF_SETTINGS):
            if "fail" in message.lower() and any(word in message.lower() for word in self._OF_LOGINS):
                self._refused(message)
            return True
        if self.hides:
            self._take(message)
        return not self.hides

    def drop(self) -> None:
        """Leave complaints out for good: what is wrong is told by another process."""
        self._take = lambda _: None

    @contextmanager
    def taken_by(self, take: Callable[[str], None], refused: Callable[[str], None] = lambda _: None) -> Iterator[None]:
        """Give complaints to `take` until the block ends, and those of a refused login to `refused`."""
        self._take, self._refused = take, refused
        try:
            yield
        finally:
            self._take, self._refused = None, lambda _: None


kafka_complaints: Final = KafkaComplaints()
"""Filter of this process; a member takes the messages (member/outages.py)."""


class RepetitionLimit(logging.Filter):
    """Lets `burst` lines of the same template pass in each `window`, and says later how many it held back.

    The template (``"Broker %s not ready"``) is what repeats; its arguments differ. Memory is bounded: the templates
    that were not seen for longest are forgotten.
    """

    MAX_TEMPLATES: Final = 500

    def __init__(
        self, burst: int = 5, window: timedelta = timedelta(minutes=1), clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._burst = burst
        self._window = window.total_seconds()
        self._clock = clock
        self._lock = Lock()
        self._seen: OrderedDict[tuple[str, int, str], list[float]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        key = (record.name, record.levelno, str(record.msg)[:200])
        now = self._clock()
        with self._lock:
            started, passed, held = self._seen.get(key, [now, 0, 0])
            if now - started >= self._window:
                if held:
                    record.suppressed = int(held)
                started, passed, held = now, 0, 0
            allowed = passed < self._burst
            self._seen[key] = [started, passed + allowed, held + (not allowed)]
            self._seen.move_to_end(key)
            while len(self._seen) > self.MAX_TEMPLATES:
                self._seen.popitem(last=False)
        return allowed


def configure(
    log_format: LogFormat = "auto",
    level: LogLevel = "info",
    stream: TextIO | None = None,
    *,
    context: MutableMapping[str, Any] | None = None,
) -> None:
    """Set up structlog and the standard library's logging for the whole process; may be called again.

    `auto` is `console` when `stream` (default: standard error) is a terminal, else `json`. `context` is added to every
    line (for example the group and the member).
    """
    out = cast("TextIO", _StandardError()) if stream is None else stream
    if log_format == "auto":
        log_format = "console" if out.isatty() else "json"
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if context:
        shared.insert(0, _adding(dict(context)))
    # Tracebacks become text before the redactor, because they hold values too.
    last: list[structlog.typing.Processor] = [
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        structlog.processors.UnicodeDecoder(),
        redactor,
        *_renderers(log_format, out),
    ]
    lines = structlog.WriteLogger(out)  # one of all loggers, so that threads never mix theirs
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _library_event],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    kafka_complaints.hides = level != "debug"
    handler.addFilter(kafka_complaints)
    handler.addFilter(RepetitionLimit())
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.WARNING)
    for name, least in _LIBRARY_LEVELS.items():
        logging.getLogger(name).setLevel(least)
    logging.captureWarnings(capture=True)


def _renderers(log_format: LogFormat, out: TextIO) -> list[structlog.typing.Processor]:
    match log_format:
        case "console":
            colours = out.isatty()
            return [structlog.dev.ConsoleRenderer(colors=colours, pad_event_to=30, sort_keys=False)]
        case "logfmt":
            first = ["timestamp", "level", "event"]
            return [structlog.processors.LogfmtRenderer(key_order=first, drop_missing=True, bool_as_flag=False)]
        case _:
            return [_lead_with_event, structlog.processors.JSONRenderer(ensure_ascii=False, default=str)]


def _lead_with_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Put the fields of every line first, for people who read JSON."""
    first = {name: event.pop(name) for name in ("timestamp", "level", "event") if name in event}
    return {**first, **event}


def _adding(fields: dict[str, Any]) -> structlog.typing.Processor:
    def add(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for name, value in fields.items():
            event.setdefault(name, value)
        return event

    return add


def _library_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Make a library's free text a field of one event, so that our own event names stay a closed vocabulary."""
    record: logging.LogRecord = event["_record"]
    event["library"] = record.name
    event["message"] = event["event"]
    event["event"] = "library.message"
    if suppressed := getattr(record, "suppressed", 0):
        event["suppressed"] = suppressed
    return event


class _StandardError:
    """Whatever ``sys.stderr`` is at the moment: a progress bar takes it over to stay below the lines."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def isatty(self) -> bool:
        return sys.stderr.isatty()
