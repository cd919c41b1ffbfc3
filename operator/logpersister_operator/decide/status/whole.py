"""The whole status of a resource, from what is observed and from what is decided."""

from collections.abc import Sequence
from dataclasses import dataclass

from logpersister_operator.crd.status import Status
from logpersister_operator.crd.status_rollout import rollout_of
from logpersister_operator.decide.conditions import Aspect, Obstacle, Verdict, conditions
from logpersister_operator.decide.health import data_losses, failing_duties, quarantined_records, rebalance_storms
from logpersister_operator.decide.health.group_sharing import Sharing
from logpersister_operator.decide.health.pod_failures import pod_failure
from logpersister_operator.decide.health.repair import RepairDecision
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Reported
from logpersister_operator.decide.revisions.rollout_plan import RolloutPlan
from logpersister_operator.decide.status import fields, verdicts
from logpersister_operator.decide.status.types import stalest_type, types
from logpersister_operator.decide.status.verdicts import Readiness
from logpersister_operator.decide.validity import Validity
from logpersister_operator.observed_state import ObservedState


@dataclass(frozen=True, slots=True)
class Course:
    """What is decided about one resource."""

    reported: Reported
    sharing: Sharing
    repair: RepairDecision
    rollout: RolloutPlan | None
    """None when nothing can run."""
    awaits: str
    """Why a rollout that the operator's settings cause has not begun; empty when there is none."""

    @property
    def readiness(self) -> Readiness:
        paused, rollout = self.reported.is_paused, self.rollout
        if rollout is None:
            return Readiness(0, 0, handed_over=False, revision=None, paused=paused)
        return Readiness(
            0 if paused or self.sharing.holder is not None else rollout.inputs.members,
            rollout.ready,
            handed_over=rollout.is_alone,
            revision=rollout.lead.revision,
            lead_ready=rollout.inputs.fleet(rollout.lead.revision).ready,
            paused=paused,
            doing=rollout.doing,
            awaits=self.awaits,
            says=self.reported.says,
        )


def status_of(observed: ObservedState, validity: Validity, course: Course) -> Status:
    """Return the status to write."""
    known = _sections(observed, course)
    found = _verdicts(observed, course, known, validity)
    words = "" if course.rollout is None else course.rollout.step.words
    stalest = stalest_type(known.types, observed.now)
    return known.model_copy(
        update={
            "conditions": conditions(observed.status.conditions, found, observed.resource.generation, observed.now),
            "summary": fields.summary(known, course.readiness, found, words, stalest),
        }
    )


def _sections(observed: ObservedState, course: Course) -> Status:
    own, reported, readiness, rollout = observed.own, course.reported, course.readiness, course.rollout
    known = Status(
        observed_generation=observed.resource.generation,
        revision=readiness.revision,
        lag=fields.lag(observed.lag, reported.before.lag),
        uploads=fields.uploads(reported, observed.stored),
        quarantine=quarantined_records.state(reported, observed.stored),
        members=fields.members(reported, own.pods(), readiness),
        rebalance=fields.rebalance(reported, observed.group, readiness.wanted),
        restarts=course.repair.restarts,
        data_loss=data_losses.state(reported),
    )
    if rollout is None:
        return known
    lead = rollout.lead.resource
    return known.model_copy(
        update={
            "generation": rollout.generation,
            "group_id": lead.group_id,
            "types": types(reported, lead.spec),
            "autoscale": None if rollout.scaling is None else rollout.scaling.state,
            "rollout": rollout_of(rollout.step.record, rollout.shadow),
            "generations": fields.generations(own, observed.lag, rollout.inputs.fleets),
        }
    )


def _verdicts(observed: ObservedState, course: Course, known: Status, validity: Validity) -> Sequence[Verdict]:
    reported, readiness, shared, rollout = course.reported, course.readiness, course.sharing, course.rollout
    hindered = _hindrance(observed, course, validity)
    reconciling, unattended = verdicts.reconciling(readiness, hindered), list[Verdict]()
    if observed.is_unattended:
        reconciling, *unattended = verdicts.reconciliation_paused()
    scaling_before = reported.previous(Aspect.AUTOSCALING) if observed.lag is None else None
    return [
        verdicts.ready(readiness, hindered),
        reconciling,
        verdicts.stalled(hindered),
        verdicts.reconciled(),
        verdicts.spec_valid(validity, readiness.revision),
        verdicts.uploads_succeeding(reported),
        quarantined_records.records_parsing(reported, known.quarantine),
        *failing_duties.duties_succeeding(reported),
        data_losses.data_complete(observed.resource, known.data_loss, observed.now),
        verdicts.lag_within_target(observed.lag, reported) if shared.holder is None else shared.lag,
        rebalance_storms.group_stable(
            reported, observed.own.pods(), known.rebalance, readiness.wanted, changing=not readiness.handed_over
        ),
        shared.verdict,
        course.repair.verdict,
        *([] if rollout is None else rollout.autoscaling(scaling_before)),
        verdicts.paused(is_paused=reported.is_paused),
        *unattended,
    ]


def _hindrance(observed: ObservedState, course: Course, validity: Validity) -> Obstacle | None:
    """Return what somebody must do something about before the wanted spec can run; the first that there is."""
    missing, refusals, rollout = observed.secrets.missing, observed.refusals, course.rollout
    if not validity.valid:
        return Obstacle(Reason.SPEC_INVALID, validity.problems)
    if course.sharing.obstacle is not None:
        return course.sharing.obstacle
    if missing:
        what = f"missing: {', '.join(missing)}; create it, or correct the name in the spec"
        return Obstacle(Reason.SECRET_MISSING, what)
    if refusals:
        first = min(refusals)
        reason = Reason.NAME_TAKEN if refusals[first].taken else Reason.REFUSED
        return Obstacle(reason, refusals[first].about(first))
    if rollout is None:
        return pod_failure(observed.own.pods(), observed.now, {})
    return rollout.failure or rollout.obstacle
