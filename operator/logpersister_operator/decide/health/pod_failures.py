"""What is wrong with pods, found in what Kubernetes says of them. Only names it; others act."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from logpersister_operator.decide.conditions import Obstacle
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_objects import Container, Pod

PATIENCE: Final = timedelta(seconds=60)
"""How long a pod may wait for a node before that is called a problem: an autoscaler needs its time."""

IMAGE_REASONS: Final = frozenset(
    {"ErrImagePull", "ErrImageNeverPull", "ImageInspectError", "ImagePullBackOff", "InvalidImageName"}
    | {"RegistryUnavailable", "SignatureValidationFailed"}
)
CONFIG_REASONS: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_BEGINNING: Final = frozenset({"ContainerCreating", "PodInitializing"})
MANY_RESTARTS: Final = 2
RECENT: Final = timedelta(minutes=10)
"""How long ago a container that ended last may have begun: it began because it had ended before."""


def pod_failure(pods: Iterable[Pod], now: datetime, told: Mapping[str, str]) -> Obstacle | None:
    """Return what is wrong with the first pod that has something; None when waiting may help.

    Args:
        told: the last warning about each pod that has one, by uid.
    """
    for pod in pods:
        found = _of_pod(pod, now, told.get(pod.uid, ""))
        if found is not None:
            return found
    return None


def is_held_up(pod: Pod) -> bool:
    """Whether a pod has a node, and a container of it does not begin for a reason that the pod itself does not say."""
    if pod.is_ready or pod.is_leaving or not pod.node:
        return False
    waits = {one.waits for one in (*pod.init_containers, *pod.containers)}
    return not waits or bool(waits & (_BEGINNING | IMAGE_REASONS))


def _of_pod(pod: Pod, now: datetime, told: str) -> Obstacle | None:
    if pod.is_ready or pod.is_leaving:
        return None
    unscheduled = pod.without_node
    if unscheduled is not None and now - (unscheduled.since or now) > PATIENCE:
        return Obstacle(Reason.UNSCHEDULABLE, f"pod {pod.name} waits for a node: {unscheduled.message}")
    found = (_of_container(pod.name, one, now, told) for one in (*pod.init_containers, *pod.containers))
    of_container = next((one for one in found if one is not None), None)
    if of_container is None and told and is_held_up(pod):
        return Obstacle(Reason.POD_NOT_STARTABLE, f"pod {pod.name} cannot start on node {pod.node}: {told}")
    return of_container


def _of_container(pod: str, container: Container, now: datetime, told: str) -> Obstacle | None:
    reason, message = container.waits, told or container.waits_message
    if reason in IMAGE_REASONS:
        return Obstacle(
            Reason.IMAGE_UNAVAILABLE, f"pod {pod} cannot pull its image {container.image}: {reason} {message}"
        )
    if reason in CONFIG_REASONS:
        return Obstacle(Reason.POD_NOT_STARTABLE, f"pod {pod} cannot start: {message or reason}")
    if reason == "CrashLoopBackOff" or _ends_again_and_again(container, now):
        return Obstacle(Reason.MEMBER_CRASHING, f"pod {pod} crashes repeatedly: {_last_words(container)}")
    return None


def _ends_again_and_again(container: Container, now: datetime) -> bool:
    """Whether it has ended twice within a short time: what counts restarts counts them over the life of the pod."""
    ended = container.ended or container.ended_before
    if container.restarts < MANY_RESTARTS or ended is None or ended.started is None:
        return False
    return now - ended.started <= RECENT


def _last_words(container: Container) -> str:
    ended = container.ended_before or container.ended
    if ended is None:
        return "see its log"
    code = "see its log" if ended.exit_code is None else f"exit code {ended.exit_code}"
    words = [line for line in ended.message.splitlines() if line.strip()]
    suffix = f", {ended.reason}" if ended.reason not in ("", "Error") else ""
    # What the checks before the start found wrong, or else the last line: of a traceback that is the error.
    said = [line for line in words if line.startswith("failed ")] or words[-1:]
    return f"{code}{suffix}" + (f"; it said: {'; '.join(' '.join(line.split()) for line in said)}" if said else "")
