"""What `kopf` calls: a daemon for each resource, which waits until something changes and then does a round."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import kopf
import structlog

from logpersister_operator.act.reconciler import OutdatedError
from logpersister_operator.cluster.client import ClusterError
from logpersister_operator.cluster.kinds import LOGPERSISTER, Document
from logpersister_operator.observed import ResourceKey
from logpersister_operator.runtime import Operator
from logpersister_operator.sentinel import Sentinel

log = structlog.get_logger(__name__)

PREFIX: Final = "logpersister.dev"
FINALIZER: Final = f"{PREFIX}/drain"
PAUSE_SECONDS: Final = 0.5
"""Least time between two rounds about one resource: a burst of events is one change."""
LONGEST_RETRY_SECONDS: Final = 60.0


def configure(settings: kopf.OperatorSettings) -> None:
    """Set what `kopf` does by itself: only a finalizer, and no annotations, events or logs of its own on resources."""
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=PREFIX)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=PREFIX)
    settings.posting.enabled = False
    settings.scanning.disabled = True  # else it would need the right to watch all definitions and namespaces
    settings.background.cancellation_polling = 1.0
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.networking.request_timeout = 30


def register(registry: kopf.OperatorRegistry, operator: Operator, pool: ThreadPoolExecutor, sentinel: Sentinel) -> None:
    """Register all handlers."""
    where = (LOGPERSISTER.api_version.partition("/")[0], LOGPERSISTER.plural)

    @kopf.on.startup(registry=registry)
    async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        operator.start()

    @kopf.on.login(registry=registry)
    async def login(**options: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_via_client(**options)

    @kopf.on.cleanup(registry=registry)
    async def stop(**_: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, operator.stop)

    @kopf.on.probe(registry=registry, id="sentinel")
    async def alive(**_: Any) -> str:
        failure = sentinel.failure()
        if failure is not None:
            raise kopf.PermanentError(failure)  # any other exception would be retried while the probe waits
        return "ok"

    @kopf.on.event(*where, registry=registry)
    async def changed(namespace: str | None, name: str, **_: Any) -> None:
        operator.wake(ResourceKey(namespace or "", name))

    @kopf.daemon(*where, registry=registry, id="supervise")
    async def supervise(body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        await Supervision(operator, pool).supervise(body, stopped)


class Supervision:
    """The life of one resource under this operator."""

    def __init__(self, operator: Operator, pool: ThreadPoolExecutor) -> None:
        self._operator = operator
        self._pool = pool
        self._failures = 0

    async def supervise(self, body: kopf.Body, stopped: kopf.DaemonStopped) -> None:
        """Do rounds until the resource is deleted, then drain it; or until the operator ends."""
        key = ResourceKey(body["metadata"]["namespace"], body["metadata"]["name"])
        loop, wake = asyncio.get_running_loop(), asyncio.Event()
        self._operator.register(key, lambda: _call_soon(loop, wake.set))
        try:
            while not stopped and not _is_being_deleted(body):
                wake.clear()
                pause = await self._round(key, _copy(body))
                await asyncio.sleep(PAUSE_SECONDS)
                await _first_of(wake, stopped, pause - PAUSE_SECONDS)
            if _is_being_deleted(body):
                await self._drain(_copy(body))
        finally:
            self._operator.unregister(key)

    async def _round(self, key: ResourceKey, resource: Document) -> float:
        """Do a round in a thread; return how long to wait for a change before the next one."""
        try:
            pause = await asyncio.get_running_loop().run_in_executor(self._pool, self._operator.reconcile, resource)
        except OutdatedError as outdated:
            log.debug("round.outdated", resource=str(key), reason=str(outdated))
            return PAUSE_SECONDS
        except ClusterError as error:
            return self._retry(key, str(error))
        except Exception as error:
            log.exception("round.failed", resource=str(key))
            return self._retry(key, repr(error))
        self._failures = 0
        return pause

    def _retry(self, key: ResourceKey, error: str) -> float:
        self._failures += 1
        seconds = min(LONGEST_RETRY_SECONDS, 2.0**self._failures) * random.uniform(0.5, 1.0)
        log.warning("round.retried", resource=str(key), error=error, failures=self._failures, seconds=round(seconds, 1))
        return seconds

    async def _drain(self, resource: Document) -> None:
        stop = threading.Event()
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._operator.drain, resource, stop)
        except asyncio.CancelledError:
            stop.set()
            raise
        except Exception:  # a drain that fails must not keep the resource
            log.exception("drain.failed", resource=resource["metadata"]["name"])


async def _first_of(wake: asyncio.Event, stopped: kopf.DaemonStopped, seconds: float) -> None:
    """Wait until there is something to do, the daemon is told to stop, or the time is up."""
    waits = [asyncio.ensure_future(wake.wait()), asyncio.ensure_future(stopped.wait())]
    try:
        await asyncio.wait(waits, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the operator is ending, and its loop is closed
        loop.call_soon_threadsafe(call)


def _is_being_deleted(body: kopf.Body) -> bool:
    return "deletionTimestamp" in body["metadata"]


def _copy(body: kopf.Body) -> Document:
    """Return the resource as it is now: the body of a daemon changes under its hands."""
    copied: Document = _plain(body)
    return copied


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
