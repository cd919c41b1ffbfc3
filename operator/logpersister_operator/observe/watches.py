"""Watches of all kinds of children: each lists, then follows changes, and keeps nothing but what `Children` keeps."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from logpersister.backoff import Backoff
from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import ClusterError, Connection
from logpersister_operator.cluster.kinds import CHILDREN, POD, Document, Kind
from logpersister_operator.observe.children import Children
from logpersister_operator.render.application import RESOURCE_LABEL

log = structlog.get_logger(__name__)

RESYNC_SECONDS: Final = 300.0
"""How often everything is listed anew: what a watch has missed is known after that."""
READ_MARGIN_SECONDS: Final = 30.0
"""How much longer than it was asked to a watch may be silent."""
LIST_SECONDS: Final = 60.0
PAGE: Final = 100
"""Objects of one answer to a list, so that the memory that it needs is bounded."""
_SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner is not asked for again at once."""
_BACKOFF: Final = Backoff(2.0, 30.0)
"""Between attempts to list or watch while the API server is away."""
_GONE: Final = 410


class Watches:
    """Feeds `Children` from the API server, with a thread for each kind and namespace."""

    def __init__(
        self,
        connection: Connection,
        children: Children,
        namespaces: Sequence[str],
        resync_seconds: float = RESYNC_SECONDS,
    ) -> None:
        """Prepare watches of all namespaces, or of those that are named."""
        self._children = children
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._watches = [
            _Watch(connection, children, kind, namespace, resync_seconds, self._stopped, self._note_listed)
            for kind in (*CHILDREN, POD)
            for namespace in (namespaces or (None,))
        ]
        self._unlisted = set(self._watches)

    def start(self) -> None:
        for watch in self._watches:
            threading.Thread(target=watch.run, name=f"watch-{watch.kind.plural}", daemon=True).start()

    def stop(self) -> None:
        """Ask all watches to end, without waiting for their last answer."""
        self._stopped.set()

    def _note_listed(self, watch: "_Watch") -> None:
        with self._lock:
            if not self._unlisted:
                return
            self._unlisted.discard(watch)
            if self._unlisted:
                return
        self._children.complete()
        log.info("children.listed")


class _Watch:
    """Of one kind in one namespace, or in all."""

    def __init__(
        self,
        connection: Connection,
        children: Children,
        kind: Kind,
        namespace: str | None,
        resync_seconds: float,
        stopped: threading.Event,
        on_listed: Callable[["_Watch"], None],
    ) -> None:
        self.kind = kind
        self._connection = connection
        self._lists = ApiServer(connection, LIST_SECONDS)
        self._children = children
        self._namespace = namespace
        self._resync_seconds = resync_seconds
        self._stopped = stopped
        self._on_listed = on_listed
        self._version: str | None = None
        """From where changes are followed; None before a list."""
        self._listed_at = 0.0

    def run(self) -> None:
        """List and follow until the end, whatever goes wrong."""
        failures = 0
        while not self._stopped.is_set():
            try:
                if self._version is None or self._seconds_left() <= 0:
                    self._list()
                self._follow()
                failures = 0
            except Exception as error:
                if not isinstance(error, ClusterError):
                    log.exception("watch.failed", kind=self.kind.name)
                if getattr(error, "status", 0) == _GONE or not isinstance(error, ClusterError):
                    self._version = None
                failures += 1
                log.warning("watch.interrupted", kind=self.kind.name, error=str(error)[:500])
                self._stopped.wait(_BACKOFF.pause(failures))

    def _seconds_left(self) -> float:
        return self._listed_at + self._resync_seconds - time.monotonic()

    def _list(self) -> None:
        began = time.monotonic()
        uids: set[str] = set()
        version = ""
        for page in self._lists.pages(self.kind, self._namespace, labels=RESOURCE_LABEL, size=PAGE):
            version = page["metadata"]["resourceVersion"]  # the same for all pages
            for found in page["items"]:
                uids.add(found["metadata"]["uid"])
                self._children.seen(self._document(found))
        self._children.only(self.kind, self._namespace, uids, int(version))
        self._version, self._listed_at = version, began
        self._on_listed(self)

    def _follow(self) -> None:
        began = time.monotonic()
        seconds = max(1, round(self._seconds_left()))
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "labelSelector": RESOURCE_LABEL,
            "resourceVersion": self._version or "",
            "timeoutSeconds": str(seconds),
        }
        with self._connection.lines(self.kind.path(self._namespace), query, seconds + READ_MARGIN_SECONDS) as lines:
            for line in lines:
                if self._stopped.is_set():
                    return
                self._take(json.loads(line))
        if time.monotonic() - began < _SHORT_SECONDS:
            self._stopped.wait(_SHORT_SECONDS)

    def _take(self, event: Document) -> None:
        """Take in an event; raises ClusterError for one that says what is wrong."""
        found = event["object"]
        if event["type"] == "ERROR":
            raise ClusterError(f"watch of {self.kind.plural}: {found.get('message', found)}", found.get("code") or 0)
        if event["type"] in ("ADDED", "MODIFIED"):
            self._children.seen(self._document(found))
        elif event["type"] == "DELETED":
            self._children.gone(self._document(found))
        self._version = found["metadata"]["resourceVersion"]  # a bookmark has nothing else

    def _document(self, found: Document) -> Document:
        """Complete an item of a list, which has no kind."""
        return {**found, "apiVersion": self.kind.api_version, "kind": self.kind.name}
