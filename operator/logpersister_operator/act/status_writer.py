"""Writes statuses: at once what people wait for, the rest now and then, and nothing when nothing has changed."""

import copy
import threading
from collections.abc import Callable
from typing import Any, Final

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.kinds import LOGPERSISTER, Document
from logpersister_operator.metrics import Metrics

PAUSE_SECONDS: Final = 15.0
"""Least time between two writes that only tell new numbers."""


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

        Raises ClusterError.
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
        self._cluster.apply_status(
            {
                "apiVersion": LOGPERSISTER.api_version,
                "kind": LOGPERSISTER.name,
                "metadata": {name: resource["metadata"][name] for name in ("name", "namespace", "uid")},
                "status": status,
            }
        )
        self._metrics.status_written()
        with self._lock:
            self._written[uid] = (copy.deepcopy(status), self._clock())
        return None

    def forget(self, resource: Document) -> None:
        """Forget a resource that is gone."""
        with self._lock:
            self._written.pop(resource["metadata"]["uid"], None)


def _essence(status: Document) -> Any:
    """Return what changes only when something happens: verdicts, not numbers."""
    verdicts = [(one["type"], one["status"], one["reason"]) for one in status.get("conditions", [])]
    members = status.get("members") or {}
    return (
        verdicts,
        [status.get(name) for name in ("observedGeneration", "generation", "revision", "groupId")],
        [members.get(name) for name in ("desired", "ready")],
    )
