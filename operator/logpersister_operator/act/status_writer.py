"""Writes statuses: at once what people wait for, the rest now and then, and nothing when nothing has changed."""

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.metrics import Metrics

PAUSE_SECONDS: Final = 15.0
"""Least time between two writes of which only numbers are new, of one resource."""
MOST_A_SECOND: Final = 10.0
"""How many such writes there are for all resources together: each also wakes whoever watches them."""
_CONFLICT: Final = 409
_REFUSALS: Final = frozenset({400, 422})
_BROKEN: Final = 500
_OF_THE_SCHEMA: Final = "not declared in schema"
"""What the API server says, with status 500, when a field is applied that it does not know."""


def pause_seconds(resources: int) -> float:
    """Return the least time between two writes of which only numbers are new, when so many resources have a status."""
    return max(PAUSE_SECONDS, resources / MOST_A_SECOND)


class StatusRefusedError(ClusterError):
    """The API server does not take a status as we write it: it knows an older definition of the kind."""


class StatusOutdatedError(ClusterError):
    """The resource has changed since that status was decided: another operator may have taken its rollout further."""


@dataclass(frozen=True, slots=True)
class _Written:
    status: Document
    at: float
    version: int
    """Version of the resource after the write."""


class StatusWriter:
    """Remembers what was written last, by the uid of the resource.

    The status is also the record of what is going on, and a write replaces all of it. So each write is about the
    version of the resource that it was decided from, and fails when there is a newer one.
    """

    def __init__(self, cluster: Cluster, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._clock = clock
        self._written: dict[str, _Written] = {}
        self._lock = threading.Lock()

    def latest(self, resource: Document) -> Document:
        """Return what was written last, unless the resource is newer."""
        written = self._last(resource)
        status: Document = resource.get("status") or {}
        return status if written is None or written.version < _version(resource) else written.status

    def write(self, resource: Document, status: Document) -> float | None:
        """Write the status if that is due; return in how many seconds it will be, None when there is nothing to write.

        Raises StatusOutdatedError, StatusRefusedError, and ClusterError for what may pass.
        """
        written, before = self._last(resource), self.latest(resource)
        if status == before:
            return None
        due = 0.0 if written is None else written.at + pause_seconds(len(self._written)) - self._clock()
        if due > 0 and _essence(status) == _essence(before):
            return due
        version = max(_version(resource), 0 if written is None else written.version)
        made = self._apply(resource, status, version)
        self._metrics.status_writes.inc()
        with self._lock:
            self._written[resource["metadata"]["uid"]] = _Written(copy.deepcopy(status), self._clock(), _version(made))
        return None

    def _last(self, resource: Document) -> _Written | None:
        with self._lock:
            return self._written.get(resource["metadata"]["uid"])

    def _apply(self, resource: Document, status: Document, version: int) -> Document:
        same = {name: resource["metadata"][name] for name in ("name", "namespace", "uid")}
        document = {
            "apiVersion": resource["apiVersion"],
            "kind": resource["kind"],
            "metadata": same | {"resourceVersion": str(version)},
            "status": status,
        }
        try:
            return self._cluster.apply_status(document)
        except ClusterError as error:
            if error.status == _CONFLICT:
                raise StatusOutdatedError(str(error), error.status) from error
            if error.status not in _REFUSALS and not (error.status == _BROKEN and _OF_THE_SCHEMA in str(error)):
                raise
            self._metrics.status_refusals.inc()
            raise StatusRefusedError(
                f"{error}; if the CRD is older than the operator, apply the CRD of the operator's version",
                error.status,
            ) from error

    def forget(self, uid: str) -> None:
        """Forget what was written for a resource, which is gone or has changed."""
        with self._lock:
            self._written.pop(uid, None)


def _version(resource: Document) -> int:
    """Return the resource version as a number: the API server lets one compare those of one object."""
    return int(resource["metadata"]["resourceVersion"])


def _essence(status: Document) -> Any:
    """Return what changes only when something happens: verdicts and what was done about them, not numbers."""
    verdicts = [(one["type"], one["status"], one["reason"]) for one in status.get("conditions", [])]
    processes = status.get("members") or status.get("replicas") or {}
    return (
        verdicts,
        [
            status.get(name)
            for name in ("observedGeneration", "generation", "revision", "groupId", "autoscale", "rollout", "restarts")
        ],
        [processes.get(name) for name in ("desired", "ready")],
    )
