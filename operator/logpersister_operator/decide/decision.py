"""The decision about one resource: from everything that is observed to everything that is to be done."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from logpersister.manifest import LogPersister
from logpersister_operator.cluster.kinds import CHILDREN, CONFIG_MAP, STATEFUL_SET, Document, Reference
from logpersister_operator.crd.status import Status
from logpersister_operator.decide import report, verdicts
from logpersister_operator.decide.conditions import Verdict, conditions
from logpersister_operator.decide.departed import departed
from logpersister_operator.decide.diagnosis import ailment
from logpersister_operator.decide.events import transitions
from logpersister_operator.decide.handover import Handover, hand_over, ready_members
from logpersister_operator.decide.validity import check
from logpersister_operator.observed import Observed, Plan
from logpersister_operator.render.access import driver_role, service_accounts
from logpersister_operator.render.application import Application
from logpersister_operator.render.network import headless_service, network_policy
from logpersister_operator.render.workload import config_map, disruption_budget, stateful_set

PAUSED_ANNOTATION: Final = "logpersister.dev/paused"


def decide(observed: Observed) -> Plan:
    """Decide what is to be done now. Made anew each time from what is there: nothing is remembered."""
    validity = check(observed)
    paused = is_paused(observed)
    application = None if validity.runs is None else _application(observed, validity.runs)
    runnable = application is not None and not observed.secrets.missing
    sets = observed.stateful_sets()
    wanted = 0 if paused or validity.runs is None else validity.runs.spec.members
    if application is None:
        handover = Handover(0, leave=tuple(sets.values()), remove=())
    else:
        handover = hand_over(application.revision, wanted, sets)
    apply = _children(application, handover) if application is not None and runnable else []
    progress = _progress(application, wanted, handover, sets, paused=paused)
    hindered = verdicts.hindrance(
        validity, observed.secrets.missing, observed.refusals, ailment(observed.pods(), observed.now)
    )
    found = [
        verdicts.ready(progress, hindered),
        verdicts.reconciling(progress, hindered),
        verdicts.stalled(hindered),
        verdicts.spec_valid(validity, observed.status.get("revision")),
        verdicts.uploads_succeeding(observed, is_paused=paused),
        verdicts.lag_within_target(observed, is_paused=paused),
        verdicts.paused(is_paused=paused),
    ]
    status = _status(observed, validity.runs, progress, found)
    delete = _surplus(observed, apply, handover) if runnable else []
    return Plan(status, apply, delete, transitions(observed.status, status), departed(observed, apply))


def is_paused(observed: Observed) -> bool:
    annotations = observed.resource["metadata"].get("annotations") or {}
    return str(annotations.get(PAUSED_ANNOTATION, "")).lower() == "true"


def _application(observed: Observed, resource: LogPersister) -> Application:
    return Application.of(
        resource,
        namespace=observed.key.namespace,
        uid=observed.resource["metadata"]["uid"],
        image=observed.image,
        secrets_digest=observed.secrets.digest,
    )


def _children(app: Application, handover: Handover) -> list[Document]:
    """Return everything that shall be there, in the order in which it is needed."""
    return [
        *service_accounts(app),
        *driver_role(app),
        config_map(app),
        headless_service(app),
        *network_policy(app),
        disruption_budget(app),
        stateful_set(app, handover.members),
    ]


def _surplus(observed: Observed, wanted: Sequence[Document], handover: Handover) -> list[Document]:
    """Return our children that nothing needs any more, but for what a revision that goes on still needs."""
    keep = {Reference.of(child) for child in wanted}
    for stateful_set_ in handover.leave:
        name = stateful_set_["metadata"]["name"]
        keep |= {Reference(STATEFUL_SET.name, name), Reference(CONFIG_MAP.name, name)}
    uid = observed.resource["metadata"]["uid"]
    ours = (child for kind in reversed(CHILDREN) for child in observed.of_kind(kind) if _is_owned(child, uid))
    return [child for child in ours if Reference.of(child) not in keep]


def _is_owned(child: Document, uid: str) -> bool:
    """Whether the resource owns the child: what only has our label belongs to somebody else."""
    return any(owner["uid"] == uid for owner in child["metadata"].get("ownerReferences") or [])


def _progress(
    app: Application | None, wanted: int, handover: Handover, sets: Mapping[str, Document], *, paused: bool
) -> verdicts.Progress:
    revision = None if app is None else app.revision
    ours = sets.get(revision or "")
    ready = 0 if ours is None else ready_members(ours)
    return verdicts.Progress(wanted, ready, handed_over=handover.complete, revision=revision, paused=paused)


def _status(
    observed: Observed, resource: LogPersister | None, progress: verdicts.Progress, found: Sequence[Verdict]
) -> Document:
    generation = int(observed.resource["metadata"]["generation"])
    before: Sequence[Mapping[str, Any]] = observed.status.get("conditions", [])
    lag, stored = report.lag(observed), report.uploads(observed)
    return Status(
        observed_generation=generation,
        conditions=conditions(before, found, generation, observed.now),
        generation=None if resource is None else resource.spec.generation,
        revision=progress.revision,
        group_id=None if resource is None else resource.group_id,
        lag=lag,
        uploads=stored,
        members=report.members(observed, progress.wanted, progress.ready),
        rebalance=report.rebalance(observed, progress.wanted),
        data_loss=report.data_loss(observed),
        summary=report.summary(progress.ready, progress.wanted, lag, stored, found),
    ).model_dump(mode="json", by_alias=True, exclude_none=True)
