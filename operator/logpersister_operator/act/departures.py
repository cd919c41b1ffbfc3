"""Takes members that will not come back out of their group, so that others get their partitions at once."""

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog
from kafka.admin import MemberToRemove
from kafka.errors import NoError, UnknownMemberIdError

from logpersister.kafka_client import client_config
from logpersister.kafka_client.admin import admin_client
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister_operator.observed_state import ResourceKey

log = structlog.get_logger(__name__)

KAFKA_MILLISECONDS: Final = 10_000
RETRY_SECONDS: Final = 30.0
"""Pause after which a member that is still in the group is removed again."""

Remove = Callable[[LogPersister, Secrets, Collection[str], str], None]


def remove_members(resource: LogPersister, secrets: Secrets, names: Collection[str], reason: str) -> None:
    """Remove static members from the group of a resource; raises when Kafka cannot be asked, or refuses one."""
    limits = {"bootstrap_timeout_ms": KAFKA_MILLISECONDS, "request_timeout_ms": KAFKA_MILLISECONDS}
    members = [MemberToRemove(group_instance_id=name, reason=reason) for name in sorted(names)]
    with admin_client(client_config(resource.spec.kafka, secrets) | limits) as admin:
        found = admin.remove_group_members(resource.group_id, members)
    refused = {member: error for member, error in found.items() if error not in (NoError, UnknownMemberIdError)}
    for member, error in refused.items():
        raise error(f"{member.group_instance_id} of group {resource.group_id}")


class Departures:
    """Removes members by threads of its own: a broker that does not answer delays no reconciliation."""

    def __init__(
        self, threads: int, remove: Remove = remove_members, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nobody.

        Args:
            threads: how many groups may be asked at once.
            remove: asks Kafka; has a deadline.
            clock: monotonic seconds.
        """
        self._remove = remove
        self._clock = clock
        self._begun: dict[ResourceKey, dict[str, float]] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="departures")

    def begin(self, key: ResourceKey, resource: LogPersister, secrets: Secrets, names: Collection[str]) -> None:
        """Remove members, those apart that are being removed already or just were. Returns at once.

        Args:
            key: of the resource.
            resource: says which group, and how to reach it.
            secrets: what that takes.
            names: all members that have departed.
        """
        now = self._clock()
        with self._lock:
            begun = {name: at for name, at in self._begun.get(key, {}).items() if name in names}
            due = [name for name in names if now - begun.get(name, float("-inf")) >= RETRY_SECONDS]
            self._begun[key] = begun | dict.fromkeys(due, now)
        if due:
            self._pool.submit(self._carry_out, key, resource, secrets, due)

    def forget(self, key: ResourceKey) -> None:
        """Forget a resource."""
        with self._lock:
            self._begun.pop(key, None)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, key: ResourceKey, resource: LogPersister, secrets: Secrets, names: Collection[str]) -> None:
        try:
            self._remove(resource, secrets, names, "the member will not come back")
        except Exception as error:  # noqa: BLE001 - their sessions time out all the same
            log.warning("departures.failed", resource=str(key), members=list(names), error=repr(error))
        else:
            log.info("departures.removed", resource=str(key), members=list(names))
