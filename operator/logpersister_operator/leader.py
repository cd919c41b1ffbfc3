"""One of several replicas leads, by a Lease; the others wait to take over."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

log = structlog.get_logger(__name__)

LEASE_SECONDS: Final = 15
"""How long others wait when a leader is silent."""
RENEW_SECONDS: Final = 10
"""How long a leader tries to renew before it gives up: before the others begin."""
RETRY_SECONDS: Final = 2


class Lost(Exception):  # noqa: N818 - it is news, and the end of this process
    """The lease could not be renewed in time: another replica leads now."""


@contextmanager
def lead(lease: str, *, identity: str, stop: threading.Event) -> Iterator[bool]:
    """Wait to become the leader, and tell the block whether it is; not when ``stop`` comes first.

    Without a lease there is only this one.

    When the lease is lost, the process gets SIGTERM, which must end the block; then Lost is raised.
    """
    if not lease:
        yield True
        return
    namespace, _, name = lease.partition("/")
    leading, lost = threading.Event(), threading.Event()

    def started() -> None:
        log.info("leader.elected", identity=identity, lease=lease)
        leading.set()
        threading.Event().wait()  # as long as this returns not, the lease is renewed

    def stopped() -> None:
        lost.set()
        os.kill(os.getpid(), signal.SIGTERM)

    election = LeaderElection(
        Config(
            LeaseLock(name, namespace, identity),
            lease_duration=LEASE_SECONDS,
            renew_deadline=RENEW_SECONDS,
            retry_period=RETRY_SECONDS,
            onstarted_leading=started,
            onstopped_leading=stopped,
        )
    )
    threading.Thread(target=election.run, name="leader-election", daemon=True).start()
    while not leading.wait(0.2):
        if stop.is_set():
            yield False
            return
    yield True
    if lost.is_set():
        raise Lost
