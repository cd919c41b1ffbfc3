"""The rollout of one resource: the inputs of the state machine from what is observed, and the step that it takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from logpersister.manifest.blocks.rollout import ABORT, PROMOTE, RETRY
from logpersister_operator.crd.status_rollout import ShadowState
from logpersister_operator.decide.conditions import Obstacle, Verdict
from logpersister_operator.decide.health import quarantined_records
from logpersister_operator.decide.health.observed_fleets import OUTSIDE, fleets, lost_pods, refused_pods
from logpersister_operator.decide.health.pod_failures import pod_failure
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.revisions import observed_shadow
from logpersister_operator.decide.revisions.observed_evidence import evidence, group_lag
from logpersister_operator.decide.scaling import member_count
from logpersister_operator.decide.scaling.autoscaler import AutoscaleDecision
from logpersister_operator.decide.validity import manifest_of
from logpersister_operator.observed_state import ObservedState, OwnObjects
from logpersister_operator.render.application import EXECUTOR, REVISION_LABEL, SHADOW, Application, secret_names
from logpersister_operator.render.pod import SECRETS_ANNOTATION
from logpersister_operator.render.shadow_deployment import ShadowDeployment
from logpersister_operator.render.workload import settings_of
from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.rollout_events import Event
from logpersister_operator.rollout.shadow_evidence import Shadow
from logpersister_operator.rollout.step import RolloutStep, next_step
from logpersister_operator.rollout.transitions import ONGOING, Phase
from logpersister_operator.rollout.words import failure_message, message

LOOK: Final = timedelta(seconds=15)
"""How often the words about a rollout are brought up to date."""
_PAUSED: Final = (Reason.PAUSED, "paused")
_UNATTENDED: Final = (Reason.RECONCILIATION_PAUSED, "reconciliation is paused")

_REASONS: Final = {
    Phase.SHADOWING: Reason.COMPARING_SHADOW,
    Phase.CANARY: Reason.TRYING_CANARY,
    Phase.ROLLING: Reason.ROLLING_OUT,
    Phase.WAITING: Reason.WAITING_FOR_PROMOTION,
    Phase.RECREATING: Reason.RECREATING,
    Phase.RETURNING: Reason.ROLLING_BACK,
}


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """The step of the state machine, with its inputs and what the operator needs to carry it out."""

    step: RolloutStep
    inputs: RolloutInputs
    app: Application
    """What the spec describes."""
    lead: Application
    """What all children but the members of other revisions are made from: what runs, or is on its way to."""
    pod_failure: Obstacle | None = None
    """Why one of its pods cannot become ready by itself."""
    scaling: AutoscaleDecision | None = None
    """How many members the lag asks for; None when the spec says how many."""
    shadow: ShadowState | None = None
    """``status.rollout.shadow``."""
    shadow_deployment: ShadowDeployment | None = None
    """The one that is wanted now."""
    generation: int | None = None
    """The one that members write."""
    has_other_pods: bool = False
    """Whether another operator made the pods of the leading revision, and made others than this one would."""

    @property
    def ready(self) -> int:
        """Members that are ready, of whatever revision."""
        return sum(fleet.ready for fleet in self.inputs.fleets.values())

    @property
    def is_alone(self) -> bool:
        """Whether no other revision than that of the spec has members."""
        return self.lead is self.app and all(
            fleet.is_gone for revision, fleet in self.inputs.fleets.items() if revision != self.app.revision
        )

    @property
    def is_calm(self) -> bool:
        """Whether no member is on its way in or out; a rollout may wait for somebody, or for its shadow."""
        return self.step.record.phase in (Phase.STEADY, Phase.SHADOWING, Phase.WAITING, Phase.HALTED)

    @property
    def doing(self) -> tuple[Reason, str] | None:
        """What is going on, as a reason and in words; None when nothing is rolled out."""
        record = self.step.record
        reason = _REASONS.get(record.phase)
        return None if reason is None else (reason, message(record, self.inputs))

    @property
    def failure(self) -> Obstacle | None:
        """Why the revision of the spec has no members, and what to do."""
        record = self.step.record
        if record.phase is not Phase.HALTED:
            return None
        failure = record.failure_of(self.app.revision, self.inputs.policy.attempt)
        if failure is None:
            return None
        return Obstacle(Reason.ROLLOUT_FAILED, failure_message(record, failure, self.inputs))

    @property
    def obstacle(self) -> Obstacle | None:
        """Why a pod cannot become ready by itself. What is the candidate's own fault, its rollout deals with."""
        found = self.pod_failure
        is_outside = found is not None and found.reason in OUTSIDE
        return found if is_outside or self.step.record.phase not in ONGOING else None

    @property
    def again_seconds(self) -> float | None:
        """When to look again though nothing changes."""
        if self.step.record.frozen:
            return None
        again = member_count.again(self.inputs.now, self.scaling)
        now, look = self.inputs.now, self.step.look
        waits = [look - now] if look is not None else []
        if self.step.record.phase in ONGOING:
            waits.append(LOOK)
        if again is not None:
            waits.append(again)
        return min((wait.total_seconds() for wait in waits), default=None)

    def events(self) -> list[Event]:
        return [*self.step.events, *member_count.events(self.scaling)]

    def autoscaling(self, before: Verdict | None) -> list[Verdict]:
        """Return the condition of a resource whose members follow the lag; ``before`` as in `member_count`."""
        bounds, scaling = self.app.resource.spec.autoscale, self.scaling
        return [] if bounds is None or scaling is None else [member_count.verdict(bounds, scaling, before)]


