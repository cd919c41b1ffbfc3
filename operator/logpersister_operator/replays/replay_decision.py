"""The decision about one replay: from everything that is observed to everything that is to be done. Pure."""

from logpersister_operator.plan import Plan
from logpersister_operator.replays.observed_replay import ObservedReplay
from logpersister_operator.replays.replay_course import course_of
from logpersister_operator.replays.replay_verdicts import events, status_of


def decide(observed: ObservedReplay) -> Plan:
    """Decide what is to be done now."""
    course = course_of(observed)
    status = status_of(observed, course)
    return Plan(
        status=status.model_dump(mode="json", by_alias=True, exclude_none=True),
        apply=course.apply,
        delete=course.delete,
        tune=course.tune,
        events=events(observed.status, status),
        again_seconds=course.again_seconds,
    )
