"""The decision about one resource: from everything that is observed to everything that is to be done."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from logpersister.manifest import LogPersister
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd.status import DataLoss, Quarantine, Rebalance, Status
from logpersister_operator.decide import wanted_children
from logpersister_operator.decide.conditions import Verdict, conditions
from logpersister_operator.decide.health import data_losses, quarantined_records, rebalance_storms
from logpersister_operator.decide.health.departed_members import departed
from logpersister_operator.decide.health.group_sharing import Sharing, own_names, sharing
from logpersister_operator.decide.health.pod_failures import ailment
from logpersister_operator.decide.health.repair import Care, care
from logpersister_operator.decide.lag_targets import longest_target_seconds
from logpersister_operator.decide.revisions.rollout_plan import Rolling, roll
from logpersister_operator.decide.status import fields, verdicts
from logpersister_operator.decide.status.generations import generations
from logpersister_operator.decide.status.transition_events import transitions
from logpersister_operator.decide.validity import Validity, check
from logpersister_operator.observed_state import Observed
from logpersister_operator.plan import Plan
from logpersister_operator.render.application import Application

PAUSED_ANNOTATION: Final = "logpersister.dev/paused"


def decide(observed: Observed) -> Plan:
    """Decide what is to be done now: what is there decides, and the record of the rollout in the status."""
    validity, paused = check(observed), is_paused(observed)
    application = None if validity.runs is None else _application(observed, validity.runs)
    shared = sharing(observed, None if application is None else application.revision)
    held = shared.holder is not None
    rolling = None if application is None else roll(observed, application, paused=paused or held)
    cared = _care(observed, rolling, paused=paused, held=held)
    progress = _progress(rolling, paused=paused, held=held)
    rebalance = fields.rebalance(observed, progress.wanted)
    refused, lost = quarantined_records.state(observed), data_losses.state(observed)
    found = _verdicts(observed, validity, shared, rolling, progress, rebalance, refused, lost, cared)
    status = _status(observed, rolling, progress, rebalance, refused, lost, found, cared)
    events = transitions(observed.status, status)
    if rolling is not None:
        events += [*rolling.events(), *cared.events]
    target_seconds = None if validity.runs is None else longest_target_seconds(validity.runs.spec)
    if rolling is None or observed.secrets.missing or observed.is_being_deleted:
        return Plan(
            status,
            events=events,
            leave=own_names(departed(observed), observed.rivals),
            target_seconds=target_seconds,
            progress=None if rolling is None else rolling.outcome.progress,
            ended=() if rolling is None else rolling.outcome.ended,
        )
    apply, scale = wanted_children.wanted(observed, rolling), wanted_children.scaled(observed, rolling)
    return Plan(
        status,
        apply,
        wanted_children.surplus(observed, rolling, apply),
        events,
        own_names(departed(observed, [*apply, *scale]), observed.rivals),
        scale=scale,
        restart=cared.pods(observed),
        again_seconds=rolling.again_seconds,
        target_seconds=target_seconds,
        progress=rolling.outcome.progress,
        ended=rolling.outcome.ended,
    )


def is_paused(observed: Observed) -> bool:
    return observed.annotation(PAUSED_ANNOTATION).lower() == "true"


def _application(observed: Observed, resource: LogPersister) -> Application:
    return Application.of(
        resource,
        namespace=observed.key.namespace,
        uid=observed.resource["metadata"]["uid"],
        image=resource.spec.image or observed.image,
        secrets_digest=observed.secrets.digest,
    )


def _care(observed: Observed, rolling: Rolling | None, *, paused: bool, held: bool) -> Care:
    hands_off = ""
    if observed.is_being_deleted or observed.secrets.missing:
        hands_off = "it would not come back"
    elif rolling is not None and not rolling.is_calm:
        hands_off = "a rollout is under way, and judges members itself"
    spec = None if rolling is None or held else rolling.app.resource.spec
    return care(observed, spec, paused=paused, hands_off=hands_off)


def _verdicts(
    observed: Observed,
    validity: Validity,
    shared: Sharing,
    rolling: Rolling | None,
    progress: verdicts.Progress,
    rebalance: Rebalance | None,
    refused: Quarantine | None,
    lost: DataLoss | None,
    cared: Care,
) -> list[Verdict]:
    ails = ailment(observed.pods(), observed.now) if rolling is None else rolling.failure or rolling.ailment
    hindered = verdicts.hindrance(validity, shared.ailment, observed.secrets.missing, observed.refusals, ails)
    return [
        verdicts.ready(progress, hindered),
        verdicts.reconciling(progress, hindered),
        verdicts.stalled(hindered),
        verdicts.spec_valid(validity, progress.revision),
        verdicts.uploads_succeeding(observed, is_paused=progress.paused),
        quarantined_records.records_parsing(observed, refused, is_paused=progress.paused),
        data_losses.data_complete(observed, lost),
        shared.lag if shared.holder is not None else verdicts.lag_within_target(observed, is_paused=progress.paused),
        rebalance_storms.group_stable(observed, rebalance, progress.wanted, changing=not progress.handed_over),
        shared.verdict,
        cared.verdict,
        *([] if rolling is None else rolling.autoscaling(observed)),
        verdicts.paused(is_paused=progress.paused),
    ]


def _progress(rolling: Rolling | None, *, paused: bool, held: bool) -> verdicts.Progress:
    if rolling is None:
        return verdicts.Progress(0, 0, handed_over=False, revision=None, paused=paused)
    return verdicts.Progress(
        0 if paused or held else rolling.situation.members,
        rolling.ready,
        handed_over=rolling.is_alone,
        revision=rolling.lead.revision,
        paused=paused,
        doing=rolling.doing,
    )


def _status(
    observed: Observed,
    rolling: Rolling | None,
    progress: verdicts.Progress,
    rebalance: Rebalance | None,
    refused: Quarantine | None,
    lost: DataLoss | None,
    found: Sequence[Verdict],
    cared: Care,
) -> Document:
    generation = int(observed.resource["metadata"]["generation"])
    before: Sequence[Mapping[str, Any]] = observed.status.get("conditions", [])
    lag, stored = fields.lag(observed), fields.uploads(observed)
    lead = None if rolling is None else rolling.lead
    return Status(
        observed_generation=generation,
        conditions=conditions(before, found, generation, observed.now),
        generation=None if rolling is None else rolling.generation,
        revision=progress.revision,
        group_id=None if lead is None else lead.resource.group_id,
        lag=lag,
        uploads=stored,
        quarantine=refused,
        members=fields.members(observed, progress.wanted, progress.ready),
        rebalance=rebalance,
        restarts=cared.restarts,
        data_loss=lost,
        autoscale=None if rolling is None or rolling.scaling is None else rolling.scaling.state,
        rollout=None if rolling is None else rolling.rollout(),
        generations=() if rolling is None else generations(observed, rolling.situation.fleets),
        summary=fields.summary(
            progress.ready, progress.wanted, lag, stored, found, "" if rolling is None else rolling.outcome.words
        ),
    ).model_dump(mode="json", by_alias=True, exclude_none=True)
