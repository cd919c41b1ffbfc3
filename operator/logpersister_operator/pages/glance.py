"""What the operator knows of one group, and whether somebody should look at it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from logpersister_operator.crd.status import Status
from logpersister_operator.crd.status_records import Lag
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.status import fields
from logpersister_operator.observed_state import LagAnswer, MemberReport, ResourceKey
from logpersister_operator.pages.signs import Sign, Standing, Trouble, standing

_SIGNS: Final = (
    Sign(Aspect.STALLED, "True", Trouble.BAD, "stalled", "summary"),
    Sign(Aspect.RECONCILED, "False", Trouble.BAD, "not reconciled"),
    Sign(Aspect.UPLOADS_SUCCEEDING, "False", Trouble.BAD, "uploads fail"),
    Sign(Aspect.MEMBERS_PROGRESSING, "False", Trouble.BAD, "members hang"),
    Sign(Aspect.DATA_COMPLETE, "False", Trouble.BAD, "records were lost", "none"),
    Sign(Aspect.DUTIES_SUCCEEDING, "False", Trouble.BAD, "work on whole topics fails", "none"),
    Sign(Aspect.READY, "False", Trouble.WARNING, "not ready", "summary"),
    Sign(Aspect.LAG_WITHIN_TARGET, "False", Trouble.WARNING, "over its target lag"),
    Sign(Aspect.LAG_WITHIN_TARGET, "Unknown", Trouble.WARNING, "lag not known", "none"),
    Sign(Aspect.GROUP_STABLE, "False", Trouble.WARNING, "partitions move"),
    Sign(Aspect.GROUP_SHARED, "True", Trouble.WARNING, "another resource waits for its group", "none"),
    Sign(Aspect.RECORDS_PARSING, "False", Trouble.WARNING, "records are refused", "none"),
)
"""Conditions that ask for a look, the most urgent first."""


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
    def standing(self) -> Standing:
        """Where the group stands; the summary says more of some conditions than their reason: the step of a rollout."""
        conditions, summary = self.status.conditions, self.status.summary
        is_paused = any(one.type == Aspect.READY and one.reason == Reason.PAUSED for one in conditions)
        signs = (one for one in _SIGNS if not (is_paused and one.aspect is Aspect.READY))
        return standing(signs, conditions, None if summary is None else summary.state, is_idle=is_paused)
