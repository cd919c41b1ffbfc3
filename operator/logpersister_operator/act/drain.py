"""The end of a resource: members leave in order, the group forgets them; data and committed offsets stay."""

import time
from collections.abc import Callable, Collection
from typing import Final

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act.departures import remove_members
from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import STATEFUL_SET
from logpersister_operator.decide.health.departed_members import members_of, reported_names
from logpersister_operator.decide.health.group_sharing import own_names
from logpersister_operator.decide.validity import check
from logpersister_operator.observe.children import NotListedError, RefusedError
from logpersister_operator.observed_objects import Pod, StatefulSet
from logpersister_operator.observed_state import ObservedState
from logpersister_operator.render.application import SHADOW
from logpersister_operator.render.instance_ids import instance_id
from logpersister_operator.render.ownership import COMPONENT_LABEL

log = structlog.get_logger(__name__)

MARGIN_SECONDS: Final = 60.0
"""How much longer than its members' own time to stop a drain may take, before it is given up."""


class Drain:
    """Deletes the members of a resource, waits until their pods are gone, and takes their names out of the group.

    What is left after the time is up, the garbage collector of Kubernetes removes with the resource, and the group
    forgets members when their sessions end. Steps are short except for the last one, which asks Kafka.
    """

    def __init__(
        self,
        cluster: Cluster,
        observe: Callable[[], ObservedState],
        secrets: Callable[[LogPersister], Secrets],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin the time that it may take.

        Args:
            cluster: where the members are.
            observe: returns what is there; raises NotListedError when that is not known yet, RefusedError when the API
                server does not tell.
            secrets: reads the Secrets of a manifest; raises ClusterError.
            clock: monotonic seconds.
        """
        self._cluster = cluster
        self._observe = observe
        self._secrets = secrets
        self._clock = clock
        self._began = clock()
        self._names: set[str] = set()
        """Pods of all members that were seen."""

    def step(self) -> bool:
        """Do what can be done now; return whether this is the end, because everything is gone or the time is up."""
        try:
            observed = self._observe()
        except RefusedError as error:  # as when the namespace is deleted, and the rights in it are gone before the rest
            log.warning("drain.refused", error=str(error))
            return True
        except NotListedError:
            return self._is_late(MARGIN_SECONDS)
        resource = check(observed).runs
        ours, pods = _members(observed)
        members = [one for one in ours if one.labels.get(COMPONENT_LABEL) != SHADOW]
        self._names |= {pod.name for pod in pods} | members_of(members) | reported_names(observed.status)
        for one in ours:
            self._delete(one)
        if not ours and not pods:
            uid = observed.resource.uid
            ids = [*own_names(self._names, observed.rivals), *(instance_id(pod, uid) for pod in self._names)]
            self._leave(resource, ids)
            return True
        grace = 0.0 if resource is None else resource.spec.shutdown_grace.total_seconds()
        if self._is_late(grace + MARGIN_SECONDS):
            log.warning("drain.given_up", resource=str(observed.key), pods=[pod.name for pod in pods])
            return True
        return False

    def _is_late(self, seconds: float) -> bool:
        return self._clock() - self._began > seconds

    def _delete(self, stateful_set: StatefulSet) -> None:
        try:
            self._cluster.delete(STATEFUL_SET, stateful_set.namespace, stateful_set.name, uid=stateful_set.uid)
        except ClusterError as error:
            log.warning("drain.delete_failed", name=stateful_set.name, error=str(error))

    def _leave(self, resource: LogPersister | None, ids: Collection[str]) -> None:
        """Remove static members: otherwise their partitions would wait for the session to time out."""
        if resource is None or not ids:
            return
        try:
            remove_members(resource, self._secrets(resource), ids, "the resource was deleted")
        except Exception as error:  # noqa: BLE001 - a broker that is away must not keep a resource from being deleted
            log.warning("drain.members_not_removed", group=resource.group_id, error=repr(error))


def _members(observed: ObservedState) -> tuple[list[StatefulSet], list[Pod]]:
    """Return StatefulSets and pods of the resource, but not those of another one of the same name that came after."""
    uid = observed.resource.uid
    sets = [one for one in observed.children.values() if isinstance(one, StatefulSet)]
    theirs = [one.uid for one in sets if not one.is_owned_by(uid)]
    ours = [one for one in sets if one.is_owned_by(uid) and not one.is_leaving]
    return ours, [pod for pod in observed.own.pods() if not any(pod.is_owned_by(other) for other in theirs)]