def plan_rollout(observed: ObservedState, app: Application, *, paused: bool) -> RolloutPlan:
    """Take the next step towards what the spec describes."""
    own, now, told, record = observed.own, observed.now, observed.told, observed.resource.record
    there, last = fleets(own, now, told), observed.status
    begun = None if last.rollout is None else last.rollout.shadow
    still = _UNATTENDED if observed.is_unattended else _PAUSED if paused else None
    lacks_secret = bool(observed.secrets.missing)
    seen = member_count.Situation(now, last.autoscale, record, there, own, observed.lag, still, lacks_secret)
    scaled = member_count.decide(app.resource.spec, app.revision, seen)

    def shadow_of(present: ShadowDeployment | None) -> Shadow:
        return observed_shadow.shadow(present, own, observed.shadow_reports, now, told)

    members = app.resource.spec.members if scaled is None else scaled.members
    shadow = shadow_of(observed_shadow.shadow_deployment(app, record, begun))
    inputs = _inputs(observed, app, there, members, shadow, paused=paused)
    step = next_step(record, inputs)
    leads = step.record.leads
    lead = (None if leads in (None, app.revision) else stored(own, app, leads)) or app
    wanted = observed_shadow.shadow_deployment(app, step.record, begun)
    return RolloutPlan(
        step,
        inputs,
        app,
        lead,
        pod_failure=_pod_failure(own, lead.revision, step.record.phase, now, told),
        scaling=scaled,
        shadow=observed_shadow.state(wanted, shadow_of(wanted)),
        shadow_deployment=wanted,
        generation=observed_shadow.generation(own, lead, step.record),
        has_other_pods=lead.rendering != observed.rendering and lead.revision in own.stateful_sets(),
    )


def _pod_failure(own: OwnObjects, lead: str, phase: Phase, now: datetime, told: Mapping[str, str]) -> Obstacle | None:
    """Return why a pod of the leading revision, of its shadow or an executor, cannot become ready by itself."""
    sets = own.stateful_sets()
    executors = [pod for pod in own.pods(EXECUTOR) if pod.without_node is None]  # a member may do with fewer
    theirs = sets.keys() - {lead}
    pods = [pod for pod in (*own.pods(), *executors) if pod.labels.get(REVISION_LABEL) not in theirs]
    ours = [pod for pod in own.pods() if pod.labels.get(REVISION_LABEL) == lead]
    pods += own.pods(SHADOW) if phase is Phase.SHADOWING else []
    leading = sets.get(lead)
    return lost_pods(leading, ours, now) or pod_failure(pods, now, told) or refused_pods(leading, ours, told)


def stored(own: OwnObjects, app: Application, revision: str | None) -> Application | None:
    """Rebuild another revision from its ConfigMap; None when that does not give the same revision.

    Fields that make no revision are taken from the present spec, except pods: those have proven themselves.
    """
    config_map = own.config_maps().get(revision or "")
    manifest = None if config_map is None else manifest_of(config_map)
    if config_map is None or manifest is None:
        return None
    now = app.resource.spec
    kept = {
        name: getattr(now, name)
        for name in ("auto_repair", "autoscale", "members", "network_policy", "rollout", "target_lag")
    }
    spec = manifest.spec.model_copy(update=kept)
    settings = settings_of(config_map)
    if settings is None:
        return None
    same_secrets = secret_names(spec) == secret_names(now)
    found = Application.of(
        manifest.model_copy(update={"spec": spec}),
        namespace=app.namespace,
        uid=app.uid,
        image=settings.image,
        defaults=settings.defaults,
        rendering=settings.rendering,
        secrets_digest=app.secrets_digest if same_secrets else _secrets_digest(own, revision or ""),
    )
    return found if found.revision == revision else None


def _inputs(
    observed: ObservedState,
    app: Application,
    there: Mapping[str, Fleet],
    members: int,
    shadow: Shadow,
    *,
    paused: bool,
) -> RolloutInputs:
    spec, missing, own = app.resource.spec, observed.secrets.missing, observed.own
    return RolloutInputs(
        now=observed.now.replace(microsecond=0),
        revision=app.revision,
        members=members,
        policy=spec.rollout,
        fleets=there,
        evidence=evidence(own.pods_by_revision(), observed.reports or {}, spec),
        refuse_alike=_refuse_alike(own, app, observed.resource.record),
        shadow=shadow,
        lag=group_lag(observed.lag),
        promote=observed.annotation(PROMOTE),
        abort=observed.annotation(ABORT),
        retry=observed.annotation(RETRY),
        paused=paused,
        blocked=f"missing: {', '.join(missing)}" if missing else "",
        refused="; ".join(why.about(one) for one, why in sorted(observed.refusals.items(), key=itemgetter(0))),
        unattended=observed.is_unattended,
        deleting=observed.is_being_deleted,
    )


def _refuse_alike(own: OwnObjects, app: Application, record: RolloutRecord | None) -> bool:
    if record is None or record.candidate is None:
        return False
    candidate = app if record.candidate == app.revision else stored(own, app, record.candidate)
    stable = stored(own, app, record.stable)
    return candidate is not None and stable is not None and quarantined_records.refuse_alike(candidate, stable)


def _secrets_digest(own: OwnObjects, revision: str) -> str:
    stateful_set = own.stateful_sets().get(revision)
    return "" if stateful_set is None else stateful_set.template_annotations.get(SECRETS_ANNOTATION, "")
