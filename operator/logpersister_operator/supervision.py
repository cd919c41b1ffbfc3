"""The life of each resource under this operator: reconciliations while it exists, a drain when it is deleted."""

import asyncio
import contextlib
import copy
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Protocol

import kopf
import structlog

from logpersister.backoff import Backoff
from logpersister_operator.act.drain import Drain
from logpersister_operator.act.reconciler import OutdatedError
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import Document, Kind
from logpersister_operator.observe.children import NotListedError
from logpersister_operator.observe.resource import key_of
from logpersister_operator.observed_state import ResourceKey

log = structlog.get_logger(__name__)

FINALIZER: Final = "logpersister.dev/drain"
PAUSE_SECONDS: Final = 0.5
"""Least time between two reconciliations of one resource: a burst of events is one change."""
_BACKOFF: Final = Backoff(2.0, 60.0)
LOOK_SECONDS: Final = 1.0
"""Between two looks at a drain."""
DRAIN_THREADS: Final = 32
"""Drains at once that wait for Kafka, apart from reconciliations: a broker that is away delays no other resource."""


class Actor(Protocol):
    """What looks after the resources of one kind. All methods but `seen` and `gone` may be called by any thread."""

    @property
    def kind(self) -> Kind: ...

    def listed(self, namespace: str) -> bool:
        """Whether all children of the resources of a namespace are known."""

    def seen(self, body: Mapping[str, Any]) -> None:
        """Take in a resource as it is now, before anything else is done for any resource."""

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        """Call ``wake``, from any thread, whenever something about a resource changes."""

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        """Forget a resource, unless another one of that name is registered by now."""

    def reconcile(self, resource: Document) -> float:
        """Reconcile once; return in how many seconds at the latest it must be done again.

        Raises what is tried again: at once for OutdatedError and NotListedError, else later and later.
        """

    def report_failure(self, resource: Document, error: Exception, attempts: int) -> None:
        """Show on a resource why it is not reconciled."""

    def drain(self, resource: Document) -> Drain:
        """Return what ends a resource that is being deleted."""

    def gone(self, body: Mapping[str, Any]) -> None:
        """Take in that a resource does not exist any more, perhaps while it is still being reconciled."""

    def forget(self, resource: Document) -> None:
        """Forget a resource that is gone, and is not being reconciled."""


class Supervisors:
    """Supervisions of all resources of one kind, by their uids."""

    def __init__(self, actor: Actor, workers: ThreadPoolExecutor) -> None:
        """Prepare to look after resources; ``workers`` run the reconciliations."""
        self.actor = actor
        self._workers = workers
        self._drains = ThreadPoolExecutor(DRAIN_THREADS, thread_name_prefix="drain")
        self._supervisions: dict[str, _Supervision] = {}
        self._drained: set[str] = set()

    def close(self) -> None:
        """Begin no more drains; those that run are told by their tasks."""
        self._drains.shutdown(wait=False)

    async def supervise(self, body: kopf.Body, stopped: kopf.DaemonStopped) -> None:
        """Reconcile until the resource is deleted, then drain it; or until the operator ends."""
        uid = body["metadata"]["uid"]
        supervision = _Supervision(self.actor, self._workers, body, stopped)
        self._supervisions[uid] = supervision
        try:
            await supervision.live()
            if _is_being_deleted(body):
                await self._drain(_copy(body))
        finally:
            del self._supervisions[uid]

    async def changed(self, body: kopf.Body) -> None:
        """Take in that a resource has changed; drain it when it was deleted while nobody looked after it."""
        metadata = body["metadata"]
        supervision = self._supervisions.get(metadata["uid"])
        if supervision is not None:
            supervision.note_change()
            return
        waits_for_us = _is_being_deleted(body) and FINALIZER in metadata.get("finalizers", ())
        if waits_for_us and metadata["uid"] not in self._drained:
            log.info("drain.resumed", resource=str(key_of(body)))
            await self._drain(_copy(body))

    def gone(self, body: kopf.Body) -> None:
        """Take in that a resource does not exist any more, or is another operator's by its labels now."""
        resource, supervision = _copy(body), self._supervisions.get(body["metadata"]["uid"])
        self._drained.discard(body["metadata"]["uid"])
        self.actor.gone(body)
        if supervision is None:
            self.actor.forget(resource)
        else:
            supervision.leave(lambda: self.actor.forget(resource))

    async def _drain(self, resource: Document) -> None:
        drain, loop = self.actor.drain(resource), asyncio.get_running_loop()
        try:
            while not await loop.run_in_executor(self._drains, drain.step):  # noqa: ASYNC110 - pods take their time
                await asyncio.sleep(LOOK_SECONDS)
        except Exception:  # a drain that fails must not keep the resource
            log.exception("drain.failed", resource=resource["metadata"]["name"])
        self.actor.forget(resource)
        self._drained.add(resource["metadata"]["uid"])


