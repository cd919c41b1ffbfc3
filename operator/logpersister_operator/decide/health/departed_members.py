"""Members that left for good and still have a place in the group. Pure.

A member is a static one: when its pod goes, the group keeps its place until the session times out, so that a restart
moves nothing. Of a member that will not come back the partitions would wait for that in vain.
"""

import re
from collections.abc import Collection, Iterable

from logpersister.group.answers import GroupDescription
from logpersister_operator.crd.status import Status
from logpersister_operator.observed_objects import StatefulSet
from logpersister_operator.observed_state import OwnObjects
from logpersister_operator.render import instance_ids


def known_names(
    before: Iterable[str], own: OwnObjects, status: Status, group: GroupDescription | None
) -> frozenset[str]:
    """Return the pods of all members that were seen to be this resource's, as long as the group may know them.

    A member that is called after its pod only may be that of a resource of the same name in another namespace.
    """
    kept = set(before)
    if group is not None:
        kept &= {instance_ids.pod_of(one, own.owner) for one in _static(group)}
    return frozenset(kept | {pod.name for pod in own.pods()} | reported_names(status))


def departed(resource: str, own: OwnObjects, group: GroupDescription | None, known: Collection[str]) -> tuple[str, ...]:
    """Return the names in the group of those members that neither have a pod nor will have one.

    Args:
        known: pods that are known to be ours, for members that are called after their pod only.
    """
    pods = {pod.name for pod in own.pods()}  # those that are on their way out still commit
    staying = pods | members_of(own.stateful_sets().values())
    pattern = re.compile(rf"{re.escape(resource)}-[0-9a-f]{{12}}-[0-9]+")

    def is_gone(name: str) -> bool:
        pod = instance_ids.pod_of(name, own.owner)
        is_ours = instance_ids.is_of(name, own.owner) or pod in known
        return is_ours and pod not in staying and pattern.fullmatch(pod) is not None

    return () if group is None else tuple(sorted(filter(is_gone, _static(group))))


def _static(group: GroupDescription) -> set[str]:
    return {member.name for member in group.members if member.is_static}


def reported_names(status: Status) -> set[str]:
    """Return the members of the last status: their pods may be gone since no operator looked."""
    members = status.members
    return set() if members is None else {member.name for member in members.list}


def members_of(stateful_sets: Iterable[StatefulSet]) -> set[str]:
    """Return the names of the members that StatefulSets shall have, whether or not their pods are seen."""
    return {name for one in stateful_sets for name in member_names(one.name, one.replicas)}


def member_names(stateful_set: str, replicas: int) -> list[str]:
    """Return the names of the pods that a StatefulSet makes."""
    return [f"{stateful_set}-{number}" for number in range(replicas)]
