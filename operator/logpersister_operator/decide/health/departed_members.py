"""Members that left for good and still have a place in the group. Pure.

A member is a static one: when its pod goes, the group keeps its place until the session times out, so that a restart
moves nothing. Of a member that will not come back the partitions would wait for that in vain.
"""

import re
from collections.abc import Iterable

from logpersister_operator.observed_objects import StatefulSet
from logpersister_operator.observed_state import KnownLag, ObservedState
from logpersister_operator.render import instance_ids


def known_names(before: Iterable[str], observed: ObservedState) -> frozenset[str]:
    """Return the pods of all members that were seen to be this resource's, as long as the group may know them.

    A member that is called after its pod only may be that of a resource of the same name in another namespace.
    """
    present = {pod.name for pod in observed.pods()}
    in_group = _in_group(observed)
    uid = observed.resource.uid
    kept = set(before) if in_group is None else {instance_ids.pod_of(one, uid) for one in in_group}.intersection(before)
    return frozenset(kept | present | reported_names(observed))


def departed(observed: ObservedState, coming: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names in the group of those members that neither have a pod nor will have one.

    Args:
        observed: with the pods that are known to be ours, for members that are called after their pod only.
        coming: members that shall be there: a StatefulSet that grows brings some back.
    """
    in_group = _in_group(observed)
    if not in_group:
        return ()
    pods = {pod.name for pod in observed.pods()}  # those that are on their way out still commit
    staying = {*pods, *members_of(observed.stateful_sets().values()), *coming}
    uid = observed.resource.uid
    pattern = re.compile(rf"{re.escape(observed.key.name)}-[0-9a-f]{{12}}-[0-9]+")

    def is_gone(name: str) -> bool:
        pod = instance_ids.pod_of(name, uid)
        is_ours = instance_ids.is_of(name, uid) or pod in observed.names
        return is_ours and pod not in staying and pattern.fullmatch(pod) is not None

    return tuple(sorted(filter(is_gone, in_group)))


def _in_group(observed: ObservedState) -> set[str] | None:
    """Return the static members of the group; None when it could not be asked."""
    group = observed.lag.group if isinstance(observed.lag, KnownLag) else None
    return None if group is None else {member.name for member in group.members if member.is_static}


def reported_names(observed: ObservedState) -> set[str]:
    """Return the members of the last status: their pods may be gone since no operator looked."""
    members = observed.status.members
    return set() if members is None else {member.name for member in members.list}


def members_of(stateful_sets: Iterable[StatefulSet]) -> set[str]:
    """Return the names of the members that StatefulSets shall have, whether or not their pods are seen."""
    return {name for one in stateful_sets for name in member_names(one.name, one.replicas)}


def member_names(stateful_set: str, replicas: int) -> list[str]:
    """Return the names of the pods that a StatefulSet makes."""
    return [f"{stateful_set}-{number}" for number in range(replicas)]