class _Supervision:
    """The reconciliations of one resource."""

    def __init__(self, actor: Actor, workers: ThreadPoolExecutor, body: kopf.Body, stopped: kopf.DaemonStopped) -> None:
        self._actor = actor
        self._workers = workers
        self._body = body
        self._stopped = stopped
        self._failures = 0
        self._left = False
        self._work: Future[float] | Future[None] | None = None
        """The last reconciliation, or what tells that it failed."""
        self._wake = asyncio.Event()
        self._change = asyncio.Event()

    def note_change(self) -> None:
        """Take in that the resource itself has changed."""
        self._change.set()
        self._wake.set()

    def leave(self, forget: Callable[[], None]) -> None:
        """Reconcile no more: the resource is gone, or another operator's.

        ``forget`` is called when no reconciliation runs, which would remember it anew.
        """
        self._left = True
        self.note_change()
        self._after_work(forget)

    async def live(self) -> None:
        """Reconcile until the resource is deleted, or another operator's, or the operator ends."""
        while not self._actor.listed(self._body["metadata"]["namespace"]) and not self._is_over:
            await self._wait(PAUSE_SECONDS)
        key, loop = key_of(self._body), asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the operator is ending, and its loop is closed
                loop.call_soon_threadsafe(self._wake.set)

        self._actor.register(key, wake)
        try:
            while not self._is_over and not _is_being_deleted(self._body):
                self._wake.clear()
                self._change.clear()
                pause = await self._reconcile(key)
                await self._wait(PAUSE_SECONDS)
                # What failed is not made better by news about children or lag.
                await self._wait(pause - PAUSE_SECONDS, self._change if self._failures else self._wake)
        finally:
            self._after_work(lambda: self._actor.unregister(key, wake))

    @property
    def _is_over(self) -> bool:
        return self._left or bool(self._stopped)

    def _after_work(self, call: Callable[[], None]) -> None:
        """Call when no reconciliation runs: one whose actor was cancelled goes on to its end."""
        if self._work is None:
            call()
        else:
            self._work.add_done_callback(lambda _: call())

    async def _reconcile(self, key: ResourceKey) -> float:
        """Reconcile in a thread; return how long to wait for a change before the next time."""
        resource = _copy(self._body)
        try:
            work = self._work = self._workers.submit(self._actor.reconcile, resource)
            pause = await asyncio.wrap_future(work)
        except (OutdatedError, NotListedError) as outdated:
            log.debug("round.outdated", resource=str(key), reason=str(outdated))
            return PAUSE_SECONDS
        except ClusterError as error:
            return await self._retry(key, resource, error)
        except Exception as error:
            log.exception("round.failed", resource=str(key))
            return await self._retry(key, resource, error)
        self._failures = 0
        return pause

    async def _retry(self, key: ResourceKey, resource: Document, error: Exception) -> float:
        self._failures += 1
        seconds = _BACKOFF.pause(self._failures)
        log.warning(
            "round.retried", resource=str(key), error=str(error), failures=self._failures, seconds=round(seconds, 1)
        )
        with contextlib.suppress(RuntimeError):  # the operator is ending, and its workers take no more
            told = self._work = self._workers.submit(self._actor.report_failure, resource, error, self._failures)
            await asyncio.wrap_future(told)
        return seconds

    async def _wait(self, seconds: float, *events: asyncio.Event) -> None:
        """Wait until one of the events comes, the resource is deleted, the operator ends, or the time is up."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(event.wait()) for event in events]
        waits.append(asyncio.ensure_future(self._stopped.wait()))
        try:
            await asyncio.wait(waits, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _is_being_deleted(body: kopf.Body) -> bool:
    return "deletionTimestamp" in body["metadata"]


def _copy(body: kopf.Body) -> Document:
    """Return the resource as it is now: the body of a daemon changes under its hands."""
    return copy.deepcopy(dict(body))
