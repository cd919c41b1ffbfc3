"""An API server in memory that crashes its client between any two writes, hides events, and tells old news.

Those are the three ways to break a controller of "Automatic reliability testing for cluster management controllers"
(Sieve, OSDI 2022). What a real API server does is tested against a real one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import Document, Kind, Reference
from logpersister_operator.observe.children import Children
from logpersister_operator.observed_state import ResourceKey

Value = TypeVar("Value")


class Crash(BaseException):
    """The operator is killed."""


@dataclass
class Faults:
    """What goes wrong; numbers count from 1, 0 is never."""

    crash_at: int = 0
    """The write at which the operator is killed."""
    crash_after: bool = False
    """Whether that write still happens."""
    hide: int = 0
    """The event that the watch loses."""
    delay: int = 0
    """How many events the watch is behind."""
    list_slowly: bool = False
    """Whether the watch of a new operator delivers one object before each reconciliation."""


@dataclass
class FakeCluster:
    """Keeps objects, and tells `children` of them as a watch does."""

    faults: Faults = field(default_factory=Faults)
    objects: dict[Reference, Document] = field(default_factory=dict)
    children: Children | None = None
    writes: int = 0
    events_told: int = 0
    _versions: int = 100
    _pending: list[tuple[str, Document]] = field(default_factory=list)

    # what users do

    def put_resource(self, document: Document) -> None:
        """Create the resource, or change its spec."""
        reference = Reference.of(document)
        known = self.objects.get(reference)
        metadata = {**document["metadata"], "resourceVersion": self._next_version()}
        if known is not None:
            metadata["generation"] = known["metadata"]["generation"] + (known["spec"] != document["spec"])
        self.objects[reference] = {**document, "metadata": metadata, "status": (known or {}).get("status", {})}

    def get_members_ready(self) -> None:
        """Let every StatefulSet have what it wants."""
        for reference, one in self.objects.items():
            if reference.kind == "StatefulSet":
                status = {"observedGeneration": one["metadata"]["generation"], "readyReplicas": one["spec"]["replicas"]}
                if one.get("status") != status:
                    self._store({**one, "status": status})

    def tell(self, number: int) -> bool:
        """Tell one object as a list does; return whether there is one with this number."""
        assert self.children is not None
        found = sorted(self._ours(), key=lambda one: (one["kind"], one["metadata"]["name"]))[number : number + 1]
        for one in found:
            self.children.seen(copied(one))
        return bool(found)

    def resync(self) -> None:
        """Tell everything anew, as a watch does now and then."""
        assert self.children is not None
        self.flush()
        self.children.complete()
        known = {reference for key in {_key(one) for one in self._ours()} for reference in self.children.of(key)}
        for one in self._ours():
            self.children.seen(copied(one))
            known.discard(Reference.of(one))
        for key in {_key(one) for one in self._ours()}:
            for reference, child in self.children.of(key).items():
                if reference in known:
                    self.children.lost(child)

    def flush(self) -> None:
        """Let the watch catch up."""
        while self._pending:
            self._tell(*self._pending.pop(0))

    # what the operator does: the protocol Cluster

    def get(self, kind: Kind, namespace: str, name: str) -> Document | None:
        found = self.objects.get(Reference(kind.name, name))
        return copied(found)

    def find(self, kind: Kind, namespace: str, name: str) -> Document | None:
        return self.get(kind, namespace, name)

    def apply(self, document: Document, uid: str | None = None) -> Document:
        known = self.objects.get(Reference.of(document))
        if (None if known is None else known["metadata"]["uid"]) != uid:
            raise ClusterError("it is another one", 409)
        return self._write(lambda: self._apply(document))

    def apply_status(self, document: Document) -> Document:
        return self._write(lambda: self._apply_status(document))

    def scale(self, child: Document) -> Document:
        return self._write(lambda: self._scale(child))

    def create(self, document: Document) -> Document:
        return self._write(lambda: self._create(document))

    def replace(self, document: Document) -> Document:
        return self._write(lambda: self._replace(document))

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, at_once: bool = False) -> None:
        self._write(lambda: self._delete(Reference(kind.name, name), uid))

    def post_event(self, document: Document) -> None:
        self._write(lambda: document)

    def events(self, namespace: str, uid: str) -> list[Document]:
        return []

    # inside

    def _write(self, effect: Callable[[], Document]) -> Document:
        self.writes += 1
        crashes = self.writes == self.faults.crash_at
        if crashes and not self.faults.crash_after:
            raise Crash
        made = effect()
        if crashes:
            raise Crash
        return made

    def _apply(self, document: Document) -> Document:
        known = self.objects.get(Reference.of(document))
        metadata: dict[str, Any] = copied(document["metadata"])
        if known is None:
            metadata |= {"uid": f"uid-{self._next_version()}", "generation": 1}
        else:
            changed = _content(known) != _content(document)
            metadata |= {
                "uid": known["metadata"]["uid"],
                "generation": known["metadata"]["generation"] + changed,
                "resourceVersion": known["metadata"]["resourceVersion"],
            }
            if not changed and _labels(known) == _labels(document):
                return copied(known)  # nothing is written, as on a real server
        status = {} if known is None else {"status": known["status"]} if "status" in known else {}
        return self._store({**copied(document), **status, "metadata": metadata})

    def _create(self, document: Document) -> Document:
        if Reference.of(document) in self.objects:
            raise ClusterError("it exists", 409)
        return self._apply(document)

    def _replace(self, document: Document) -> Document:
        known = self.objects.get(Reference.of(document))
        if known is None:
            raise ClusterError("it is gone", 404)
        if known["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            raise ClusterError("it has changed", 409)
        return self._store(copied(document))

    def _scale(self, stateful_set: Document) -> Document:
        known = self.objects[Reference.of(stateful_set)]
        assert known["metadata"]["uid"] == stateful_set["metadata"]["uid"]
        metadata = known["metadata"] | {"generation": known["metadata"]["generation"] + 1}
        spec = known["spec"] | {"replicas": stateful_set["spec"]["replicas"]}
        return self._store({**copied(known), "metadata": metadata, "spec": spec})

    def _apply_status(self, document: Document) -> Document:
        known = self.objects[Reference.of(document)]
        assert known["metadata"]["uid"] == document["metadata"]["uid"]
        if known["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            raise ClusterError("it has changed", 409)
        known["status"] = copied(document["status"])
        known["metadata"]["resourceVersion"] = self._next_version()
        return copied(known)

    def _delete(self, reference: Reference, uid: str | None) -> Document:
        found = self.objects.get(reference)
        if found is not None and uid in (None, found["metadata"]["uid"]):
            del self.objects[reference]
            self._emit("gone", found)
        return {}

    def _store(self, document: Document) -> Document:
        document["metadata"]["resourceVersion"] = self._next_version()
        self.objects[Reference.of(document)] = document
        self._emit("seen", document)
        return copied(document)

    def _emit(self, what: str, document: Document) -> None:
        self.events_told += 1
        if self.events_told != self.faults.hide:
            self._pending.append((what, copied(document)))
        while len(self._pending) > self.faults.delay:
            self._tell(*self._pending.pop(0))

    def _tell(self, what: str, document: Document) -> None:
        if self.children is not None:
            (self.children.seen if what == "seen" else self.children.gone)(document)

    def _ours(self) -> Iterator[Document]:
        return (one for one in self.objects.values() if one["kind"] != "LogPersister")

    def _next_version(self) -> str:
        self._versions += 1
        return str(self._versions)


def copied(value: Value) -> Value:
    """Return a deep copy of a JSON value, in a fraction of the time that `copy.deepcopy` takes for any object."""
    if isinstance(value, dict):
        return cast("Value", {key: copied(one) for key, one in value.items()})
    if isinstance(value, list):
        return cast("Value", [copied(one) for one in value])
    return value


def _key(document: Document) -> ResourceKey:
    return ResourceKey(document["metadata"]["namespace"], document["metadata"]["labels"]["logpersister.dev/resource"])


def _content(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in ("metadata", "status")}


def _labels(document: Document) -> object:
    return document["metadata"].get("labels"), document["metadata"].get("ownerReferences")
