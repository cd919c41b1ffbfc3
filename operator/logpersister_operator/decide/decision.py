"""The decision about one resource: from everything that is observed to everything that is to be done."""

from collections.abc import Sequence
from typing import Final

from logpersister.manifest import LogPersister
from logpersister_operator.crd.status import DataLoss, Quarantine, Rebalance, Status
from logpersister_operator.decide import wanted_children
from logpersister_operator.decide.conditions import Verdict, conditions
from logpersister_operator.decide.health import data_losses, failing_duties, quarantined_records, rebalance_storms
from logpersister_operator.decide.health.departed_members import departed
from logpersister_operator.decide.health.group_sharing import Sharing, own_names, sharing
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
    paused = is_paused(observed)
    application = None if validity.runs is None else application_of(observed, validity.runs)
    before = rollout_turns.as_before(observed, application) if application is not None and observed.turn else None
    application = before or application
    shared = sharing(observed)
    held = shared.holder is not None
    rollout = None if application is None else plan_rollout(observed, application, paused=paused or held)
    repair = _care(observed, rollout, paused=paused, held=held)
    awaits = "" if before is None else observed.turn
    readiness = _readiness(rollout, paused=paused, held=held, awaits=awaits)
    rebalance = fields.rebalance(observed, readiness.wanted)
    refused, lost = quarantined_records.state(observed), data_losses.state(observed)
    found = _verdicts(observed, validity, shared, rollout, readiness, rebalance, refused, lost, repair)
    told = _status(observed, rollout, readiness, rebalance, refused, lost, found, repair)
    events = transitions(observed.status.conditions, told.conditions)
    status = told.model_dump(mode="json", by_alias=True, exclude_none=True)
    if rollout is not None:
        events += [*rollout.events(), *repair.events]
    target_seconds = None if validity.runs is None else longest_target_seconds(validity.runs.spec)
    if rollout is None or observed.secrets.missing or observed.is_being_deleted or observed.is_unattended:
        return Plan(
            status,
            events=events,
            leave=() if observed.is_unattended else own_names(departed(observed), observed.rivals),
            target_seconds=target_seconds,
            progress=None if rollout is None else rollout.step.progress,
            ended=() if rollout is None else rollout.step.ended,
        )
    apply, scale = wanted_children.wanted(observed, rollout), wanted_children.scaled(observed, rollout)
    return Plan(
        status,
        apply,
        wanted_children.surplus(observed, rollout, apply),
        events,
        own_names(departed(observed, wanted_children.coming(apply, scale)), observed.rivals),
        scale=scale,
        restart=repair.pods(observed),
        again_seconds=rollout.again_seconds,
        target_seconds=target_seconds,
        progress=rollout.step.progress,
        ended=rollout.step.ended,
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


def _verdicts(
    observed: ObservedState,
    validity: Validity,
    shared: Sharing,
    rollout: RolloutPlan | None,
    readiness: verdicts.Readiness,
    rebalance: Rebalance | None,
    refused: Quarantine | None,
    lost: DataLoss | None,
    repair: RepairDecision,
) -> list[Verdict]:
    obstacle = pod_failure(observed.pods(), observed.now) if rollout is None else rollout.failure or rollout.obstacle
    hindered = verdicts.hindrance(validity, shared.obstacle, observed.secrets.missing, observed.refusals, obstacle)
    reconciling, unattended = verdicts.reconciling(readiness, hindered), list[Verdict]()
    if observed.is_unattended:
        reconciling, *unattended = verdicts.reconciliation_paused()
    return [
        verdicts.ready(readiness, hindered),
        reconciling,
        verdicts.stalled(hindered),
        verdicts.reconciled(),
        verdicts.spec_valid(validity, readiness.revision),
        verdicts.uploads_succeeding(observed, is_paused=readiness.paused),
        quarantined_records.records_parsing(observed, refused, is_paused=readiness.paused),
        *failing_duties.duties_succeeding(observed, is_paused=readiness.paused),
        data_losses.data_complete(observed, lost),
        shared.lag if shared.holder is not None else verdicts.lag_within_target(observed, is_paused=readiness.paused),
        rebalance_storms.group_stable(observed, rebalance, readiness.wanted, changing=not readiness.handed_over),
        shared.verdict,
        repair.verdict,
        *([] if rollout is None else rollout.autoscaling(observed)),
        verdicts.paused(is_paused=readiness.paused),
        *unattended,
    ]


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


def _status(
    observed: ObservedState,
    rollout: RolloutPlan | None,
    readiness: verdicts.Readiness,
    rebalance: Rebalance | None,
    refused: Quarantine | None,
    lost: DataLoss | None,
    found: Sequence[Verdict],
    repair: RepairDecision,
) -> Status:
    generation = observed.resource.generation
    lag, stored = fields.lag(observed), fields.uploads(observed)
    lead = None if rollout is None else rollout.lead
    of_types = types(observed, None if lead is None else lead.resource.spec)
    return Status(
        observed_generation=generation,
        conditions=conditions(observed.status.conditions, found, generation, observed.now),
        generation=None if rollout is None else rollout.generation,
        revision=readiness.revision,
        group_id=None if lead is None else lead.resource.group_id,
        lag=lag,
        uploads=stored,
        quarantine=refused,
        types=of_types,
        members=fields.members(observed, readiness.wanted, readiness.ready),
        rebalance=rebalance,
        restarts=repair.restarts,
        data_loss=lost,
        autoscale=None if rollout is None or rollout.scaling is None else rollout.scaling.state,
        rollout=None if rollout is None else rollout.status(),
        generations=() if rollout is None else generations(observed, rollout.inputs.fleets),
        summary=fields.summary(
            readiness.ready,
            readiness.wanted,
            lag,
            stored,
            found,
            "" if rollout is None else rollout.step.words,
            stalest_type(of_types, observed.now),
        ),
    )
