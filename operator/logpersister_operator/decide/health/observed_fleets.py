"""The members of each revision, from StatefulSets and pods."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.health.pod_failures import is_ready, pod_failure, unready_since
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import ObservedState
from logpersister_operator.render.application import REVISION_LABEL
from logpersister_operator.rollout.fleet import Fleet

LASTING: Final = timedelta(minutes=2)
"""How long none of the members of a revision may be ready before it is given up."""
LOST: Final = timedelta(seconds=60)
"""How long after its time to stop a pod counts: one that is still there has a node that does not answer."""


def fleets(observed: ObservedState) -> dict[str, Fleet]:
    """Return the members of every revision that has a StatefulSet or pods."""
    sets, pods = observed.stateful_sets(), pods_by_revision(observed)
    revisions = sorted({*sets, *pods})
    return {revision: fleet_of(sets.get(revision), pods.get(revision, []), observed.now) for revision in revisions}


def pods_by_revision(observed: ObservedState) -> dict[str, list[Document]]:
    """Return the pods of members."""
    found: dict[str, list[Document]] = {}
    for pod in observed.pods():
        found.setdefault(pod["metadata"]["labels"].get(REVISION_LABEL, ""), []).append(pod)
    return found


def fleet_of(stateful_set: Document | None, pods: Sequence[Document], now: datetime) -> Fleet:
    """Return the members that a StatefulSet and its pods are."""
    wanted = 0 if stateful_set is None else int(stateful_set["spec"]["replicas"])
    there = [pod for pod in pods if not _is_lost(pod, now)]
    staying = [pod for pod in there if ordinal(pod) < wanted]
    if there or stateful_set is None:
        ready = sum(is_ready(pod) for pod in staying)
    else:
        ready = min(wanted, ready_members(stateful_set))
    found = pod_failure(staying, now)
    unready = [unready_since(pod, now) for pod in staying]
    waits = found is not None and found.reason == Reason.UNSCHEDULABLE
    message = "" if found is None else found.message
    return Fleet(
        wanted,
        frozenset(ordinal(pod) for pod in there),
        ready,
        sick="" if waits else message,
        lasting=all(now - since >= LASTING for since in unready),
        waits=message if waits else "",
    )


def ready_members(stateful_set: Mapping[str, Any]) -> int:
    """Return how many members are ready by what Kubernetes says of the present template; 0 while it is catching up."""
    status = stateful_set.get("status") or {}
    if status.get("observedGeneration", 0) < stateful_set["metadata"].get("generation", 0):
        return 0
    if status.get("updateRevision") != status.get("currentRevision"):
        return int(min(status.get("updatedReplicas", 0), status.get("readyReplicas", 0)))
    return int(status.get("readyReplicas", 0))


def ordinal(pod: Document) -> int:
    """Return the number at the end of a pod's name."""
    number = pod["metadata"]["name"].rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _is_lost(pod: Document, now: datetime) -> bool:
    """Whether a pod should have gone long ago: the time of its deletion is when its grace ends."""
    until = pod["metadata"].get("deletionTimestamp")
    return until is not None and now - datetime.fromisoformat(until) > LOST
