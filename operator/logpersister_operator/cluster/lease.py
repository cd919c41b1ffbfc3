"""The Lease that the replicas take, renew and give back: its holder may act. No threads; the clock is a parameter.

A holder counts its time from before it asked, the others from after they saw the answer, and the holder gives up when
two thirds of that time are over. So it has ended before anybody else begins, whatever the wall clocks say.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import LEASE, Document


@dataclass(frozen=True, slots=True)
class Terms:
    """How long is waited for what, in seconds."""

    lease: float = 15.0
    """How long others wait when the holder is silent. Shorter: they take over sooner, and a slow API server ends a
    holder sooner."""

    @property
    def renew(self) -> float:
        """How long after its last success a holder goes on."""
        return self.lease * 2 / 3

    @property
    def retry(self) -> float:
        """Pause between two attempts: a holder has five before it gives up."""
        return self.lease * 2 / 15

    @property
    def retry_failed(self) -> float:
        """Pause after an attempt that failed: a slow API server costs the time of a request, and no more."""
        return self.retry / 4

    @property
    def request(self) -> float:
        """Deadline of one request, so that one without an answer does not cost two attempts."""
        return self.retry * 3 / 4


class TakenError(Exception):
    """The Lease was ours, and is another one's now."""


_UNANSWERED, _MISSING, _CONFLICT = 0, 404, 409


def passed_seconds() -> float:
    """Return a time that only goes forward, also while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Candidate:
    """One who wants the Lease. Used by one thread at a time, except for `until` and `attempted`."""

    def __init__(
        self,
        cluster: Cluster,
        lease: tuple[str, str],
        identity: str,
        terms: Terms,
        clock: Callable[[], float] = passed_seconds,
    ) -> None:
        """Prepare to ask for the Lease of this namespace and name; ``identity`` must be nobody else's, ever."""
        self._cluster = cluster
        self._namespace, self._name = lease
        self._identity = identity
        self._terms = terms
        self._clock = clock
        self._live: Document | None = None
        """The Lease as it was seen last, also when it is gone."""
        self._changed_at = 0.0
        """When it was first seen like that."""
        self._exists = False
        self._current = False
        """Whether it may be renewed as it is known, without another look."""
        self._held = False
        self.until = _Moment(clock)
        """The end of the time for which this one may act."""
        self.attempted = clock()
        """When the last attempt ended, whatever came of it."""

    def attempt(self) -> bool:
        """Take or renew the Lease; return whether it is ours. Raises TakenError, and ClusterError without success."""
        try:
            if not self._current:
                self._look()
                if not self._may_take():
                    return False
            asked = self._clock()
            try:
                self._live = self._write(self._document(self._identity))
            except ClusterError as error:
                # Somebody else wrote, or a write of ours came through whose answer was lost: look before the next one,
                # which would otherwise be an attempt in vain.
                self._current = self._current and error.status not in (_UNANSWERED, _MISSING, _CONFLICT)
                raise
            self._changed_at = self._clock()
            self._exists = self._current = self._held = True
            self.until.set(asked + self._terms.renew)
            return True
        finally:
            self.attempted = self._clock()

    def release(self) -> None:
        """Give the Lease back, so that nobody has to wait; raises ClusterError."""
        self.until.set(-math.inf)
        if self._held and self._exists:
            self._write(self._document(None))
            self._held = self._current = False

    def _look(self) -> None:
        found = self._cluster.get(LEASE, self._namespace, self._name)
        self._exists = found is not None
        if found is not None and (self._live is None or _version(found) != _version(self._live)):
            self._live, self._changed_at = found, self._clock()

    def _may_take(self) -> bool:
        """Whether nobody else can hold it any more: not when it is gone either, if somebody held it a moment ago."""
        holder = _holder(self._live)
        if not holder or holder == self._identity:
            return True
        if self._held:
            raise TakenError(f"{holder} holds the Lease {self._namespace}/{self._name}")
        seconds = _spec(self._live).get("leaseDurationSeconds") or self._terms.lease
        return self._clock() > self._changed_at + seconds

    def _document(self, holder: str | None) -> Document:
        before = _spec(self._live)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        same = before.get("holderIdentity") == holder
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": math.ceil(self._terms.lease),
            "acquireTime": before.get("acquireTime") if same else now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (holder is not None and not same),
        }
        metadata = {"name": self._name, "namespace": self._namespace}
        if self._exists and self._live is not None:
            metadata = self._live["metadata"]  # with the version that this is about
        return {"apiVersion": LEASE.api_version, "kind": LEASE.name, "metadata": metadata, "spec": spec}

    def _write(self, document: Document) -> Document:
        return self._cluster.replace(document) if self._exists else self._cluster.create(document)


class _Moment:
    """A moment of a clock that one thread sets and others compare with."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._at = -math.inf

    def set(self, at: float) -> None:
        self._at = at

    @property
    def left(self) -> float:
        """Seconds until then; not positive when it has passed."""
        return self._at - self._clock()


def _spec(lease: Document | None) -> Document:
    spec: Document = (lease or {}).get("spec") or {}
    return spec


def _holder(lease: Document | None) -> str:
    return str(_spec(lease).get("holderIdentity") or "")


def _version(lease: Document) -> tuple[str, str]:
    return lease["metadata"]["uid"], lease["metadata"]["resourceVersion"]
