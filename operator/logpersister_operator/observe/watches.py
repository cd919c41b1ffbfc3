"""Watches of all kinds of children: each lists, then follows changes, and keeps nothing but what `Children` keeps.

They run in one event loop, in a thread of its own, however many namespaces there are.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Final

import structlog

from logpersister.backoff import Backoff
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import CHILDREN, POD, Document, Kind
from logpersister_operator.metrics import WatchAge
from logpersister_operator.observe.children import Children
from logpersister_operator.observe.streams import Streams
from logpersister_operator.render.ownership import RESOURCE_LABEL

log = structlog.get_logger(__name__)

RESYNC_SECONDS: Final = 300.0
"""How often everything is listed anew: what a watch has missed is known after that."""
LISTS_AT_ONCE: Final = 8
"""Lists that are read at the same time, so that the memory that they need is bounded."""
REFUSED_SECONDS: Final = 20.0
"""How long a namespace may be refused before that counts: an API server that is upgraded refuses for a moment, too."""
_SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner is not asked for again at once."""
_BACKOFF: Final = Backoff(2.0, 30.0)
"""Between attempts to list or watch while the API server is away."""
_UNANSWERED: Final = 0
_OTHER_PAST: Final = (HTTPStatus.GONE, HTTPStatus.GATEWAY_TIMEOUT, _UNANSWERED)
"""The version is too old, or, after a restore of etcd, of a future that did not happen: only a list helps.

An API server that was away may come back with a restored etcd, and is silent about changes before that future.
"""


