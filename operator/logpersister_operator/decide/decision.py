"""The decision about one resource: from everything that is observed to everything that is to be done.

`_course` decides what runs, `status.whole` what the status tells of it, and `_acts` what is done to the cluster.
"""

from dataclasses import replace
from typing import Final

from logpersister.manifest import LogPersister
from logpersister_operator.decide import wanted_children
from logpersister_operator.decide.health.departed_members import departed
from logpersister_operator.decide.health.group_sharing import own_names, sharing
from logpersister_operator.decide.health.repair import decide_repair
from logpersister_operator.decide.lag_targets import longest_target_seconds
from logpersister_operator.decide.reported import Reported
from logpersister_operator.decide.revisions import rollout_turns
from logpersister_operator.decide.revisions.rollout_plan import RolloutPlan, plan_rollout
from logpersister_operator.decide.status.transition_events import transitions
from logpersister_operator.decide.status.whole import Course, status_of
from logpersister_operator.decide.validity import Validity
from logpersister_operator.observed_state import ObservedState
from logpersister_operator.plan import Plan
from logpersister_operator.render.application import Application
from logpersister_operator.render.instance_ids import pod_of
from logpersister_operator.render.workload import RESTART_ANNOTATION

PAUSED_ANNOTATION: Final = "logpersister.dev/paused"
_OTHER_WORDS: Final = (LookupError, TypeError, ValueError, AttributeError)
"""What becomes of a report that has other fields or values than those of a member."""


def decide(observed: ObservedState, validity: Validity) -> Plan:
    """Decide what is to be done now: what is there decides, and the record of the rollout in the status.

    Reports are other programs' words, perhaps of another release: those that make no sense count as no answers.
    """
    try:
        return _decide(observed, validity)
    except _OTHER_WORDS as error:
        if not observed.reports and not observed.shadow_reports:
            raise
        return _decide(observed.without_reports(f"what members report is not understood: {error!r}"), validity)


def _decide(observed: ObservedState, validity: Validity) -> Plan:
    course = _course(observed, validity)
    status = status_of(observed, validity, course)
    told = Plan(
        status.model_dump(mode="json", by_alias=True, exclude_none=True),
        events=transitions(observed.status.conditions, status.conditions),
        target_seconds=None if validity.runs is None else longest_target_seconds(validity.runs.spec),
    )
    return _acts(observed, course, told)


def _course(observed: ObservedState, validity: Validity) -> Course:
    """Decide what runs: who has the group, which step the rollout takes, and who is restarted."""
    own, paused = observed.own, is_paused(observed)
    reported = Reported(observed.now, observed.status, observed.reports, paused, observed.silent)
    shared = sharing(observed.resource.claim, own, observed.rivals, observed.group, observed.status)
    held = shared.holder is not None
    app, awaits = _application(observed, validity)
    rollout = None if app is None else plan_rollout(observed, app, paused=paused or held)
    spec = None if rollout is None or held else rollout.app.resource.spec
    repair = decide_repair(spec, own, reported, observed.lag, hands_off=_hands_off(observed, rollout))
    return Course(reported, shared, repair, rollout, awaits)


def _acts(observed: ObservedState, course: Course, told: Plan) -> Plan:
    own, rollout = observed.own, course.rollout
    if rollout is not None:
        events = [*told.events, *rollout.events(), *course.repair.events]
        told = replace(told, events=events, progress=rollout.step.progress, ended=rollout.step.ended)
    if observed.is_unattended:
        return told
    gone = departed(observed.key.name, own, observed.group, observed.names)
    if rollout is None or observed.secrets.missing or observed.is_being_deleted:
        return replace(told, leave=own_names(gone, observed.rivals))
    restart = observed.annotation(RESTART_ANNOTATION)
    apply = wanted_children.wanted(own, rollout, restart, executors=observed.executors)
    scale = wanted_children.scaled(own, rollout, restart)
    coming = wanted_children.coming(apply, scale)
    return replace(
        told,
        apply=apply,
        delete=wanted_children.surplus(own, rollout, apply),
        leave=own_names((name for name in gone if pod_of(name, own.owner) not in coming), observed.rivals),
        scale=scale,
        restart=course.repair.pods(own, observed.now),
        again_seconds=rollout.again_seconds,
    )


def is_paused(observed: ObservedState) -> bool:
    """Whether no member shall run; while nothing may be changed, whether none does."""
    runs = observed.is_unattended and any(one.replicas for one in observed.own.stateful_sets().values())
    return observed.annotation(PAUSED_ANNOTATION).lower() == "true" and not runs


def application_of(observed: ObservedState, resource: LogPersister) -> Application:
    """Return what is to run by the spec and by the operator's settings."""
    return Application.of(
        resource,
        namespace=observed.key.namespace,
        uid=observed.resource.uid,
        image=resource.spec.image or observed.image,
        secrets_digest=observed.secrets.digest,
        defaults=observed.defaults,
        rendering=observed.rendering,
    )


def _application(observed: ObservedState, validity: Validity) -> tuple[Application | None, str]:
    """Return what is to run, and for what a later revision waits: until its turn comes, what runs goes on."""
    if validity.runs is None:
        return None, ""
    wanted = application_of(observed, validity.runs)
    before = rollout_turns.as_before(observed.own, observed.resource.record, wanted) if observed.turn else None
    return (wanted, "") if before is None else (before, observed.turn)


def _hands_off(observed: ObservedState, rollout: RolloutPlan | None) -> str:
    if observed.is_being_deleted or observed.secrets.missing:
        return "it would not come back"
    if observed.is_unattended:
        return "reconciliation is paused"
    if rollout is not None and not rollout.is_calm:
        return "a rollout is in progress and judges members itself"
    return ""
