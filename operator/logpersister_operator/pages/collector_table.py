"""All collectors in one table of the first page, the worst first. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from logpersister.pages.views import Cell, Table, alarm
from logpersister.report.human import number, size
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.observed_state import ResourceKey

MOST: Final = 200
"""Collectors that are shown."""
_SIGNS: Final = (
    (Aspect.STALLED, "True", "stalled"),
    (Aspect.RECONCILED, "False", "not reconciled"),
    (Aspect.KAFKA_REACHABLE, "False", "Kafka is away"),
    (Aspect.FEEDS_SPEAKING, "False", "feeds are silent"),
    (Aspect.READY, "False", "not ready"),
)
"""Conditions that ask for a look, the most urgent first."""
_HEADER: Final = ("collector", "state", "replicas", "feeds", "silent", "failing", "waits for Kafka", "dropped", "why")
_NUMBERS: Final = _HEADER[2:-1]
_NOTE: Final = (
    "The worst come first. Feeds are on pages of replicas: kubectl port-forward -n NAMESPACE pod/REPLICA 8080"
)


def collector_tables(statuses: Mapping[ResourceKey, CollectorStatus]) -> tuple[Table, ...]:
    """Return the table of collectors; none where there are no collectors."""
    if not statuses:
        return ()
    ranked = sorted(statuses, key=lambda key: (_rank(statuses[key]), key))
    note = _NOTE if len(ranked) <= MOST else f"The first {number(MOST)} of {number(len(ranked))}. {_NOTE}"
    return (Table("Feed collectors", _HEADER, [_row(key, statuses[key]) for key in ranked[:MOST]], note, _NUMBERS),)


def in_trouble(statuses: Iterable[CollectorStatus]) -> int:
    """Return how many collectors ask for a look."""
    return sum(_rank(one) < len(_SIGNS) for one in statuses)


def _rank(status: CollectorStatus) -> int:
    """Return the place of the most urgent sign; behind all of them: there is none."""
    found = {one.type: one.status for one in status.conditions}
    signs = (rank for rank, (aspect, bad, _) in enumerate(_SIGNS) if found.get(aspect) == bad)
    return next(signs, len(_SIGNS))


def _row(key: ResourceKey, status: CollectorStatus) -> tuple[str | Cell, ...]:
    rank, feeds, spool = _rank(status), status.feeds, status.spool
    summary = status.summary
    if rank < len(_SIGNS):
        aspect, _, words = _SIGNS[rank]
        state = Cell(words, "warning" if aspect is Aspect.READY else "bad")
        why = next(one.message for one in status.conditions if one.type == aspect)
    else:
        state, why = Cell("not reconciled yet" if summary is None else summary.state or "?", "good"), ""
    return (
        f"{key.namespace}/{key.name}",
        state,
        "?" if summary is None else summary.replicas or "?",
        number(None if feeds is None else feeds.total),
        "?" if feeds is None else alarm(feeds.silent),
        "?" if feeds is None else alarm(feeds.failing),
        "?" if spool is None else f"{number(spool.records)} records, {size(spool.bytes)}",
        "?" if spool is None else alarm(spool.dropped),
        why,
    )
