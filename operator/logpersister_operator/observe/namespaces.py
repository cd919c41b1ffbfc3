"""Which namespaces the operator looks after: those that are named, those whose labels match, or all."""

import asyncio
import threading
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
