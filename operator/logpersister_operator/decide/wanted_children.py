"""Which children there shall be, which only change their size, and which are no longer needed."""

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
from logpersister_operator.observed_objects import Child
from logpersister_operator.observed_state import ObservedState
from logpersister_operator.plan import Scale
from logpersister_operator.render.accounts import driver_role, service_accounts
from logpersister_operator.render.application import SHADOW, Application
from logpersister_operator.render.network import headless_service, network_policy
from logpersister_operator.render.workload import RESTART_ANNOTATION, config_map, disruption_budget, stateful_set
from logpersister_operator.rollout.transitions import Phase

_OF_MEMBERS = (SERVICE_ACCOUNT, ROLE, ROLE_BINDING)
"""Kinds without which members that run cannot go on."""


def wanted(observed: ObservedState, rollout: RolloutPlan) -> list[Document]:
    """Return everything that shall be there, in the order in which it is needed, except for what is only scaled."""
    lead, members, restart = rollout.lead, rollout.step.members, observed.annotation(RESTART_ANNOTATION)
    joins = rollout.step.record.phase is not Phase.SHADOWING or not rollout.inputs.fleet(lead.revision).is_gone
    made = joins and not _has_other_pods(observed, lead)
    return [
        *service_accounts(lead),
        *(driver_role(lead) if observed.executors else []),
        *([config_map(lead)] if made else []),
        headless_service(lead),
        *network_policy(lead),
        disruption_budget(lead),
        *([stateful_set(lead, members.get(lead.revision, 0), restart)] if made else []),
        *_restored(observed, rollout),
        *observed_shadow.children(observed, rollout.app, rollout.step.record, rollout.step.shadow),
    ]


def scaled(observed: ObservedState, rollout: RolloutPlan) -> list[Scale]:
    """Return the StatefulSets whose number of members changes, of revisions of which nothing else does.

    These are all but the leading one, and that one as well if it has pods as another operator makes them: the template
    of this one would replace all that are there.
    """
    found = []
    made = None if _has_other_pods(observed, rollout.lead) else rollout.lead.revision
    for revision, one in observed.stateful_sets().items():
        number = rollout.step.members.get(revision)
        if revision != made and number is not None and number != one.replicas:
            found.append(Scale(one, number))
    return found


def coming(apply: Sequence[Document], scale: Sequence[Scale]) -> set[str]:
    """Return the members that there shall be, by name."""
    made = {one["metadata"]["name"]: one["spec"]["replicas"] for one in apply if one["kind"] == STATEFUL_SET.name}
    changed = {one.stateful_set.name: one.members for one in scale}
    return {name for stateful_set, members in (made | changed).items() for name in member_names(stateful_set, members)}


def surplus(observed: ObservedState, rollout: RolloutPlan, needed: Sequence[Document]) -> list[Child]:
    """Return our children that nothing needs any more: those of a revision go with its last pod."""
    keep = {Reference.of(child) for child in needed}
    fleets, members = rollout.inputs.fleets, rollout.step.members
    there = {revision for revision, fleet in fleets.items() if not fleet.is_gone or members.get(revision)}
    if _has_other_pods(observed, rollout.lead):
        there.add(rollout.lead.revision)
    for revision in there:
        name = f"{rollout.app.name}-{revision}"
        keep |= {Reference(STATEFUL_SET.name, name), Reference(CONFIG_MAP.name, name)}
    alone = there <= {rollout.lead.revision} and not observed.pods(SHADOW)
    kinds = [kind for kind in reversed(CHILDREN) if alone or kind not in _OF_MEMBERS]
    ours = (child for kind in kinds for child in observed.of_kind(kind))
    return [child for child in ours if child.reference not in keep]


def _has_other_pods(observed: ObservedState, app: Application) -> bool:
    """Whether an operator has made the pods of a revision that made others than this one."""
    return app.rendering != observed.rendering and app.revision in observed.stateful_sets()


def _restored(observed: ObservedState, rollout: RolloutPlan) -> list[Document]:
    """Return the children of the stable revision that somebody deleted during a rollout."""
    stable: Application | None = None
    revision = rollout.step.record.stable
    number = rollout.step.members.get(revision or "", 0)
    if revision != rollout.lead.revision and number and revision not in observed.stateful_sets():
        stable = stored(observed, rollout.app, revision)
    if stable is None:
        return []
    return [config_map(stable), stateful_set(stable, number, observed.annotation(RESTART_ANNOTATION))]
