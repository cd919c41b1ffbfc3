"""The status of a replay: conditions by the conventions of Kubernetes, and how far it is. Pure."""

from collections.abc import Iterator, Sequence

from logpersister.group.replay_group import replay_group
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.decide.conditions import Verdict, conditions, no, yes
from logpersister_operator.replays import replay_progress
from logpersister_operator.replays.observed_replay import ObservedReplay
from logpersister_operator.replays.plans import plan_in
from logpersister_operator.replays.replay_course import Course
from logpersister_operator.replays.replay_reasons import ReplayAspect, ReplayReason
from logpersister_operator.rollout.rollout_events import Event


def status_of(observed: ObservedReplay, course: Course) -> ReplayStatus:
    """Return the status to write."""
    before = observed.status
    known = replay_progress.observed(before.progress, observed.reports.values(), course.began, observed.now)
    if course.stored_at is not None:
        known = replay_progress.completed(known)
    plan = None if observed.plan is None else plan_in(observed.plan)
    replay = observed.replay
    status = ReplayStatus(
        observed_generation=observed.generation,
        phase=course.phase,
        group_id=None if plan is None else replay_group(plan.manifest.group_id, plan.manifest.spec.generation),
        progress=known,
        stored_at=course.stored_at,
        switched_at=course.switched_at,
        old_deleted_at=course.old_deleted_at,
    )
    found = list(_verdicts(observed, course, status))
    deletes = replay is not None and replay.spec.switch is not None and replay.spec.switch.delete_old is not None
    if deletes or course.old_deleted_at is not None:
        found.append(_old_deleted(course))
    state = course.phase if course.obstacle is None else course.obstacle.reason
    return status.model_copy(
        update={
            "conditions": conditions(before.conditions, found, observed.generation, observed.now),
            "summary": replay_progress.summary(known, state, observed.now),
        }
    )


def _verdicts(observed: ObservedReplay, course: Course, status: ReplayStatus) -> Iterator[Verdict]:
    obstacle, replay = course.obstacle, observed.replay
    switches = replay is not None and replay.spec.switch is not None
    done = course.phase == "Switched" or (course.phase == "Stored" and not switches)
    words = "" if obstacle is None else obstacle.message
    if done:
        yield yes(ReplayAspect.READY, ReplayReason.DONE, "all is stored" + ", and readers are switched" * switches)
    else:
        reason = obstacle.reason if obstacle else _doing(course)
        yield no(ReplayAspect.READY, reason, words or _told(course, status))
    refused = obstacle is not None and obstacle.reason == ReplayReason.CHILD_REFUSED
    stuck = refused or course.phase in ("Failed", "Pending")
    if obstacle is not None and stuck:
        yield yes(ReplayAspect.STALLED, obstacle.reason, words)
    else:
        yield no(ReplayAspect.STALLED, ReplayReason.PROGRESSING, "nobody needs to act")
    yield yes(ReplayAspect.RECONCILED, ReplayReason.UP_TO_DATE, "objects are as decided")
    yield from _steps(course, status, words)


def _steps(course: Course, status: ReplayStatus, words: str) -> Iterator[Verdict]:
    reason = course.obstacle.reason if course.obstacle else _doing(course)
    told = words or _told(course, status)
    if status.progress is not None or course.stored_at is not None:
        yield yes(ReplayAspect.PLANNED, ReplayReason.DONE, "it is known what is stored again")
    else:
        yield no(ReplayAspect.PLANNED, reason, told)
    if course.stored_at is not None:
        yield yes(ReplayAspect.STORED, ReplayReason.DONE, "all is stored again")
    else:
        yield no(ReplayAspect.STORED, reason, told)
    if course.switched_at is not None:
        yield yes(ReplayAspect.SWITCHED, ReplayReason.DONE, "readers see the replay")
    elif course.stored_at is None:
        yield no(ReplayAspect.SWITCHED, ReplayReason.WAITS, "not all is stored yet")
    elif course.phase == "Stored":
        asked = "readers see what members have stored; set spec.switch, or run logpersister switch"
        yield no(ReplayAspect.SWITCHED, ReplayReason.NOT_ASKED, asked)
    else:
        yield no(ReplayAspect.SWITCHED, reason, told)


def _old_deleted(course: Course) -> Verdict:
    aspect = ReplayAspect.OLD_DELETED
    if course.old_deleted_at is not None:
        return yes(aspect, ReplayReason.DONE, "objects that the replay has replaced are deleted")
    if course.switched_at is not None and course.obstacle is not None:
        return no(aspect, course.obstacle.reason, course.obstacle.message)
    return no(aspect, ReplayReason.WAITS, "one may still go back")


def _doing(course: Course) -> ReplayReason:
    doing = {
        "Planning": ReplayReason.PLANNING,
        "Running": ReplayReason.RUNNING,
        "Suspended": ReplayReason.SUSPENDED,
        "Switching": ReplayReason.SWITCHING,
    }
    return doing.get(course.phase, ReplayReason.WAITS)


def _told(course: Course, status: ReplayStatus) -> str:
    match course.phase:
        case "Planning":
            return "processes find out what is stored again"
        case "Running" if status.progress is not None:
            return f"{status.progress.stored:,} of {status.progress.offsets:,} offsets are stored"
        case "Suspended":
            return "spec.suspend is true; it goes on where it was when that is false"
        case "Switching":
            return "readers are being switched"
        case _:
            return "it begins"


def events(before: ReplayStatus, after: ReplayStatus) -> Sequence[Event]:
    """Return an Event for another phase, and for another obstacle."""
    ready_before, ready = (next((one for one in it.conditions if one.type == "Ready"), None) for it in (before, after))
    if ready is None or after.phase is None:
        return []
    if before.phase == after.phase and ready_before is not None and ready_before.reason == ready.reason:
        return []
    stalled = any(one.type == ReplayAspect.STALLED and one.status == "True" for one in after.conditions)
    return [Event(ready.reason if stalled else after.phase, ready.message, warning=stalled)]
