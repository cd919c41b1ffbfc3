"""All replays in one table of the first page, those in trouble first, then those that go on. Pure."""

from collections.abc import Mapping
from typing import Final

from logpersister.pages.views import ROWS, Cell, Table, first_of, when
from logpersister.report.human import number
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.pages.signs import Sign, Standing, Trouble, standing

_SIGNS: Final = (
    Sign(Aspect.STALLED, "True", Trouble.BAD, "stalled"),
    Sign(Aspect.RECONCILED, "False", Trouble.BAD, "not reconciled"),
)
_OVER: Final = ("Stored", "Switched")
_HEADER: Final = ("replay", "state", "progress", "offsets stored", "rate", "left", "estimated end", "why")
_NUMBERS: Final = _HEADER[2:6]


def replay_tables(statuses: Mapping[ResourceKey, ReplayStatus], namespace: str) -> tuple[Table, ...]:
    """Return the table of the replays of a namespace, or of all; none where there are no replays."""
    known = {key: (one, _standing(one)) for key, one in statuses.items() if namespace in {"", key.namespace}}
    if not known:
        return ()
    ranked = sorted(known, key=lambda key: (known[key][1].place, known[key][0].phase in _OVER, key))
    rows = [_row(key, *known[key]) for key in ranked[:ROWS]]
    return (Table("Replays", _HEADER, rows, first_of(len(ranked), len(rows)), _NUMBERS),)


def _standing(status: ReplayStatus) -> Standing:
    summary = status.summary
    words = None if summary is None else summary.state
    return standing(_SIGNS, status.conditions, words, is_idle=status.phase == "Suspended")


def _row(key: ResourceKey, status: ReplayStatus, found: Standing) -> tuple[str | Cell, ...]:
    summary, progress = status.summary, status.progress
    return (
        f"{key.namespace}/{key.name}",
        found.state,
        "?" if summary is None else summary.progress or "?",
        "?" if progress is None else f"{number(progress.stored)} of {number(progress.offsets)}",
        "" if summary is None else summary.rate or "",
        "" if summary is None else summary.left or "",
        "" if progress is None or progress.estimated_end is None else when(progress.estimated_end),
        found.cause,
    )
