"""A LogReplay as the reconciler sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.observed_state import Refusal
from logpersister_operator.plan import Plan
from logpersister_operator.replays.observed_replay import ObservedReplay
from logpersister_operator.replays.replay_course import course_of
from logpersister_operator.replays.replay_verdicts import events, status_of


@dataclass(frozen=True, slots=True)
class ReplaySubject:
    """What is observed of a replay, and how that is decided about (`act.reconciler.Subject`)."""

    document: Document
    state: ObservedReplay

    def decide(self) -> Plan:
        course = course_of(self.state)
        status = status_of(self.state, course)
        return Plan(
            status=status.model_dump(mode="json", by_alias=True, exclude_none=True),
            apply=course.apply,
            delete=course.delete,
            tune=course.tune,
            events=events(self.state.status, status),
            again_seconds=course.again_seconds,
        )

    def after(self, status: Document, refusals: Mapping[Reference, Refusal]) -> "ReplaySubject":
        """Return the same with the status that is written by now, and with what was refused meanwhile."""
        return replace(self, state=replace(self.state, status=status_in(status), refusals=refusals))


def status_in(status: Mapping[str, Any]) -> ReplayStatus:
    """Return a status; without the parts that another version has written in a form that this one does not know."""
    try:
        return ReplayStatus.model_validate(status, extra="ignore")
    except ValidationError as error:
        strange = {one["loc"][0] for one in error.errors()}
    return ReplayStatus.model_validate(
        {name: part for name, part in status.items() if name not in strange}, extra="ignore"
    )
