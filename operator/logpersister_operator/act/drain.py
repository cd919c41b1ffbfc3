"""The end of a resource: its pods stop in order, and the group forgets its members; data and committed offsets stay."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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
from logpersister_operator.observed_objects import Child, Pod, StatefulSet
from logpersister_operator.observed_state import ObservedState
from logpersister_operator.render.application import SHADOW
from logpersister_operator.render.instance_ids import instance_id
from logpersister_operator.render.ownership import COMPONENT_LABEL

log = structlog.get_logger(__name__)

MARGIN_SECONDS: Final = 60.0
"""How much longer than its pods' own time to stop a drain may take, before it is given up."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a resource that is being deleted."""

    stateful_sets: Sequence[StatefulSet] = ()
    pods: Sequence[Pod] = ()
    grace_seconds: float = 0.0
    """The pods' own time to stop."""
    leave: Callable[[], None] = lambda: None
    """What is done once nothing is left."""

    @classmethod
    def of(cls, uid: str, children: Iterable[Child], pods: Iterable[Pod]) -> "Remains":
        """Return what is of the resource, and not of another one of the same name that came after."""
        sets = [one for one in children if isinstance(one, StatefulSet)]
        theirs = [one.uid for one in sets if not one.is_owned_by(uid)]
        ours = [one for one in sets if one.is_owned_by(uid) and not one.is_leaving]
        return cls(ours, [pod for pod in pods if not any(pod.is_owned_by(other) for other in theirs)])


class Drain:
    """Deletes the StatefulSets of a resource, and waits until its pods are gone or their time is up.

    What is left then, the garbage collector of Kubernetes removes with the resource, and the group forgets members
    when their sessions end. Steps are short except for the last one, which may ask Kafka.
    """

    def __init__(
        self, cluster: Cluster, look: Callable[[], Remains], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin the time that it may take.

        Args:
            cluster: where the pods are.
            look: returns what is left; raises NotListedError when that is not known yet, RefusedError when the API
                server does not tell.
            clock: monotonic seconds.
        """
        self._cluster = cluster
        self._look = look
        self._clock = clock
        self._began = clock()

    def step(self) -> bool:
        """Do what can be done now; return whether this is the end, because everything is gone or the time is up."""
        try:
            found = self._look()
        except RefusedError as error:  # as when the namespace is deleted, and the rights in it are gone before the rest
            log.warning("drain.refused", error=str(error))
            return True
        except NotListedError:
            return self._is_late(MARGIN_SECONDS)
        for one in found.stateful_sets:
            self._delete(one)
        if not found.stateful_sets and not found.pods:
            found.leave()
            return True
        if self._is_late(found.grace_seconds + MARGIN_SECONDS):
            log.warning("drain.given_up", pods=[pod.name for pod in found.pods])
            return True
        return False

    def _is_late(self, seconds: float) -> bool:
        return self._clock() - self._began > seconds

    def _delete(self, stateful_set: StatefulSet) -> None:
        try:
            self._cluster.delete(STATEFUL_SET, stateful_set.namespace, stateful_set.name, uid=stateful_set.uid)
        except ClusterError as error:
            log.warning("drain.delete_failed", name=stateful_set.name, error=str(error))


class LeavingMembers:
    """The members of a LogPersister that is being deleted: in the end their names are taken out of the group."""

    def __init__(self, observe: Callable[[], ObservedState], secrets: Callable[[LogPersister], Secrets]) -> None:
        """Begin; ``observe`` is as in `Drain`, ``secrets`` reads those of a manifest and raises ClusterError."""
        self._observe = observe
        self._secrets = secrets
        self._names: set[str] = set()
        """Pods of all members that were seen."""

    def look(self) -> Remains:
        """Return what is left, for `Drain`."""
        observed = self._observe()
        resource, uid = check(observed).runs, observed.resource.uid
        found = Remains.of(uid, observed.children.values(), observed.own.pods())
        members = [one for one in found.stateful_sets if one.labels.get(COMPONENT_LABEL) != SHADOW]
        self._names |= {pod.name for pod in found.pods} | members_of(members) | reported_names(observed.status)
        if resource is None:
            return found
        ids = [*own_names(self._names, observed.rivals), *(instance_id(pod, uid) for pod in self._names)]
        grace = resource.spec.shutdown_grace.total_seconds()
        return Remains(found.stateful_sets, found.pods, grace, partial(self._leave, resource, ids))

    def _leave(self, resource: LogPersister, ids: Collection[str]) -> None:
        """Remove static members: otherwise their partitions would wait for the session to time out."""
        if not ids:
            return
        try:
            remove_members(resource, self._secrets(resource), ids, "the resource was deleted")
        except Exception as error:  # noqa: BLE001 - a broker that is away must not keep a resource from being deleted
            log.warning("drain.members_not_removed", group=resource.group_id, error=repr(error))
