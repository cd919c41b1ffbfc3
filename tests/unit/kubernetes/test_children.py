"""What is known of children, and how lists and watches keep that true."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from logpersister.backoff import Backoff
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import CONFIG_MAP, SERVICE, Document, Kind, Reference
from logpersister_operator.observe import watches
from logpersister_operator.observe.children import Children
from logpersister_operator.observe.watches import Watches
from logpersister_operator.observed_state import ResourceKey

KEY = ResourceKey("logs", "clicks")


def child(name: str, version: int = 1, kind: Kind = CONFIG_MAP, namespace: str = "logs") -> Document:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{name}-uid",
        "resourceVersion": str(version),
        "labels": {"logpersister.dev/resource": "clicks"},
        "managedFields": [{"manager": "someone", "fieldsV1": {"f:data": {}}}],
    }
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "data": {"a": "b"}}


@pytest.fixture
def children() -> Children:
    found = Children(lambda _: None)
    found.complete()
    return found


def names(children: Children, key: ResourceKey = KEY) -> set[str]:
    return {reference.name for reference in children.of(key)}


def test_a_list_takes_away_what_it_lacks_but_nothing_newer_nor_anything_else(children: Children) -> None:
    for one in (child("listed"), child("lost", 5), child("made-after", 11), child("other-kind", kind=SERVICE)):
        children.seen(one)
    children.seen(child("elsewhere", namespace="web"))
    children.only(CONFIG_MAP, "logs", {"listed-uid"}, version=10)
    assert names(children) == {"listed", "made-after", "other-kind"}
    assert names(children, ResourceKey("web", "clicks")) == {"elsewhere"}
    children.only(CONFIG_MAP, None, {"listed-uid"}, version=12)
    assert names(children) == {"listed", "other-kind"}
    assert not children.of(ResourceKey("web", "clicks"))


class Server:
    """Answers lists and watches of ConfigMaps as it was told to; all other lists are empty."""

    def __init__(self) -> None:
        self.lists: list[Any] = []
        """Pages of items, or an error."""
        self.events: list[Any] = []
        """The lines of each watch, or an error; then nothing happens until the end."""
        self.followed_from: list[str] = []
        self.idle = threading.Event()
        self.over = threading.Event()
        self._lock = threading.Lock()

    def request(self, method: str, path: str, *_: Any, query: Mapping[str, str], **__: Any) -> Document:
        assert method == "GET"
        if not path.endswith("/configmaps"):
            return {"items": [], "metadata": {"resourceVersion": "1"}}
        with self._lock:
            answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        version, items, *more = answer
        return {"items": items, "metadata": {"resourceVersion": version, "continue": more[0] if more else ""}}

    @contextmanager
    def lines(self, path: str, query: Mapping[str, str], _seconds: float) -> Iterator[Iterator[bytes]]:
        answer = None
        if path.endswith("/configmaps"):
            self.followed_from.append(query["resourceVersion"])
            answer = self.events.pop(0) if self.events else None
        if isinstance(answer, Exception):
            raise answer
        yield (json.dumps(one).encode() for one in answer) if answer is not None else self._silent(path)

    def _silent(self, path: str) -> Iterator[bytes]:
        if path.endswith("/configmaps"):
            self.idle.set()
        assert self.over.wait(60)
        return iter(())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(watches, "_BACKOFF", Backoff(0.001, 0.001))
    monkeypatch.setattr(watches, "_SHORT_SECONDS", 0.001)
    found = Server()
    yield found
    found.over.set()


def follow(server: Server) -> Children:
    """Watch until nothing happens any more; return what is known then."""
    children = Children(lambda _: None)
    watching = Watches(server, children, ("logs",))  # type: ignore[arg-type]
    watching.start()
    assert server.idle.wait(60)
    watching.stop()
    return children


def event(kind: str, found: Document) -> Document:
    return {"type": kind, "object": found}


def test_a_list_of_several_pages_and_the_changes_after_it(server: Server) -> None:
    server.lists = [("10", [child("a", 3), child("b", 4)], "more"), ("10", [child("c", 5)])]
    server.events = [[event("DELETED", child("a", 11)), event("ADDED", child("d", 12))]]
    assert names(follow(server)) == {"b", "c", "d"}
    assert server.followed_from == ["10", "12"]


def test_a_watch_whose_past_is_gone_begins_with_a_new_list(server: Server) -> None:
    expired = event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
    server.lists = [("10", [child("a", 3), child("b", 4)]), ("20", [child("b", 4)])]
    server.events = [[event("BOOKMARK", {"metadata": {"resourceVersion": "15"}}), expired]]
    assert names(follow(server)) == {"b"}
    assert server.followed_from == ["10", "20"]


def test_an_api_server_that_is_away_is_asked_again_and_nothing_is_taken_for_gone(server: Server) -> None:
    server.lists = [ClusterError("away"), ("10", [child("a", 3)])]
    server.events = [ClusterError("away"), [event("MODIFIED", child("a", 14))], ClusterError("refused", 403)]
    children = follow(server)
    assert names(children) == {"a"}
    assert children.of(KEY)[Reference("ConfigMap", "a")].version == 14
    assert server.followed_from == ["10", "10", "14", "14"]
