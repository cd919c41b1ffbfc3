"""What the operator knows of one group, and whether somebody should look at it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from logpersister.pages.views import Cell, Tone
from logpersister_operator.crd.status import Condition, Status
from logpersister_operator.crd.status_records import Lag
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.status import fields
from logpersister_operator.observed_state import LagAnswer, MemberReport, ResourceKey


class Trouble(IntEnum):
    """How urgently somebody should look at a group."""

    NONE = 0
    WARNING = 1
    BAD = 2

    @property
    def tone(self) -> Tone:
        return _TONES[self]


_TONES: Final[Mapping[Trouble, Tone]] = {Trouble.NONE: "good", Trouble.WARNING: "warning", Trouble.BAD: "bad"}


@dataclass(frozen=True, slots=True)
class _Sign:
    aspect: Aspect
    status: str
    trouble: Trouble
    words: str
    is_enough: bool = False
    """Whether the reason of the condition would only repeat the words."""


_SIGNS: Final = (
    _Sign(Aspect.STALLED, "True", Trouble.BAD, "stalled"),
    _Sign(Aspect.RECONCILED, "False", Trouble.BAD, "not reconciled"),
    _Sign(Aspect.UPLOADS_SUCCEEDING, "False", Trouble.BAD, "uploads fail"),
    _Sign(Aspect.MEMBERS_PROGRESSING, "False", Trouble.BAD, "members hang"),
    _Sign(Aspect.DATA_COMPLETE, "False", Trouble.BAD, "records were lost", is_enough=True),
    _Sign(Aspect.DUTIES_SUCCEEDING, "False", Trouble.BAD, "work on whole topics fails", is_enough=True),
    _Sign(Aspect.READY, "False", Trouble.WARNING, "not ready"),
    _Sign(Aspect.LAG_WITHIN_TARGET, "False", Trouble.WARNING, "over its target lag"),
    _Sign(Aspect.LAG_WITHIN_TARGET, "Unknown", Trouble.WARNING, "lag not known", is_enough=True),
    _Sign(Aspect.GROUP_STABLE, "False", Trouble.WARNING, "partitions move"),
    _Sign(Aspect.GROUP_SHARED, "True", Trouble.WARNING, "another resource waits for its group", is_enough=True),
    _Sign(Aspect.RECORDS_PARSING, "False", Trouble.WARNING, "records are refused", is_enough=True),
)
"""Conditions that ask for a look, the most urgent first."""
_OF_SUMMARY: Final = frozenset({Aspect.STALLED, Aspect.READY})
"""The summary says more of these than their reason: the step of a rollout."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What the operator knows of one group."""

    key: ResourceKey
    status: Status
    """The status as it was written last."""
    lag: LagAnswer = None
    """What Kafka said last."""
    reports: Mapping[str, MemberReport] = field(default_factory=dict)
    """What members said last, by the names of their pods."""
    target_seconds: float | None = None
    """How long records may wait; None while nothing runs that says so."""

    @property
    def known_lag(self) -> Lag | None:
        """How far the group is behind; None while that is not known."""
        return fields.lag(self.lag, self.status.lag)

    @property
    def documents(self) -> Sequence[Mapping[str, Any]]:
        """Reports of the members that answer."""
        return [one.document for one in self.reports.values() if one.document is not None]

    @property
    def trouble(self) -> Trouble:
        sign = self._sign
        return Trouble.NONE if sign is None else sign.trouble

    @property
    def state(self) -> Cell:
        """Where the group stands, in a few words."""
        sign, condition = self._sign, self._conditions
        summary = "" if self.status.summary is None else self.status.summary.state or ""
        if sign is None:
            return Cell(summary or "not reconciled yet", "plain" if self._is_paused or not summary else "good")
        if sign.is_enough:
            return Cell(sign.words, sign.trouble.tone)
        detail = summary if sign.aspect in _OF_SUMMARY else condition[sign.aspect].reason
        return Cell(f"{sign.words}: {detail}", sign.trouble.tone)

    @property
    def cause(self) -> str:
        """What is wrong and what to do, as the condition says it; empty when nothing is."""
        sign = self._sign
        return "" if sign is None else self._conditions[sign.aspect].message

    @property
    def _conditions(self) -> Mapping[str, Condition]:
        return {one.type: one for one in self.status.conditions}

    @property
    def _is_paused(self) -> bool:
        ready = self._conditions.get(Aspect.READY)
        return ready is not None and ready.reason == Reason.PAUSED

    @property
    def _sign(self) -> _Sign | None:
        found, is_paused = self._conditions, self._is_paused
        for one in _SIGNS:
            is_so = one.aspect in found and found[one.aspect].status == one.status
            if is_so and not (is_paused and one.aspect is Aspect.READY):
                return one
        return None
