"""Duties that fail: work on whole topics that members do beside storing records (docs/design/duties.md).

A member reports the duties that its manifest asks for, so a resource without any has no such condition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from logpersister.report.human import instant, plural
from logpersister_operator.decide.conditions import Aspect, Verdict, no, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Reported

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


def duties_succeeding(reported: Reported) -> list[Verdict]:
    """Judge by what members say; nothing where no member has a duty."""
    aspect = Aspect.DUTIES_SUCCEEDING
    waits = reported.unanswered(aspect, "no member works on topics", "no member reports its duties")
    if waits is not None:
        return [] if reported.previous(aspect) is None else [waits]
    duties = [duty for document in reported.documents for duty in document.get("duties") or ()]
    if not duties:
        return []
    failing = [_Failing.of(duty["duty"], one) for duty in duties for one in duty["failing"]["first"]]
    lasting = sorted((one for one in failing if reported.now - one.since >= LASTING), key=lambda one: one.since)
    if not lasting:
        return [yes(aspect, Reason.DUTIES_SUCCEED, "no topic fails for longer than a minute")]
    worst, more = lasting[0], len(lasting) - 1
    others = f"; {plural(more, 'other topic')} too" if more else ""
    return [no(aspect, Reason.DUTY_FAILING, worst.told + others)]
