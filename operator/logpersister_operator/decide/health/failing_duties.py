"""Duties that fail: work on whole topics that members do beside storing records (docs/design/duties.md).

A member reports the duties that its manifest asks for, so a resource without any has no such condition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from logpersister.report.human import instant, plural
from logpersister_operator.decide.conditions import Aspect, Verdict, no, previous_verdict, unknown, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import ObservedState, documents

LASTING: Final = timedelta(minutes=1)
"""How long a topic may fail until it is told: a duty is tried again several times meanwhile."""


@dataclass(frozen=True, slots=True)
class _Failing:
    """A topic for which a duty fails."""

    since: datetime
    duty: str
    topic: str
    attempts: int
    message: str
    hangs: bool

    @classmethod
    def of(cls, duty: str, document: Mapping[str, Any]) -> Self:
        since = datetime.fromisoformat(document["since"])
        hangs = document.get("hangs", False)  # an earlier release does not say it
        return cls(since, duty, document["topic"], document["failures"], document["message"], hangs)

    @property
    def told(self) -> str:
        """What is wrong, in words."""
        what = f"{self.duty} of topic {self.topic}"
        if self.hangs:
            return f"{what} hangs: {self.message} (it began {instant(self.since)})"
        how_long = f"{plural(self.attempts, 'attempt')} since {instant(self.since)}"
        return f"{what} fails: {self.message} ({how_long}; it is retried)"


def duties_succeeding(observed: ObservedState, *, is_paused: bool) -> list[Verdict]:
    """Judge by what members say; nothing where no member has a duty."""
    aspect, found = Aspect.DUTIES_SUCCEEDING, documents(observed.reports)
    before = previous_verdict(observed.status.conditions, aspect)
    if not found:
        return [] if before is None else [_unanswered(observed, before, is_paused=is_paused)]
    duties = [duty for document in found for duty in document.get("duties") or ()]
    if not duties:
        return []
    failing = [_Failing.of(duty["duty"], one) for duty in duties for one in duty["failing"]["first"]]
    lasting = sorted((one for one in failing if observed.now - one.since >= LASTING), key=lambda one: one.since)
    if not lasting:
        return [yes(aspect, Reason.DUTIES_SUCCEED, "no topic fails for longer than a minute")]
    worst, more = lasting[0], len(lasting) - 1
    others = f"; {plural(more, 'other topic')} too" if more else ""
    return [no(aspect, Reason.DUTY_FAILING, worst.told + others)]


def _unanswered(observed: ObservedState, before: Verdict, *, is_paused: bool) -> Verdict:
    if observed.reports is None:
        return before
    if is_paused:
        return unknown(before.aspect, Reason.PAUSED, "paused: no member works on topics")
    return unknown(before.aspect, Reason.NO_MEMBER_ANSWERS, "no member reports its duties")
