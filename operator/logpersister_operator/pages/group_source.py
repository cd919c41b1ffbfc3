"""Groups on the operator's pages: all at a glance, each with plots of its last hours. Pure, but for its memory."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from logpersister.pages.figures import BYTES, LAG, OLDEST, RECORDS, a_minute
from logpersister.pages.history import WHOLE, History, Reading
from logpersister.pages.svg import Mark
from logpersister.pages.views import (
    NO_PLOTS,
    Cell,
    Figure,
    Page,
    Table,
    Wanted,
    alarm,
    link_to,
    part_of,
    plots,
    sparkline,
    when,
)
from logpersister.report.human import duration, number, plural, size
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.pages import group_page
from logpersister_operator.pages.glance import Glance
from logpersister_operator.pages.rollout_log import RolloutLog
from logpersister_operator.pages.signs import Trouble
from logpersister_operator.rollout.transitions import ONGOING

_FAILURES: Final = Figure("failures", "Upload failures", a_minute)
_QUARANTINED: Final = Figure("quarantined", "Records into quarantine", a_minute)

_HEADER: Final = (
    "group",
    "state",
    "members",
    "lag",
    "oldest waits",
    "last upload",
    "failed uploads",
    "quarantined",
    "lag before",
)
_NUMBERS: Final = ("members", "lag", "oldest waits", "failed uploads", "quarantined")
_NOTE: Final = "The worst come first. Failed uploads are those of the last hour."


class GroupSource:
    """What the operator knows of all groups."""

    word: Final = "groups"

    def __init__(self, glances: Callable[[], Mapping[ResourceKey, Glance]]) -> None:
        """Begin; ``glances`` returns what is known of all groups now."""
        self._glances = glances
        self._log = RolloutLog()
        self._counts: Mapping[str, Mapping[str, float]] = {}
        self._whole: Counter[str] = Counter()
        """What all groups have counted since the start. What a group had counted before it came is left out."""

    def readings(self) -> Mapping[str, Reading]:
        glances = self._glances()
        self._log.take({key: one.status.rollout for key, one in glances.items() if one.status.rollout is not None})
        counts = {str(key): _counts(one) for key, one in glances.items()}
        for name, known in counts.items():
            before = self._counts.get(name, known)
            self._whole.update({one: max(0.0, value - before.get(one, value)) for one, value in known.items()})
        self._counts = counts
        found = {str(key): self._reading(one, counts[str(key)]) for key, one in glances.items()}
        lags = [one.gauges["lag"] for one in found.values()]
        known_lags = [lag for lag in lags if lag is not None]
        found[WHOLE] = Reading({"lag": sum(known_lags) if known_lags else None}, dict(self._whole))
        return found

    @staticmethod
    def _reading(glance: Glance, counts: Mapping[str, float]) -> Reading:
        lag = glance.known_lag
        gauges = {"lag": None, "seconds": None} if lag is None else {"lag": lag.records, "seconds": lag.seconds}
        return Reading(gauges, counts, glance.standing.trouble)

    def home(self, history: History, wanted: Wanted) -> Page:
        """Return the first page, as far as it is about groups."""
        everything = self._glances()
        glances = [one for key, one in everything.items() if wanted.namespace in {"", key.namespace}]
        troubles = Counter(one.standing.trouble for one in glances)
        glances.sort(key=_urgency)
        shown, page, pages = part_of(glances, wanted.page)
        where = f" in {wanted.namespace}" if wanted.namespace else ""
        return Page(
            title=f"Groups{where}",
            state=_state(troubles),
            facts=_facts(glances, troubles),
            choices=_namespaces(everything, wanted.namespace),
            plots=() if wanted.namespace else plots(history, WHOLE, (LAG, BYTES, _FAILURES)),
            tables=(Table("All groups", _HEADER, [_row(history, one) for one in shown], _NOTE, _NUMBERS),),
            number=page,
            pages=pages,
        )

    def page(self, history: History, namespace: str, name: str) -> Page | None:
        """Return the page of a group; None: there is no such one."""
        key = ResourceKey(namespace, name)
        glance = self._glances().get(key)
        if glance is None:
            return None
        target, standing = glance.target_seconds, glance.standing
        marks = {} if target is None else {OLDEST.name: Mark("target", target)}
        figures = (LAG, OLDEST, RECORDS, BYTES, _FAILURES, _QUARANTINED)
        drawn = plots(history, str(key), figures, marks)
        ask = f"Topics are on pages of members: kubectl port-forward -n {key.namespace} pod/MEMBER 8080"
        return Page(
            title=f"Group {key}",
            state=standing.state,
            cause=standing.cause,
            facts=group_page.facts(glance),
            plots=drawn,
            tables=tuple(group_page.tables(glance, self._log.of(key))),
            notes=(ask,) if drawn else (NO_PLOTS, ask),
        )


def _counts(glance: Glance) -> Mapping[str, float]:
    uploads, quarantine = glance.status.uploads, glance.status.quarantine
    if uploads is None:
        return {}
    return {
        "records": uploads.records or 0,
        "bytes": uploads.bytes,
        "failures": uploads.failures,
        "quarantined": 0 if quarantine is None else quarantine.records,
    }


def _urgency(glance: Glance) -> tuple[int, float, ResourceKey]:
    lag = glance.known_lag
    return -glance.standing.trouble, -(0.0 if lag is None else lag.seconds or 0.0), glance.key


def _state(troubles: Mapping[Trouble, int]) -> Cell:
    bad, warnings = troubles[Trouble.BAD], troubles[Trouble.WARNING]
    if bad:
        return Cell(f"{plural(bad, 'group')} in trouble, {plural(warnings, 'warning')}", "bad")
    if warnings:
        return Cell(plural(warnings, "warning"), "warning")
    return Cell("No group is in trouble.", "good") if troubles else Cell("There is no group.")


def _facts(glances: Sequence[Glance], troubles: Mapping[Trouble, int]) -> Sequence[tuple[str, str | Cell]]:
    lags = [lag for one in glances if (lag := one.known_lag) is not None]
    uploads = [one.status.uploads for one in glances if one.status.uploads is not None]
    refused = sum(one.status.quarantine.records for one in glances if one.status.quarantine is not None)
    rollouts = [one.status.rollout for one in glances if one.status.rollout is not None]
    unknown = len(glances) - len(lags)
    return (
        ("Groups", number(len(glances))),
        ("In trouble", Cell(number(troubles[Trouble.BAD]), "bad") if troubles[Trouble.BAD] else "0"),
        ("Warnings", alarm(troubles[Trouble.WARNING])),
        ("Rollouts going on", number(sum(one.phase in ONGOING for one in rollouts))),
        ("Lag in records", number(sum(one.records for one in lags))),
        ("Oldest record waits", duration(max((one.seconds or 0 for one in lags), default=None))),
        ("Lag not known", alarm(unknown)),
        (
            "Uploaded",
            f"{number(sum(one.objects for one in uploads))} objects, {size(sum(one.bytes for one in uploads))}",
        ),
        ("Upload failures in the last hour", alarm(sum(one.failures_last_hour for one in uploads))),
        ("Records in quarantine", alarm(refused)),
    )


def _namespaces(keys: Iterable[ResourceKey], chosen: str) -> Sequence[Cell]:
    counts = Counter(key.namespace for key in keys)
    if len(counts) < 2 and not chosen:
        return ()
    every = Cell("all namespaces", link="./" if chosen else "")
    return [every, *(_namespace(name, counts[name], chosen) for name in sorted(counts))]


def _namespace(name: str, count: int, chosen: str) -> Cell:
    return Cell(f"{name} ({count:,})", link="" if name == chosen else f"?namespace={name}")


def _row(history: History, glance: Glance) -> tuple[str | Cell, ...]:
    key, status, lag = glance.key, glance.status, glance.known_lag
    uploads, quarantine = status.uploads, status.quarantine
    return (
        link_to(GroupSource.word, key.namespace, key.name),
        glance.standing.state,
        "?" if status.summary is None else status.summary.members or "?",
        number(None if lag is None else lag.records),
        duration(None if lag is None else lag.seconds),
        when(None if uploads is None else uploads.last),
        alarm(0 if uploads is None else uploads.failures_last_hour),
        alarm(0 if quarantine is None else quarantine.records),
        sparkline(history, str(key), LAG),
    )
