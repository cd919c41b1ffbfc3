"""Children that there shall be, that only change their size, and that are no longer needed."""

from collections.abc import Sequence

from logpersister_operator.cluster.kinds import (
    CHILDREN,
    CONFIG_MAP,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    Document,
    Reference,
)
from logpersister_operator.decide.health.departed_members import member_names
from logpersister_operator.decide.revisions import observed_shadow
from logpersister_operator.decide.revisions.rollout_plan import RolloutPlan, stored
from logpersister_operator.observed_objects import Child, StatefulSet
from logpersister_operator.observed_state import OwnObjects
from logpersister_operator.plan import Scale
from logpersister_operator.render.accounts import driver_role, service_accounts
from logpersister_operator.render.application import MEMBER, SHADOW, Application
from logpersister_operator.render.network import headless_service, network_policy
from logpersister_operator.render.workload import RESTART_ANNOTATION, config_map, disruption_budget, stateful_set
from logpersister_operator.rollout.transitions import Phase

_OF_MEMBERS = (SERVICE_ACCOUNT, ROLE, ROLE_BINDING)
"""Kinds without which members that run cannot go on."""


def wanted(own: OwnObjects, rollout: RolloutPlan, restart: str, *, executors: bool) -> list[Document]:
    """Return everything that shall be there, in the order in which it is needed, except for what is only scaled.

    Args:
        restart: with another value members are restarted; empty leaves those that run.
    """
    lead, step = rollout.lead, rollout.step
    policy = lead.resource.spec.network_policy
    joins = step.record.phase is not Phase.SHADOWING or not rollout.inputs.fleet(lead.revision).is_gone
    made = joins and not rollout.has_other_pods
    return [
        *service_accounts(lead),
        *(driver_role(lead) if executors else []),
        *([config_map(lead)] if made else []),
        headless_service(lead.owner, lead.members_name, MEMBER),
        *([] if policy == "None" else [network_policy(lead.owner, lead.members_name)]),
        disruption_budget(lead.owner, lead.members_name, MEMBER),
        *([_members(own, lead, step.members.get(lead.revision, 0), restart)] if made else []),
        *_restored(own, rollout, restart),
        *observed_shadow.children(rollout.shadow_deployment, own, step.record.stable, step.shadow),
    ]


def scaled(own: OwnObjects, rollout: RolloutPlan, restart: str) -> list[Scale]:
    """Return the StatefulSets whose number of members changes, or whose members restart, and nothing else of them.

    These are all but the leading one, and that one as well if it has pods as another operator makes them: the template
    of this one would replace all that are there.
    """
    found, lead = [], rollout.lead.revision
    for revision, one in own.stateful_sets().items():
        number = rollout.step.members.get(revision)
        if number is None or (revision == lead and not rollout.has_other_pods):
            continue
        again = restart if revision == lead and restart != _restarted(one) else ""
        if again or number != one.replicas:
            found.append(Scale(one, number, again))
    return found


def coming(apply: Sequence[Document], scale: Sequence[Scale]) -> set[str]:
    """Return the members that there shall be, by name."""
    made = {one["metadata"]["name"]: one["spec"]["replicas"] for one in apply if one["kind"] == STATEFUL_SET.name}
    changed = {one.stateful_set.name: one.members for one in scale}
    return {name for stateful_set, members in (made | changed).items() for name in member_names(stateful_set, members)}


def surplus(own: OwnObjects, rollout: RolloutPlan, needed: Sequence[Document]) -> list[Child]:
    """Return our children that nothing needs any more: those of a revision go with its last pod."""
    keep = {Reference.of(child) for child in needed}
    fleets, members = rollout.inputs.fleets, rollout.step.members
    there = {revision for revision, fleet in fleets.items() if not fleet.is_gone or members.get(revision)}
    if rollout.has_other_pods:
        there.add(rollout.lead.revision)
    for revision in there:
        name = f"{rollout.app.name}-{revision}"
        keep |= {Reference(STATEFUL_SET.name, name), Reference(CONFIG_MAP.name, name)}
    alone = there <= {rollout.lead.revision} and not own.pods(SHADOW)
    kinds = [kind for kind in reversed(CHILDREN) if alone or kind not in _OF_MEMBERS]
    ours = (child for kind in kinds for child in own.of_kind(kind))
    return [child for child in ours if child.reference not in keep]


def _members(own: OwnObjects, app: Application, members: int, restart: str) -> Document:
    """Return the StatefulSet of a revision. Without the annotation its pods keep what restarted them last."""
    there = own.stateful_sets().get(app.revision)
    return stateful_set(app, members, restart or ("" if there is None else _restarted(there)))


def _restarted(one: StatefulSet) -> str:
    return one.template_annotations.get(RESTART_ANNOTATION, "")


def _restored(own: OwnObjects, rollout: RolloutPlan, restart: str) -> list[Document]:
    """Return the children of the stable revision that somebody deleted during a rollout."""
    stable: Application | None = None
    revision = rollout.step.record.stable
    number = rollout.step.members.get(revision or "", 0)
    if revision != rollout.lead.revision and number and revision not in own.stateful_sets():
        stable = stored(own, rollout.app, revision)
    if stable is None:
        return []
    return [config_map(stable), stateful_set(stable, number, restart)]
