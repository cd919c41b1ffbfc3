"""What members report of themselves, beside what the last status says: the input of most verdicts. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from logpersister_operator.crd.status import Status
from logpersister_operator.decide.conditions import Aspect, Verdict, previous_verdict, unknown
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import MemberReport

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reported:
    """The reports of all members of a resource."""

    now: datetime
    before: Status
    """The last status: it goes on to hold until members are asked, so that a restart changes no condition."""
    by_pod: Mapping[str, MemberReport] | None
    """Reports by the name of the member's pod; None as long as this process has not asked."""
    is_paused: bool = False
    """Whether no member shall run."""
    silent: Mapping[str, datetime] = field(default_factory=dict)
    """Since when members have not answered that were asked, by the name of their pod."""

    @property
    def by_name(self) -> Mapping[str, MemberReport]:
        """The reports by the name of the pod, none before the first question."""
        return self.by_pod or {}

    @property
    def documents(self) -> list[Report]:
        """What those members say that say something."""
        return [report.document for report in self.by_name.values() if report.document is not None]

    @property
    def says(self) -> str:
        """What the first member says that waits for something, behind a semicolon; empty when none does."""
        words = {name: (one.document or {}).get("stateMessage") for name, one in sorted(self.by_name.items())}
        return next((f"; member {name} says: {said}" for name, said in words.items() if said), "")

    def previous(self, aspect: Aspect) -> Verdict | None:
        """Return the verdict of the last status; None when it has none."""
        return previous_verdict(self.before.conditions, aspect)

    def unanswered(self, aspect: Aspect, paused: str, silent: str) -> Verdict | None:
        """Return the verdict on an aspect of which only members could tell more; None when one of them answers.

        Args:
            paused: what is said when they do not answer because none shall run.
            silent: what is said otherwise.
        """
        if self.by_pod is None:
            return self.previous(aspect) or unknown(aspect, Reason.NO_MEMBER_ANSWERS, "no member was asked yet")
        if self.documents:
            return None
        if self.is_paused:
            return unknown(aspect, Reason.PAUSED, f"paused: {paused}")
        return unknown(aspect, Reason.NO_MEMBER_ANSWERS, silent)
