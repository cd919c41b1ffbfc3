"""What is wrong with pods, found in what Kubernetes says of them. Only names it; others act."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.conditions import Obstacle
from logpersister_operator.decide.reasons import Reason

PATIENCE: Final = timedelta(seconds=60)
"""How long a pod may wait for a node before that is called a problem: an autoscaler needs its time."""

_IMAGE_REASONS: Final = frozenset(
    {"ErrImagePull", "ErrImageNeverPull", "ImageInspectError", "ImagePullBackOff", "InvalidImageName"}
)
_CONFIG_REASONS: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
MANY_RESTARTS: Final = 2
RECENT: Final = timedelta(minutes=10)
"""How long ago a container that ended last may have begun: it began because it had ended before."""


def pod_failure(pods: Iterable[Document], now: datetime) -> Obstacle | None:
    """Return what is wrong with the first pod that has something; None when waiting may help."""
    for pod in pods:
        found = _of_pod(pod, now)
        if found is not None:
            return found
    return None


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the pod has the condition Ready, and is not on its way out."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def without_node(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the condition of a pod for which there is no node; None for others."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"), None)


def _of_pod(pod: Document, now: datetime) -> Obstacle | None:
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    if is_ready(pod) or "deletionTimestamp" in pod["metadata"]:
        return None
    unscheduled = without_node(pod)
    if unscheduled is not None and now - time_of(unscheduled) > PATIENCE:
        return Obstacle(Reason.UNSCHEDULABLE, f"pod {name} waits for a node: {unscheduled.get('message', '')}")
    for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        found = _of_container(name, container, now)
        if found is not None:
            return found
    return None


def unready_since(pod: Mapping[str, Any], now: datetime) -> datetime:
    """Return since when a pod is not ready; ``now`` when it is, or nobody says."""
    if is_ready(pod):
        return now
    conditions = (pod.get("status") or {}).get("conditions") or []
    return next((time_of(one) for one in conditions if one["type"] == "Ready" and one["status"] == "False"), now)


def _of_container(pod: str, container: Mapping[str, Any], now: datetime) -> Obstacle | None:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    if reason in _IMAGE_REASONS:
        return Obstacle(
            Reason.IMAGE_UNAVAILABLE, f"pod {pod} cannot pull its image {container['image']}: {reason} {message}"
        )
    if reason in _CONFIG_REASONS:
        return Obstacle(Reason.POD_NOT_STARTABLE, f"pod {pod} cannot start: {message or reason}")
    if reason == "CrashLoopBackOff" or _ends_again_and_again(container, now):
        return Obstacle(Reason.MEMBER_CRASHING, f"pod {pod} crashes repeatedly: {_last_words(container)}")
    return None


def _ends_again_and_again(container: Mapping[str, Any], now: datetime) -> bool:
    """Whether it has ended twice within a short time: what counts restarts counts them over the life of the pod."""
    states = (container.get("state") or {}, container.get("lastState") or {})
    ended: Mapping[str, Any] = next((state["terminated"] for state in states if state.get("terminated")), {})
    if container.get("restartCount", 0) < MANY_RESTARTS or not ended.get("startedAt"):
        return False
    return now - datetime.fromisoformat(ended["startedAt"]) <= RECENT


def _last_words(container: Mapping[str, Any]) -> str:
    states = (container.get("lastState") or {}, container.get("state") or {})
    ended: Mapping[str, Any] = next((state["terminated"] for state in states if "terminated" in state), {})
    code = f"exit code {ended['exitCode']}" if "exitCode" in ended else "see its log"
    words = [line for line in (ended.get("message") or "").splitlines() if line.strip()]
    reason = ended.get("reason", "")
    suffix = f", {reason}" if reason not in ("", "Error") else ""
    # What the checks before the start found wrong, or else the last line: of a traceback that is the error.
    said = [line for line in words if line.startswith("failed ")] or words[-1:]
    return f"{code}{suffix}" + (f"; it said: {'; '.join(' '.join(line.split()) for line in said)}" if said else "")


def time_of(condition: Mapping[str, Any]) -> datetime:
    """Return since when a condition is as it is."""
    return datetime.fromisoformat(condition["lastTransitionTime"])
