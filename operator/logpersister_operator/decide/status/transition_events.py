"""Events: one for each condition that changes, none for what only goes on."""

from collections.abc import Iterable, Mapping
from typing import Final

from logpersister_operator.crd.status import Condition
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.decide.reasons import ON_THE_WAY
from logpersister_operator.rollout.rollout_events import Event

_GOOD: Final[Mapping[Aspect, str]] = {
    Aspect.READY: "True",
    Aspect.STALLED: "False",
    Aspect.RECONCILED: "True",
    Aspect.SPEC_VALID: "True",
    Aspect.FEEDS_SPEAKING: "True",
    Aspect.KAFKA_REACHABLE: "True",
    Aspect.UPLOADS_SUCCEEDING: "True",
    Aspect.RECORDS_PARSING: "True",
    Aspect.DUTIES_SUCCEEDING: "True",
    Aspect.DATA_COMPLETE: "True",
    Aspect.LAG_WITHIN_TARGET: "True",
    Aspect.GROUP_STABLE: "True",
    Aspect.GROUP_SHARED: "False",
    Aspect.MEMBERS_PROGRESSING: "True",
}
"""The status of a condition that is no cause for worry; the others are neither good nor bad."""


_SILENT: Final = frozenset({Aspect.RECONCILING, Aspect.AUTOSCALING})
"""Conditions that come and go with every change; what matters of them has events of its own."""


def transitions(before: Iterable[Condition], after: Iterable[Condition]) -> list[Event]:
    """Return an event for each condition whose status has changed; for a new resource only of what is wrong."""
    old = {condition.type: condition.status for condition in before}
    events = []
    for condition in after:
        aspect, status = Aspect(condition.type), condition.status
        if status == old.get(aspect) or status == "Unknown":
            continue
        good = _GOOD.get(aspect)
        bad = good is not None and status != good
        if (old.get(aspect) is None and not _is_news(aspect, status, bad=bad)) or aspect in _SILENT:
            continue
        events.append(Event(condition.reason, condition.message, warning=bad and condition.reason not in ON_THE_WAY))
    return events


def _is_news(aspect: Aspect, status: str, *, bad: bool) -> bool:
    """Whether the first status of a condition is worth an event: a member that is not ready yet is none."""
    if aspect in (Aspect.PAUSED, Aspect.RECONCILIATION_PAUSED):
        return status == "True"
    return bad and aspect is not Aspect.READY
