"""The decision about one resource: from everything that is observed to everything that is to be done."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from logpersister.manifest import LogPersister
from logpersister_operator.crd.status import Status
from logpersister_operator.decide import wanted_children
from logpersister_operator.decide.conditions import Verdict, conditions
from logpersister_operator.decide.health import data_losses, failing_duties, quarantined_records, rebalance_storms
from logpersister_operator.decide.health.departed_members import departed
from logpersister_operator.decide.health.group_sharing import own_names, sharing
from logpersister_operator.decide.health.pod_failures import pod_failure
from logpersister_operator.decide.health.repair import RepairDecision, decide_repair
from logpersister_operator.decide.lag_targets import longest_target_seconds
from logpersister_operator.decide.revisions import rollout_turns
from logpersister_operator.decide.revisions.rollout_plan import RolloutPlan, plan_rollout
from logpersister_operator.decide.status import fields, verdicts
from logpersister_operator.decide.status.generations import generations
from logpersister_operator.decide.status.transition_events import transitions
from logpersister_operator.decide.status.types import stalest_type, types
from logpersister_operator.decide.validity import Validity
from logpersister_operator.observed_state import ObservedState
from logpersister_operator.plan import Plan
from logpersister_operator.render.application import Application

PAUSED_ANNOTATION: Final = "logpersister.dev/paused"


def decide(observed: ObservedState, validity: Validity) -> Plan:
    """Decide what is to be done now: what is there decides, and the record of the rollout in the status."""
    paused, shared = is_paused(observed), sharing(observed)
    held = shared.holder is not None
    app, awaits = _application(observed, validity)
    rollout = None if app is None else plan_rollout(observed, app, paused=paused or held)
    repair = _care(observed, rollout, paused=paused, held=held)
    readiness = _readiness(rollout, paused=paused, held=held, awaits=awaits)
    known = _sections(observed, rollout, readiness, repair)
    obstacle = pod_failure(observed.pods(), observed.now) if rollout is None else rollout.failure or rollout.obstacle
    hindered = verdicts.hindrance(validity, shared.obstacle, observed.secrets.missing, observed.refusals, obstacle)
    reconciling, unattended = verdicts.reconciling(readiness, hindered), list[Verdict]()
    if observed.is_unattended:
        reconciling, *unattended = verdicts.reconciliation_paused()
    found = [
        verdicts.ready(readiness, hindered),
        reconciling,
        verdicts.stalled(hindered),
        verdicts.reconciled(),
        verdicts.spec_valid(validity, readiness.revision),
        verdicts.uploads_succeeding(observed, is_paused=paused),
        quarantined_records.records_parsing(observed, known.quarantine, is_paused=paused),
        *failing_duties.duties_succeeding(observed, is_paused=paused),
        data_losses.data_complete(observed, known.data_loss),
        shared.lag if held else verdicts.lag_within_target(observed, is_paused=paused),
        rebalance_storms.group_stable(observed, known.rebalance, readiness.wanted, changing=not readiness.handed_over),
        shared.verdict,
        repair.verdict,
        *([] if rollout is None else rollout.autoscaling(observed)),
        verdicts.paused(is_paused=paused),
        *unattended,
    ]
    told = _with_conditions(observed, known, found, "" if rollout is None else rollout.step.words)
    events = transitions(observed.status.conditions, told.conditions)
    if rollout is not None:
        events += [*rollout.events(), *repair.events]
    target = None if validity.runs is None else longest_target_seconds(validity.runs.spec)
    status = told.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _acts(observed, rollout, repair, Plan(status, events=events, target_seconds=target))


def _acts(observed: ObservedState, rollout: RolloutPlan | None, repair: RepairDecision, told: Plan) -> Plan:
    """Return the plan with everything that is to be done beside the status and events that it has."""
    if rollout is not None:
        told = replace(told, progress=rollout.step.progress, ended=rollout.step.ended)
    if observed.is_unattended:
        return told
    if rollout is None or observed.secrets.missing or observed.is_being_deleted:
        return replace(told, leave=own_names(departed(observed), observed.rivals))
    apply, scale = wanted_children.wanted(observed, rollout), wanted_children.scaled(observed, rollout)
    return replace(
        told,
        apply=apply,
        delete=wanted_children.surplus(observed, rollout, apply),
        leave=own_names(departed(observed, wanted_children.coming(apply, scale)), observed.rivals),
        scale=scale,
        restart=repair.pods(observed),
        again_seconds=rollout.again_seconds,
    )


def is_paused(observed: ObservedState) -> bool:
    """Whether no member shall run; while nothing may be changed, whether none does."""
    runs = observed.is_unattended and any(one.replicas for one in observed.stateful_sets().values())
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
    before = rollout_turns.as_before(observed, wanted) if observed.turn else None
    return (wanted, "") if before is None else (before, observed.turn)


def _care(observed: ObservedState, rollout: RolloutPlan | None, *, paused: bool, held: bool) -> RepairDecision:
    hands_off = ""
    if observed.is_being_deleted or observed.secrets.missing:
        hands_off = "it would not come back"
    elif observed.is_unattended:
        hands_off = "reconciliation is paused"
    elif rollout is not None and not rollout.is_calm:
        hands_off = "a rollout is in progress and judges members itself"
    spec = None if rollout is None or held else rollout.app.resource.spec
    return decide_repair(observed, spec, paused=paused, hands_off=hands_off)


def _readiness(rollout: RolloutPlan | None, *, paused: bool, held: bool, awaits: str) -> verdicts.Readiness:
    if rollout is None:
        return verdicts.Readiness(0, 0, handed_over=False, revision=None, paused=paused)
    return verdicts.Readiness(
        0 if paused or held else rollout.inputs.members,
        rollout.ready,
        handed_over=rollout.is_alone,
        revision=rollout.lead.revision,
        lead_ready=rollout.inputs.fleet(rollout.lead.revision).ready,
        paused=paused,
        doing=rollout.doing,
        awaits=awaits,
    )


def _sections(
    observed: ObservedState, rollout: RolloutPlan | None, readiness: verdicts.Readiness, repair: RepairDecision
) -> Status:
    """Return the status without the verdicts on it."""
    known = Status(
        observed_generation=observed.resource.generation,
        revision=readiness.revision,
        lag=fields.lag(observed),
        uploads=fields.uploads(observed),
        quarantine=quarantined_records.state(observed),
        members=fields.members(observed, readiness.wanted, readiness.ready),
        rebalance=fields.rebalance(observed, readiness.wanted),
        restarts=repair.restarts,
        data_loss=data_losses.state(observed),
    )
    if rollout is None:
        return known
    lead = rollout.lead.resource
    return known.model_copy(
        update={
            "generation": rollout.generation,
            "group_id": lead.group_id,
            "types": types(observed, lead.spec),
            "autoscale": None if rollout.scaling is None else rollout.scaling.state,
            "rollout": rollout.status(),
            "generations": generations(observed, rollout.inputs.fleets),
        }
    )


def _with_conditions(observed: ObservedState, known: Status, found: Sequence[Verdict], words: str) -> Status:
    """Return the whole status; ``words`` say what a rollout does."""
    generation = observed.resource.generation
    return known.model_copy(
        update={
            "conditions": conditions(observed.status.conditions, found, generation, observed.now),
            "summary": fields.summary(known, found, words, stalest_type(known.types, observed.now)),
        }
    )
