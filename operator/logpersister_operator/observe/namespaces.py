"""The namespaces that the operator looks after: those that are named, those whose labels match, or all.

And which of them are canaries by their labels.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final

import structlog

from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import LOGPERSISTER, NAMESPACE
from logpersister_operator.metrics import WatchAge
from logpersister_operator.settings import Settings

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 10.0
"""How long a namespace may have other labels, or other rights, before that counts."""
AWAIT_SECONDS: Final = 2.0
"""Between two looks while there is nothing to look after, or the API server does not know our kind of resource."""
BEGIN_SECONDS: Final = 60.0
"""How long the first lists of `kopf` may take."""


def matching(cluster: ApiServer, selector: str) -> tuple[str, ...]:
    """Return the names of the namespaces that match a label selector; raises ClusterError."""
    pages = cluster.pages(NAMESPACE, labels=selector)
    return tuple(sorted(one["metadata"]["name"] for page in pages for one in page["items"]))


class Namespaces:
    """The namespaces of an operator: those that match, or those that are named and may be read.

    Both are looked at again and again. Labels need only the right to list namespaces.
    """

    def __init__(
        self,
        cluster: ApiServer,
        settings: Settings,
        look_seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._named = settings.namespaces
        self._selector = settings.namespace_selector
        self._canary_selector = settings.canary_namespace_selector
        self._look_seconds = look_seconds
        self._clock = clock
        self._refusals: dict[str | None, str] = {}
        self._listed = dict.fromkeys((None,) if self._selector else (self._named or (None,)), clock())
        self.failure: str | None = "resources have not been listed yet"
        """Why nothing can be looked after; None when it can, or when no namespace matches. An API server that is away
        for a while is none."""

    def wait(self, stop: threading.Event) -> tuple[str, ...] | None:
        """Return the namespaces, none for all of them; wait until there is one. None when ``stop`` comes first."""
        told = ""
        while not stop.is_set():
            found = self._look()
            if found is not None and (found or not (self._selector or self._named)):
                return found
            reason = self.failure or "no namespace matches"
            if reason != told:
                log.warning("namespaces.awaited", selector=self._selector, reason=reason)
            told = reason
            stop.wait(min(self._look_seconds, AWAIT_SECONDS))
        return None

    async def until_changed(self, known: tuple[str, ...], outdated: Callable[[], bool]) -> None:
        """Return when the namespaces are others than those that are known, or what is known of them is outdated.

        A named one that is refused later stays: it may be allowed again. But `kopf` begins with none before it has
        listed all, so one that is refused at that moment is left out.
        """
        began, found = self._clock(), known
        while found == known:
            await asyncio.sleep(self._look_seconds)
            if outdated():
                return
            looked = await asyncio.to_thread(self._look)
            if looked is None or (self._named and self._clock() - began > BEGIN_SECONDS and set(looked) <= set(known)):
                continue
            found = looked
        log.info("namespaces.changed", namespaces=list(found))

    async def look_for_canaries(self, on_found: Callable[[frozenset[str]], None]) -> None:
        """Look again and again which namespaces are canaries by their labels; tell of each look that is answered."""
        while selector := self._canary_selector:
            try:
                on_found(frozenset(await asyncio.to_thread(matching, self._cluster, selector)))
            except Exception as error:
                log.warning("namespaces.canaries_not_listed", selector=selector, error=repr(error))
            await asyncio.sleep(self._look_seconds)

    def ages(self) -> Iterator[WatchAge]:
        """Yield how long ago resources could be listed in each namespace; from any thread."""
        now = self._clock()
        for namespace, at in self._listed.items():
            refusal = self._refusals.get(namespace, "")
            yield WatchAge(LOGPERSISTER.name, namespace, now - at, now - at, refusal)

    def _look(self) -> tuple[str, ...] | None:
        """Return the namespaces that there are now; None when there is no answer, or a refusal of all of them."""
        found: tuple[str, ...] = ()
        try:
            allowed = [one for one in self._listed if self._is_allowed(one)]
            if self._selector:
                found = matching(self._cluster, self._selector)
        except Exception as error:
            log.warning("namespaces.not_listed", error=repr(error))
            self.failure = self.failure and (str(error) or repr(error))
            return None
        if not allowed:
            self.failure = next(iter(self._refusals.values()))
            return None
        self.failure = None
        return found or tuple(one for one in allowed if one is not None)

    def _is_allowed(self, namespace: str | None) -> bool:
        """Whether resources may be listed; raises ClusterError when there is no answer."""
        before = self._refusals.pop(namespace, "")
        try:
            next(self._cluster.pages(LOGPERSISTER, namespace, size=1))
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise ClusterError(f"install the CRD of LogPersister: {error}") from error
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            self._refusals[namespace] = str(error)
            if not before:
                log.warning("namespace.refused", namespace=namespace or "all", error=str(error))
            return False
        self._listed[namespace] = self._clock()
        if before:
            log.info("namespace.allowed", namespace=namespace or "all")
        return True