class Watches:
    """Feeds `Children` from the API server."""

    def __init__(
        self,
        streams: Streams,
        children: Children,
        namespaces: Sequence[str],
        kinds: Sequence[Kind] = (*CHILDREN, POD),
        resync_seconds: float = RESYNC_SECONDS,
    ) -> None:
        """Prepare watches of some kinds in all namespaces, or in those that are named."""
        self._streams = streams
        self._children = children
        self._stop: Callable[[], object] = lambda: None
        self._is_stopped = False
        self.restored = ""
        """What showed that etcd was restored from a backup: then nothing that is known counts any more."""
        lists = asyncio.Semaphore(LISTS_AT_ONCE)
        self._watches = [
            _Watch(streams, children, kind, namespace, resync_seconds, lists, self._note_listed, self._note_restored)
            for namespace in (namespaces or (None,))
            for kind in kinds
        ]
        self._unlisted = set(self._watches)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="watches", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask all watches to end, without waiting for their last answer."""
        self._is_stopped = True
        with contextlib.suppress(RuntimeError):  # they have ended
            self._stop()

    def ages(self) -> Iterator[WatchAge]:
        """Yield how well each kind is known in each namespace; from any thread."""
        return (watch.age() for watch in self._watches)

    def refusal(self, namespace: str) -> str:
        """Return why the API server has refused to tell of a namespace for some time; empty when it tells.

        An operator of all namespaces loses no rights with one of them.
        """
        ages = (one.age() for one in self._watches if one.is_forbidden and one.namespace == namespace)
        return next((one.refusal for one in ages if one.heard_seconds > REFUSED_SECONDS), "")

    async def _run(self) -> None:
        tasks = [asyncio.create_task(watch.run()) for watch in self._watches]
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        if self._is_stopped:  # before there was anything to end
            self._stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._streams.close()

    def _note_restored(self, what: str) -> None:
        if not self.restored:
            log.warning("etcd.restored", seen=what)
        self.restored = what

    def _note_listed(self, watch: "_Watch") -> None:
        if watch not in self._unlisted:
            return
        self._unlisted.discard(watch)
        if not any(other.namespace == watch.namespace for other in self._unlisted):
            self._children.complete(watch.namespace)
            log.info("children.listed", namespace=watch.namespace or "all")


class _Watch:
    """The watch of one kind in one namespace, or in all."""

    def __init__(
        self,
        streams: Streams,
        children: Children,
        kind: Kind,
        namespace: str | None,
        resync_seconds: float,
        lists: asyncio.Semaphore,
        on_listed: Callable[["_Watch"], None],
        on_restored: Callable[[str], None],
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self._streams = streams
        self._children = children
        self._resync_seconds = resync_seconds
        self._lists = lists
        self._on_listed = on_listed
        self._on_restored = on_restored
        self._version: int | None = None
        """The version from which changes are followed; None before a list."""
        self._newest = 0
        """The newest version that was seen, also before the last list."""
        self._listed_at = self._heard_at = time.monotonic()
        self._refusal = ""
        self.is_forbidden = False
        """Whether it is refused for want of rights: a login that is refused says nothing about the namespace."""

    def age(self) -> WatchAge:
        now = time.monotonic()
        return WatchAge(self.kind.name, self.namespace, now - self._listed_at, now - self._heard_at, self._refusal)

    async def run(self) -> None:
        """List and follow until this is cancelled or etcd was restored, whatever else goes wrong."""
        failures = 0
        while True:
            try:
                if self._version is None or self._seconds_left() <= 0:
                    async with self._lists:
                        await self._list()
                if self._version is None:  # another operator begins
                    return
                await self._follow()
                failures = 0
            except Exception as error:
                failures += 1
                if not isinstance(error, ClusterError):
                    log.exception("watch.failed", kind=self.kind.name)
                self._note_failure(error)
                await asyncio.sleep(_BACKOFF.pause(failures))

    def _note_failure(self, error: Exception) -> None:
        status = error.status if isinstance(error, ClusterError) else HTTPStatus.GONE
        if status in _OTHER_PAST:
            self._version = None
        refusal = str(error)[:500] if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) else ""
        if not refusal or refusal != self._refusal:
            log.warning("watch.interrupted", kind=self.kind.name, namespace=self.namespace, error=str(error)[:500])
        self._refusal, self.is_forbidden = refusal, status == HTTPStatus.FORBIDDEN

    def _note_restored(self, what: str) -> None:
        self._version = None
        self._on_restored(f"{self.kind.plural} {what}")

    def _seconds_left(self) -> float:
        return self._listed_at + self._resync_seconds - time.monotonic()

    def _heard(self) -> None:
        self._heard_at = time.monotonic()
        self._refusal, self.is_forbidden = "", False

    async def _list(self) -> None:
        began = time.monotonic()
        found: set[str] = set()
        version = 0
        async for page in self._streams.pages(self.kind, self.namespace, RESOURCE_LABEL):
            self._heard()
            version = int(page["metadata"]["resourceVersion"])  # the same for all pages
            if version < self._newest:
                self._note_restored(f"are listed at version {version} after {self._newest}")
                return
            for one in map(self._document, page["items"]):
                found.add(one["metadata"]["uid"])
                if self._children.contradicts(one, version):
                    self._note_restored(f"are listed at version {version} as they were before")
                    return
                self._children.seen(one)
        self._children.only(self.kind, self.namespace, found, version)
        self._version, self._newest, self._listed_at = version, version, began
        self._on_listed(self)

    async def _follow(self) -> None:
        began = time.monotonic()
        seconds = max(1, round(self._seconds_left()))
        events = self._streams.events(
            self.kind,
            self.namespace,
            RESOURCE_LABEL,
            version=str(self._version),
            seconds=seconds,
            on_begin=self._heard,
        )
        async with contextlib.aclosing(events):
            async for event in events:
                self._heard()
                self._take(event)
        if time.monotonic() - began < _SHORT_SECONDS:
            await asyncio.sleep(_SHORT_SECONDS)

    def _take(self, event: Document) -> None:
        """Take in an event; raises ClusterError when a list must tell whether etcd was restored."""
        found = event["object"]
        version = int(found["metadata"]["resourceVersion"])
        if version < self._newest:
            raise ClusterError(f"version {version} after {self._newest}: list anew", HTTPStatus.GONE)
        if event["type"] in ("ADDED", "MODIFIED"):
            self._children.seen(self._document(found))
        elif event["type"] == "DELETED":
            self._children.gone(self._document(found))
        self._version = self._newest = version  # a bookmark has nothing else

    def _document(self, found: Document) -> Document:
        """Complete an item of a list, which has no kind."""
        return {**found, "apiVersion": self.kind.api_version, "kind": self.kind.name}
