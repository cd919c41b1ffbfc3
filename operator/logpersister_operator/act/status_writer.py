"""Writes statuses: at once what people wait for, the rest now and then, and nothing when nothing has changed."""

import copy
import threading
from collections.abc import Callable
from typing import Any, Final

from logpersister_operator.cluster.client import Cluster, ClusterError
from logpersister_operator.cluster.kinds import LOGPERSISTER, Document
from logpersister_operator.metrics import Metrics

PAUSE_SECONDS: Final = 15.0
"""Least time between two writes that only tell new numbers."""
_REFUSALS: Final = frozenset({400, 422})
_BROKEN: Final = 500
_OF_THE_SCHEMA: Final = "not declared in schema"
"""What the API server says, with status 500, when a field is applied that it does not know."""


class StatusRefusedError(ClusterError):
    """The API server does not take a status as we write it: it knows an older definition of LogPersister."""


class StatusWriter:
    """Remembers what was written last, by the uid of the resource."""

    def __init__(self, cluster: Cluster, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._clock = clock
        self._written: dict[str, tuple[Document, float]] = {}
        self._lock = threading.Lock()

    def latest(self, resource: Document) -> Document:
        """Return what was written last, else what the resource has."""
        with self._lock:
            written = self._written.get(resource["metadata"]["uid"])
        status: Document = (resource.get("status") or {}) if written is None else written[0]
        return status

    def write(self, resource: Document, status: Document) -> float | None:
        """Write the status if that is due; return in how many seconds it will be, None when there is nothing to write.

        Raises StatusRefusedError, and ClusterError for what may pass.
        """
        uid = resource["metadata"]["uid"]
        with self._lock:
            written = self._written.get(uid)
        before, written_at = written or (resource.get("status") or {}, float("-inf"))
        if status == before:
            return None
        due = written_at + PAUSE_SECONDS - self._clock()
        if due > 0 and _essence(status) == _essence(before):
            return due
        self._apply(resource, status)
        self._metrics.status_written()
        with self._lock:
            self._written[uid] = (copy.deepcopy(status), self._clock())
        return None

    def _apply(self, resource: Document, status: Document) -> None:
        document = {
            "apiVersion": LOGPERSISTER.api_version,
            "kind": LOGPERSISTER.name,
            "metadata": {name: resource["metadata"][name] for name in ("name", "namespace", "uid")},
            "status": status,
        }
        try:
            self._cluster.apply_status(document)
        except ClusterError as error:
            if error.status not in _REFUSALS and not (error.status == _BROKEN and _OF_THE_SCHEMA in str(error)):
                raise
            self._metrics.status_refused()
            raise StatusRefusedError(
                f"{error}; if the operator is newer than the definition of LogPersister, apply that of its version",
                error.status,
            ) from error

    def forget(self, resource: Document) -> None:
        """Forget a resource that is gone."""
        with self._lock:
            self._written.pop(resource["metadata"]["uid"], None)


def _essence(status: Document) -> Any:
    """Return what changes only when something happens: verdicts and what was done about them, not numbers."""
    verdicts = [(one["type"], one["status"], one["reason"]) for one in status.get("conditions", [])]
    members = status.get("members") or {}
    return (
        verdicts,
        [
            status.get(name)
            for name in ("observedGeneration", "generation", "revision", "groupId", "autoscale", "rollout", "restarts")
        ],
        [members.get(name) for name in ("desired", "ready")],
    )
