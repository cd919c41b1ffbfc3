"""The end of a FeedCollector: its replicas send what they have, within their ``shutdownGrace``."""

import time
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import STATEFUL_SET, Reference
from logpersister_operator.collectors.render import COLLECTOR
from logpersister_operator.observe.children import NotListedError, RefusedError
from logpersister_operator.observed_objects import Child, StatefulSet
from logpersister_operator.observed_state import pods_of

log = structlog.get_logger(__name__)

MARGIN_SECONDS: Final = 60.0
"""How much longer than its pods' own time to stop a drain may take, before it is given up."""


class CollectorDrain:
    """Deletes the StatefulSet and waits until its pods are gone, or until their time is up.

    What is left then, the garbage collector of Kubernetes removes with the resource.
    """

    def __init__(
        self,
        cluster: Cluster,
        children: Callable[[], Mapping[Reference, Child]],
        uid: str,
        grace_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin the time that it may take.

        Args:
            cluster: where the pods are.
            children: returns what is there; raises NotListedError when that is not known yet, RefusedError when the API
                server does not tell.
            uid: of the resource.
            grace_seconds: what pods may take to stop.
            clock: monotonic seconds.
        """
        self._cluster = cluster
        self._children = children
        self._uid = uid
        self._clock = clock
        self._ends = clock() + grace_seconds + MARGIN_SECONDS

    def step(self) -> bool:
        """Do what can be done now; return whether this is the end, because everything is gone or the time is up."""
        try:
            children = self._children()
        except RefusedError as error:  # as when the namespace is deleted, and the rights in it are gone before the rest
            log.warning("drain.refused", error=str(error))
            return True
        except NotListedError:
            return self._clock() > self._ends
        sets = [one for one in children.values() if isinstance(one, StatefulSet)]
        ours = [one for one in sets if one.is_owned_by(self._uid)]
        theirs = [one.uid for one in sets if one not in ours]
        for one in ours:
            self._delete(one)
        pods = [
            pod for pod in pods_of(children.values(), COLLECTOR) if not any(pod.is_owned_by(other) for other in theirs)
        ]
        if not ours and not pods:
            return True
        if self._clock() > self._ends:
            log.warning("drain.given_up", pods=[pod.name for pod in pods])
            return True
        return False

    def _delete(self, one: StatefulSet) -> None:
        if one.is_leaving:
            return
        try:
            self._cluster.delete(STATEFUL_SET, one.namespace, one.name, uid=one.uid)
        except ClusterError as error:
            log.warning("drain.delete_failed", name=one.name, error=str(error))
