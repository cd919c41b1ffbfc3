"""The rollout of one resource: what is observed as the state machine wants it, and what it asks for as children."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from typing import Final

from logpersister.manifest.rollout import PROMOTE
from logpersister_operator.crd.status_rollout import (
    Rollout,
    ShadowState,
    record_of,
    rollout_of,
)
from logpersister_operator.decide.conditions import Verdict
from logpersister_operator.decide.health import quarantined_records
from logpersister_operator.decide.health.observed_fleets import fleets
from logpersister_operator.decide.health.pod_failures import Ailment, ailment
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.revisions import observed_shadow
from logpersister_operator.decide.revisions.observed_evidence import evidence, group_lag
from logpersister_operator.decide.scaling import member_count
from logpersister_operator.decide.scaling.autoscaler import Scaling
from logpersister_operator.decide.validity import manifest_of
from logpersister_operator.observed_state import Observed
from logpersister_operator.plan import Event
from logpersister_operator.render.application import REVISION_LABEL, Application, secret_names
from logpersister_operator.render.pod import SECRETS_ANNOTATION
from logpersister_operator.render.workload import IMAGE_ANNOTATION
from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.policy import Policy
from logpersister_operator.rollout.record import Record
from logpersister_operator.rollout.step import Outcome, step
from logpersister_operator.rollout.transitions import ONGOING, Phase
from logpersister_operator.rollout.words import failure_message, message

LOOK: Final = timedelta(seconds=15)
"""How often the words about a rollout are brought up to date."""


_REASONS: Final = {
    Phase.SHADOWING: Reason.COMPARING_SHADOW,
    Phase.CANARY: Reason.TRYING_CANARY,
    Phase.ROLLING: Reason.ROLLING_OUT,
    Phase.WAITING: Reason.WAITING_FOR_PROMOTION,
    Phase.RECREATING: Reason.RECREATING,
    Phase.RETURNING: Reason.ROLLING_BACK,
}


@dataclass(frozen=True, slots=True)
class Rolling:
    """What the state machine found and wants."""

    outcome: Outcome
    situation: Situation
    app: Application
    """What the spec describes."""
    lead: Application
    """What all children but the members of other revisions are made from: what runs, or is on its way to."""
    sick: Ailment | None = None
    """What ails a member of it."""
    scaling: Scaling | None = None
    """How many members the lag asks for; None when the spec says how many."""
    shadow: ShadowState | None = None
    """What is told of the shadow."""
    generation: int | None = None
    """The one that members write."""

    @property
    def ready(self) -> int:
        """Members that are ready, of whatever revision."""
        return sum(fleet.ready for fleet in self.situation.fleets.values())

    @property
    def is_alone(self) -> bool:
        """Whether no other revision than that of the spec has members."""
        return self.lead is self.app and all(
            fleet.is_gone for revision, fleet in self.situation.fleets.items() if revision != self.app.revision
        )

    @property
    def is_calm(self) -> bool:
        """Whether no member is on its way in or out; a rollout may wait for somebody, or for its shadow."""
        return self.outcome.record.phase in (Phase.STEADY, Phase.SHADOWING, Phase.WAITING, Phase.HALTED)

    @property
    def doing(self) -> tuple[Reason, str] | None:
        """What is going on, as a reason and in words; None when nothing is rolled out."""
        record = self.outcome.record
        reason = _REASONS.get(record.phase)
        return None if reason is None else (reason, message(record, self.situation))

    @property
    def failure(self) -> Ailment | None:
        """Why the revision of the spec has no members, and what to do."""
        record = self.outcome.record
        if record.phase is not Phase.HALTED:
            return None
        failure = record.failure_of(self.app.revision, self.situation.policy.attempt)
        if failure is None:
            return None
        return Ailment(Reason.ROLLOUT_FAILED, failure_message(record, failure, self.situation))

    @property
    def ailment(self) -> Ailment | None:
        """What ails members; what ails those that are being tried, the rollout itself deals with."""
        if self.outcome.record.phase in ONGOING:
            return None
        return self.sick

    @property
    def again_seconds(self) -> float | None:
        """When to look again though nothing changes."""
        if self.outcome.record.frozen:
            return None
        again = member_count.again(self.situation.now, self.scaling)
        now, look = self.situation.now, self.outcome.look
        waits = [look - now] if look is not None else []
        if self.outcome.record.phase in ONGOING:
            waits.append(LOOK)
        if again is not None:
            waits.append(again)
        return min((wait.total_seconds() for wait in waits), default=None)

    def events(self) -> list[Event]:
        news = [Event(one.reason, one.message, one.warning) for one in self.outcome.news]
        return [*news, *member_count.events(self.scaling)]

    def autoscaling(self, observed: Observed) -> list[Verdict]:
        """Return the condition of a resource whose members follow the lag."""
        return member_count.verdicts(observed, self.app.resource.spec, self.scaling)

    def rollout(self) -> Rollout:
        return rollout_of(self.outcome.record, self.shadow)


def roll(observed: Observed, app: Application, *, paused: bool) -> Rolling:
    """Take the next step towards what the spec describes."""
    record, there = record_of(observed.status), fleets(observed)
    scaled = member_count.scale(observed, app.resource.spec, app.revision, record, there, paused=paused)
    members = app.resource.spec.members if scaled is None else scaled.members
    situation = _situation(observed, app, record, there, members, paused=paused)
    outcome = step(record, situation)
    leads = outcome.record.leads
    lead = app if leads in (None, app.revision) else stored(observed, app, leads)
    lead = lead or app
    others = observed.stateful_sets().keys() - {lead.revision}
    pods = [pod for pod in observed.pods() if pod["metadata"]["labels"].get(REVISION_LABEL) not in others]
    sick, shadow = ailment(pods, observed.now), observed_shadow.state(observed, app, outcome.record)
    generation = observed_shadow.generation(observed, lead, outcome.record)
    return Rolling(outcome, situation, app, lead, sick, scaled, shadow, generation)


def stored(observed: Observed, app: Application, revision: str | None) -> Application | None:
    """Rebuild another revision from its ConfigMap; None when that does not give the same revision.

    What makes no revision and only we read is as in the present spec, but for its pods: those have proven themselves.
    """
    config_map = observed.config_maps().get(revision or "")
    manifest = None if config_map is None else manifest_of(config_map)
    if config_map is None or manifest is None:
        return None
    now = app.resource.spec
    kept = {
        name: getattr(now, name)
        for name in ("auto_repair", "autoscale", "members", "network_policy", "rollout", "target_lag")
    }
    spec = manifest.spec.model_copy(update=kept)
    image = (config_map["metadata"].get("annotations") or {}).get(IMAGE_ANNOTATION, "")
    same_secrets = secret_names(spec) == secret_names(now)
    found = Application.of(
        manifest.model_copy(update={"spec": spec}),
        namespace=app.namespace,
        uid=app.uid,
        image=image,
        secrets_digest=app.secrets_digest if same_secrets else _secrets_digest(observed, revision or ""),
    )
    return found if found.revision == revision else None


def _situation(
    observed: Observed,
    app: Application,
    record: Record | None,
    there: Mapping[str, Fleet],
    members: int,
    *,
    paused: bool,
) -> Situation:
    spec, missing = app.resource.spec, observed.secrets.missing
    return Situation(
        now=observed.now.replace(microsecond=0),
        revision=app.revision,
        members=members,
        policy=Policy.of(spec.rollout),
        fleets=there,
        evidence=evidence(observed, spec),
        refuse_alike=_refuse_alike(observed, app, record),
        shadow=observed_shadow.shadow(observed, app, record),
        lag=group_lag(observed),
        promote=observed.annotation(PROMOTE),
        paused=paused,
        blocked=f"missing: {', '.join(missing)}" if missing else "",
        refused="; ".join(
            str(why) if why.taken else f"the API server refuses {one}: {why}"
            for one, why in sorted(observed.refusals.items(), key=itemgetter(0))
        ),
        deleting=observed.is_being_deleted,
    )


def _refuse_alike(observed: Observed, app: Application, record: Record | None) -> bool:
    """Whether it is known that the revision which is let in refuses the same records as the stable one."""
    if record is None or record.candidate is None:
        return False
    candidate = app if record.candidate == app.revision else stored(observed, app, record.candidate)
    stable = stored(observed, app, record.stable)
    return candidate is not None and stable is not None and quarantined_records.refuse_alike(candidate, stable)


def _secrets_digest(observed: Observed, revision: str) -> str:
    stateful_set = observed.stateful_sets().get(revision)
    if stateful_set is None:
        return ""
    metadata = stateful_set["spec"]["template"]["metadata"]
    return str((metadata.get("annotations") or {}).get(SECRETS_ANNOTATION, ""))
