"""The end of a resource: members leave in order, the group forgets them; data and committed offsets stay."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from kafka.admin import MemberToRemove

from logpersister.kafka_client import client_config
from logpersister.kafka_client.admin import admin_client
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister_operator.cluster.client import Cluster, ClusterError
from logpersister_operator.cluster.kinds import STATEFUL_SET
from logpersister_operator.observed import Observed

log = structlog.get_logger(__name__)

MARGIN_SECONDS: Final = 60.0
"""How much longer than its members' own time to stop a drain may take, before it is given up."""
LOOK_SECONDS: Final = 1.0
KAFKA_MILLISECONDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Leaver:
    """Whose group its members leave."""

    resource: LogPersister
    secrets: Secrets


def drain(
    cluster: Cluster,
    observe: Callable[[], Observed],
    leaver: Leaver | None,
    *,
    grace_seconds: float,
    stop: threading.Event,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Delete the members, wait until their pods are gone, and take their names out of the group.

    Returns whether everything is gone; what is left after the time is up, the garbage collector of Kubernetes removes
    with the resource, and the group forgets members when their sessions end.
    """
    deadline = clock() + grace_seconds + MARGIN_SECONDS
    names: set[str] = set()
    while not stop.is_set():
        observed = observe()
        pods = observed.pods()
        names |= {pod["metadata"]["name"] for pod in pods}
        sets = observed.of_kind(STATEFUL_SET)
        for one in sets:
            _delete(cluster, one["metadata"])
        if not pods and not sets:
            _leave(leaver, sorted(names))
            return True
        if clock() > deadline:
            log.warning("drain.given_up", resource=str(observed.key), pods=sorted(names))
            return False
        stop.wait(LOOK_SECONDS)
    return False


def _delete(cluster: Cluster, metadata: dict[str, str]) -> None:
    try:
        cluster.delete(STATEFUL_SET, metadata["namespace"], metadata["name"], uid=metadata["uid"])
    except ClusterError as error:
        log.warning("drain.delete_failed", name=metadata["name"], error=str(error))


def _leave(leaver: Leaver | None, names: Sequence[str]) -> None:
    """Remove static members: otherwise their partitions would wait for the session to time out."""
    if leaver is None or not names:
        return
    limits = {"bootstrap_timeout_ms": KAFKA_MILLISECONDS, "request_timeout_ms": KAFKA_MILLISECONDS}
    try:
        config = client_config(leaver.resource.spec.kafka, leaver.secrets) | limits
        with admin_client(config) as admin:
            members = [MemberToRemove(group_instance_id=name, reason="the resource was deleted") for name in names]
            admin.remove_group_members(leaver.resource.group_id, members)
    except Exception as error:  # noqa: BLE001 - a broker that is away must not keep a resource from being deleted
        log.warning("drain.members_not_removed", group=leaver.resource.group_id, error=repr(error))
