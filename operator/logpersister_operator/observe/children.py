"""The children of all resources, as watches and answers to writes tell of them."""

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Final

from logpersister_operator.cluster.kinds import Document, Kind, Reference
from logpersister_operator.observed_objects import Child, view
from logpersister_operator.observed_state import ResourceKey, labelled
from logpersister_operator.render.ownership import RESOURCE_LABEL

_NOBODY: Final = ResourceKey("", "")


class NotListedError(Exception):
    """Not everything that is there has been seen yet: what is not known may well exist."""


class RefusedError(Exception):
    """The API server does not tell of a namespace any more."""


class Children:
    """What is known of the children, and who is notified when one changes. Thread-safe."""

    def __init__(self, on_change: Callable[[ResourceKey], None]) -> None:
        self._on_change = on_change
        self._known: dict[ResourceKey, dict[Reference, Child]] = {}
        self._keys: dict[str, ResourceKey] = {}
        """The resource of each child by the uid of the child: its label may change."""
        self._lock = threading.Lock()
        self._listed: set[str | None] = set()
        """Namespaces; None for all of them."""

    def listed(self, namespace: str | None) -> bool:
        """Whether everything of a namespace was seen once, so that what is not known is not there."""
        return None in self._listed or namespace in self._listed

    def complete(self, namespace: str | None = None) -> None:
        """Take in that the first lists of a namespace, or of all of them, are complete."""
        self._listed.add(namespace)

    def of(self, key: ResourceKey) -> Mapping[Reference, Child]:
        """Return the children of a resource as they are known now; raises NotListedError before all were listed."""
        if not self.listed(key.namespace):
            raise NotListedError(f"{key}: not all objects are listed yet")
        with self._lock:
            return dict(self._known.get(key, {}))

    def seen(self, document: Document) -> Child:
        """Take in a child as it is now, and return it; what is older than what is known counts for nothing."""
        child = view(document)
        key = labelled(child.namespace, child.labels[RESOURCE_LABEL])
        with self._lock:
            before = self._keys.get(child.uid, key)
            known = self._known.get(before, {}).get(child.reference)
            if known is not None and known.version >= child.version:
                return child
            if known is not None:
                self._remove(before, known)
            self._known.setdefault(key, {})[child.reference] = child
            self._keys[child.uid] = key
        for one in {before, key}:
            self._on_change(one)
        return child

    def contradicts(self, listed: Document, version: int) -> bool:
        """Whether a list of this version has a child as it was before a change that the list must have."""
        child = view(listed)
        with self._lock:
            known = self._known.get(self._keys.get(child.uid, _NOBODY), {}).get(child.reference)
        return known is not None and child.version < known.version <= version

    def gone(self, document: Document) -> None:
        """Take in that a child does not exist any more."""
        self.lost(view(document))

    def lost(self, child: Child) -> None:
        """Take in that a child that was known does not exist any more."""
        with self._lock:
            key = self._keys.get(child.uid)
            if key is None:
                return
            self._remove(key, child)
        self._on_change(key)

    def only(self, kind: Kind, namespace: str | None, uids: Collection[str], version: int) -> None:
        """Take in that these were all objects of a kind in a namespace, or anywhere, when the list was of a version.

        What was made or changed after that may be there all the same.
        """
        with self._lock:
            lost = [
                child
                for key, children in self._known.items()
                if namespace in (None, key.namespace)
                for reference, child in children.items()
                if reference.kind == kind.name and child.uid not in uids and child.version <= version
            ]
        for child in lost:
            self.lost(child)

    def _remove(self, key: ResourceKey, child: Child) -> None:
        del self._known[key][child.reference], self._keys[child.uid]
        if not self._known[key]:
            del self._known[key]
