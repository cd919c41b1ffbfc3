"""The members of each revision, from StatefulSets and pods."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from logpersister.report.human import instant, plural
from logpersister_operator.decide.conditions import Obstacle
from logpersister_operator.decide.health.pod_failures import is_held_up, pod_failure
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_objects import Pod, StatefulSet
from logpersister_operator.observed_state import OwnObjects
from logpersister_operator.render.application import EXECUTOR, SHADOW
from logpersister_operator.rollout.fleet import Fleet

OUTSIDE: Final = frozenset({Reason.UNSCHEDULABLE, Reason.REFUSED, Reason.NODE_LOST})
"""What keeps a pod waiting that is not the fault of its revision: a rollout gives it time."""
LASTING: Final = timedelta(minutes=2)
"""How long none of the members of a revision may be ready before it is given up."""
LOST: Final = timedelta(seconds=60)
"""How long after its time to stop a pod counts: one that is still there has a node that does not answer."""
MOST_ASKED: Final = 2
"""Objects of each kind whose Events are asked for: those of others say the same."""


def fleets(own: OwnObjects, now: datetime, told: Mapping[str, str]) -> dict[str, Fleet]:
    """Return the members of every revision that has a StatefulSet or pods; ``told`` has the last warnings by uid."""
    sets, pods = own.stateful_sets(), own.pods_by_revision()
    return {one: fleet_of(sets.get(one), pods.get(one, []), now, told) for one in sorted({*sets, *pods})}


def fleet_of(stateful_set: StatefulSet | None, pods: Sequence[Pod], now: datetime, told: Mapping[str, str]) -> Fleet:
    """Return the members that a StatefulSet and its pods are; ``told`` has the last warnings by uid."""
    wanted = 0 if stateful_set is None else stateful_set.replicas
    there = [pod for pod in pods if not is_overdue(pod, now)]
    staying = [pod for pod in there if ordinal(pod) < wanted]
    if there or stateful_set is None:
        ready = sum(pod.is_ready for pod in staying)
    else:
        ready = min(wanted, ready_members(stateful_set))
    found = pod_failure(staying, now, told) or refused_pods(stateful_set, pods, told)
    unready = [pod.unready_since(now) for pod in staying]
    waits = found is not None and found.reason in OUTSIDE
    message = "" if found is None else found.message
    return Fleet(
        wanted,
        frozenset(ordinal(pod) for pod in there),
        ready,
        sick="" if waits else message,
        lasting=all(now - since >= LASTING for since in unready),
        waits=message if waits else "",
    )


def refused_pods(stateful_set: StatefulSet | None, pods: Sequence[Pod], told: Mapping[str, str]) -> Obstacle | None:
    """Return why pods of a StatefulSet are not made, in the words of the API server; None when they are."""
    if stateful_set is None or not lacks_pods(stateful_set, pods) or stateful_set.uid not in told:
        return None
    name, words = stateful_set.name, told[stateful_set.uid]
    return Obstacle(Reason.REFUSED, f"{len(pods)} of {plural(stateful_set.replicas, 'pod')} of {name}: {words}")


def lost_pods(stateful_set: StatefulSet | None, pods: Sequence[Pod], now: datetime) -> Obstacle | None:
    """Return which member cannot come back because its node does not say that its pod has ended, and what to do."""
    wanted = 0 if stateful_set is None else stateful_set.replicas
    lost = next((pod for pod in pods if ordinal(pod) < wanted and is_overdue(pod, now)), None)
    if lost is None or lost.deadline is None:
        return None
    taint = f"kubectl taint node {lost.node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    return Obstacle(
        Reason.NODE_LOST,
        f"pod {lost.name} should have ended by {instant(lost.deadline)}, and its node {lost.node} does not say that it "
        f"has: no pod of this name starts before; if the node is gone for good: {taint}, "
        f"or kubectl delete pod {lost.name} --force",
    )


def unexplained(own: OwnObjects) -> list[str]:
    """Return the uids of a few objects that wait without saying why: StatefulSets for pods, pods for containers."""
    of_members, of_shadows, executors = own.pods_by_revision(), own.pods(SHADOW), own.pods(EXECUTOR)
    lacking = [one.uid for name, one in own.stateful_sets().items() if lacks_pods(one, of_members.get(name, []))]
    lacking += [one.uid for one in own.shadows().values() if lacks_pods(one, of_shadows)]
    held_up = [pod.uid for pod in (*own.pods(), *of_shadows, *executors) if is_held_up(pod)]
    return [*lacking[:MOST_ASKED], *held_up[:MOST_ASKED]]


def lacks_pods(stateful_set: StatefulSet, pods: Sequence[Pod]) -> bool:
    """Whether a StatefulSet has fewer pods than it wants."""
    there = sum(ordinal(pod) < stateful_set.replicas for pod in pods)
    return max(there, ready_members(stateful_set)) < stateful_set.replicas


def ready_members(stateful_set: StatefulSet) -> int:
    """Return how many members are ready by what Kubernetes says of the present template; 0 while it is catching up."""
    if stateful_set.observed_generation < stateful_set.generation:
        return 0
    if stateful_set.update_revision != stateful_set.current_revision:
        return min(stateful_set.updated_replicas, stateful_set.ready_replicas)
    return stateful_set.ready_replicas


def ordinal(pod: Pod) -> int:
    """Return the number at the end of a pod's name."""
    number = pod.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def is_overdue(pod: Pod, now: datetime, by: timedelta = LOST) -> bool:
    """Whether a pod should have gone so long ago."""
    return pod.deadline is not None and now - pod.deadline > by
