"""Collectors on the operator's pages: a table of all, and a page of each with plots of its last hours. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from logpersister.pages.figures import a_minute, rounded
from logpersister.pages.history import History, Reading
from logpersister.pages.reported import replicas_table, troubled_feeds
from logpersister.pages.views import (
    NO_PLOTS,
    ROWS,
    Cell,
    Figure,
    Page,
    Table,
    alarm,
    first_of,
    link_to,
    plots,
    sparkline,
    when,
)
from logpersister.report.human import number, size
from logpersister_operator.cluster.kinds import FEED_COLLECTOR
from logpersister_operator.crd.status_collector import Spool
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.pages.collector_glance import CollectorGlance, PollTally
from logpersister_operator.pages.signs import Trouble, conditions_table

_SENT: Final = Figure("sent", "Records sent to Kafka", a_minute)
_FIGURES: Final = (
    _SENT,
    Figure("polls", "Polls", a_minute),
    Figure("failed", "Failed polls", a_minute),
    Figure("missed", "Missed polls", a_minute),
    Figure("silent", "Silent feeds", rounded),
    Figure("failing", "Failing feeds", rounded),
    Figure("waiting", "Records that wait in spools", rounded),
    Figure("dropped", "Dropped records", a_minute),
)
_HEADER: Final = (
    "collector", "state", "replicas", "feeds", "silent", "failing", "waits for Kafka", "dropped", "why", "sent before",
)  # fmt: skip
_NUMBERS: Final = _HEADER[2:-2]
_NOTE: Final = "The worst come first."


class CollectorSource:
    """What the operator knows of all collectors."""

    word: Final = "collectors"

    def __init__(self, glances: Callable[[], Mapping[ResourceKey, CollectorGlance]]) -> None:
        """Begin; ``glances`` returns what is known of all collectors now."""
        self._glances = glances
        self._tally = PollTally()

    def readings(self) -> Mapping[str, Reading]:
        glances = self._glances()
        counts = self._tally.take(glances)
        return {str(key): Reading(_gauges(one), counts[key], one.standing.trouble) for key, one in glances.items()}

    def added_to(self, page: Page, history: History, namespace: str) -> Page:
        """Return the first page with the collectors of a namespace, or with all; as it is where there are none."""
        glances = [one for key, one in self._glances().items() if namespace in {"", key.namespace}]
        if not glances:
            return page
        ranked = sorted(glances, key=lambda one: (one.standing.place, one.key))
        rows = [_row(history, one) for one in ranked[:ROWS]]
        note = f"{first_of(len(ranked), len(rows))} {_NOTE}".strip()
        table = Table("Feed collectors", _HEADER, rows, note, _NUMBERS)
        troubled = sum(one.standing.trouble is not Trouble.NONE for one in glances)
        in_trouble = Cell(number(troubled), "bad") if troubled else "0"
        facts = (("Collectors", number(len(glances))), ("Collectors in trouble", in_trouble))
        return replace(page, facts=(*page.facts, *facts), tables=(*page.tables, table))

    def page(self, history: History, namespace: str, name: str) -> Page | None:
        """Return the page of a collector; None: there is no such one."""
        key = ResourceKey(namespace, name, FEED_COLLECTOR.name)
        glance = self._glances().get(key)
        if glance is None:
            return None
        standing, drawn = glance.standing, plots(history, str(key), _FIGURES)
        ask = f"Feeds are on pages of replicas: kubectl port-forward -n {namespace} pod/REPLICA 8080"
        silent = [f"{one.address}: {one.problem}" for one in glance.reports if not one.document]
        return Page(
            title=f"Collector {namespace}/{name}",
            state=standing.state,
            cause=standing.cause,
            facts=_facts(glance),
            plots=drawn,
            tables=tuple(_tables(glance)),
            notes=(*silent, ask) if drawn else (NO_PLOTS, *silent, ask),
        )


def _gauges(glance: CollectorGlance) -> Mapping[str, float | None]:
    feeds, spool = glance.status.feeds, glance.status.spool
    return {
        "silent": None if feeds is None else feeds.silent,
        "failing": None if feeds is None else feeds.failing,
        "waiting": None if spool is None else spool.records,
    }


def _row(history: History, glance: CollectorGlance) -> tuple[str | Cell, ...]:
    key, standing, summary, feeds, spool = (
        glance.key, glance.standing, glance.status.summary, glance.status.feeds, glance.status.spool
    )  # fmt: skip
    return (
        link_to(CollectorSource.word, key.namespace, key.name),
        standing.state,
        "?" if summary is None else summary.replicas or "?",
        number(None if feeds is None else feeds.total),
        "?" if feeds is None else alarm(feeds.silent),
        "?" if feeds is None else alarm(feeds.failing),
        _waits(spool),
        "?" if spool is None else alarm(spool.dropped),
        standing.cause,
        sparkline(history, str(key), _SENT),
    )


def _waits(spool: Spool | None) -> str:
    return "?" if spool is None else f"{number(spool.records)} records, {size(spool.bytes)}"


def _facts(glance: CollectorGlance) -> Sequence[tuple[str, str | Cell]]:
    namespace, status = glance.key.namespace, glance.status
    replicas, feeds, spool = status.replicas, status.feeds, status.spool
    missed, refused = glance.total("polls", "missed"), glance.total("records", "refused")
    away = sum(one.get("kafka", "away") is not None for one in glance.answers)
    kafka = Cell(f"away from {number(away)} of {number(len(glance.answers))} replicas", "bad") if away else "there"
    return (
        ("Namespace", Cell(namespace, link=f"../../?namespace={namespace}")),
        ("Revision", status.revision or "?"),
        ("Replicas ready", "?" if replicas is None else f"{replicas.ready} of {replicas.desired}"),
        ("With the present spec", "?" if replicas is None else number(replicas.updated)),
        ("Feeds", number(None if feeds is None else feeds.total)),
        ("Silent", "?" if feeds is None else alarm(feeds.silent)),
        ("Failing", "?" if feeds is None else alarm(feeds.failing)),
        ("Kafka", kafka if glance.answers else "?"),
        ("Waits for Kafka", _waits(spool)),
        (
            "Oldest record waits since",
            "?" if spool is None else "none waits" if spool.oldest is None else when(spool.oldest),
        ),
        ("Records dropped", "?" if spool is None else alarm(spool.dropped)),
        ("Records sent", number(glance.total("records", "sent"))),
        ("Records refused by Kafka", "?" if refused is None else alarm(refused)),
        ("Polls missed", "?" if missed is None else alarm(missed)),
    )


def _tables(glance: CollectorGlance) -> Iterator[Table]:
    yield conditions_table(glance.status.conditions)
    yield replicas_table(glance.key.name, glance.reports)
    yield troubled_feeds(glance.answers, when)
    restarts = [row for pod in glance.pods for row in _restarts(pod)]
    if restarts:
        yield Table("Restarts", ("replica", "restarts", "last end", "exit code", "why"), restarts, "", ("restarts",))


def _restarts(pod: Pod) -> Iterator[tuple[str | Cell, ...]]:
    for one in pod.containers:
        if one.restarts:
            ended = one.ended_before or one.ended
            code = None if ended is None else ended.exit_code
            why = "" if ended is None else ": ".join(part for part in (ended.reason, ended.message) if part)
            yield pod.name, alarm(one.restarts), when(None if ended is None else ended.finished), number(code), why
