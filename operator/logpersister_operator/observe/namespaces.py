"""Which namespaces the operator looks after: those that are named, those whose labels match, or all.

And which of them are canaries by their labels.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final

import structlog

from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import NAMESPACE
from logpersister_operator.settings import Settings

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 10.0
"""How long a namespace may have other labels before that counts."""


def matching(cluster: ApiServer, selector: str) -> tuple[str, ...]:
    """Return the names of the namespaces that match a label selector; raises ClusterError."""
    pages = cluster.pages(NAMESPACE, labels=selector)
    return tuple(sorted(one["metadata"]["name"] for page in pages for one in page["items"]))


class Namespaces:
    """The namespaces of an operator. Labels are looked at again and again, which needs only the right to list."""

    def __init__(self, cluster: ApiServer, settings: Settings, look_seconds: float = LOOK_SECONDS) -> None:
        self._cluster = cluster
        self._named = settings.namespaces
        self._selector = settings.namespace_selector
        self._look_seconds = look_seconds

    def wait(self, stop: threading.Event) -> tuple[str, ...] | None:
        """Return the namespaces, none for all of them; wait until one matches. None when ``stop`` comes first."""
        if not self._selector:
            return self._named
        told = ""
        while not stop.is_set():
            try:
                found, error = matching(self._cluster, self._selector), ""
            except ClusterError as failed:
                found, error = (), str(failed)
            if found:
                return found
            reason = error or "no namespace matches"
            if reason != told:
                log.info("namespaces.awaited", selector=self._selector, reason=reason)
            told = reason
            stop.wait(self._look_seconds)
        return None

    async def until_changed(self, known: tuple[str, ...]) -> None:
        """Return when other namespaces match than those that are known; never when nothing is selected by labels."""
        found = known
        while not self._selector or found == known:
            await asyncio.sleep(self._look_seconds)
            if not self._selector:
                continue
            try:
                found = await asyncio.to_thread(matching, self._cluster, self._selector)
            except ClusterError as error:
                log.warning("namespaces.not_listed", error=str(error))
        log.info("namespaces.changed", namespaces=list(found))


class CanaryNamespaces:
    """Looks again and again, in a thread of its own, which namespaces are canaries by their labels."""

    def __init__(
        self,
        cluster: ApiServer,
        selector: str,
        on_found: Callable[[frozenset[str]], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """Prepare to look; ``on_found`` is called with their names after each look that the API server answers."""
        self._cluster = cluster
        self._selector = selector
        self._on_found = on_found
        self._look_seconds = look_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="canary-namespaces", daemon=True)

    def start(self) -> None:
        """Begin to look, when anything is selected."""
        if self._selector:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._on_found(frozenset(matching(self._cluster, self._selector)))
            except ClusterError as error:  # those that are known stay canaries
                log.warning("namespaces.canaries_not_listed", selector=self._selector, error=str(error))
            self._stop.wait(self._look_seconds)
