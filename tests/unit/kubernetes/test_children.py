"""What is known of children, and how lists and watches keep that true."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from kubernetes.client import Configuration

from logpersister.backoff import Backoff
from logpersister_operator.cluster.access import Access
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import CONFIG_MAP, POD, SERVICE, Document, Kind, Reference
from logpersister_operator.observe import watches
from logpersister_operator.observe.children import Children, NotListedError
from logpersister_operator.observe.streams import SILENCE_SECONDS, Streams
from logpersister_operator.observe.watches import Watches
from logpersister_operator.observed_state import ResourceKey
from tests.integration.harness.waiting import eventually
from tests.stack.ports import LOOPBACK

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
        """Versions and items of pages, or an error."""
        self.events_of: list[Any] = []
        """The events of each watch, or an error; then nothing happens until the end."""
        self.followed_from: list[str] = []
        self.idle = threading.Event()

    async def pages(self, kind: Kind, namespace: str | None, labels: str) -> AsyncIterator[Document]:
        if kind is not CONFIG_MAP:
            yield {"items": [], "metadata": {"resourceVersion": "1"}}
            return
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        version, *pages = answer
        for items in pages:
            yield {"items": items, "metadata": {"resourceVersion": version}}

    async def events(
        self, kind: Kind, namespace: str | None, labels: str, *, version: str, **_: object
    ) -> AsyncGenerator[Document, None]:
        answer = None
        if kind is CONFIG_MAP:
            self.followed_from.append(version)
            answer = self.events_of.pop(0) if self.events_of else None
        if isinstance(answer, Exception):
            raise answer
        for one in answer or ():
            if isinstance(one, Exception):
                raise one
            yield one
        if answer is None:
            if kind is CONFIG_MAP:
                self.idle.set()
            await asyncio.Event().wait()

    async def close(self) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(watches, "_BACKOFF", Backoff(0.001, 0.001))
    monkeypatch.setattr(watches, "_SHORT_SECONDS", 0.001)
    return Server()


def follow(server: Server) -> tuple[Watches, Children]:
    """Watch until nothing happens any more; return what is known then."""
    children = Children(lambda _: None)
    watching = Watches(server, children, ("logs",))  # type: ignore[arg-type]
    watching.start()
    assert server.idle.wait(60)
    watching.stop()
    return watching, children


def event(kind: str, found: Document) -> Document:
    return {"type": kind, "object": found}


def test_a_list_of_several_pages_and_the_changes_after_it(server: Server) -> None:
    server.lists = [("10", [child("a", 3), child("b", 4)], [child("c", 5)])]
    server.events_of = [[event("DELETED", child("a", 11)), event("ADDED", child("d", 12))]]
    assert names(follow(server)[1]) == {"b", "c", "d"}
    assert server.followed_from == ["10", "12"]


def test_a_watch_whose_past_is_gone_begins_with_a_new_list(server: Server) -> None:
    expired = ClusterError("too old resource version", 410)
    server.lists = [("10", [child("a", 3), child("b", 4)]), ("20", [child("b", 4)])]
    server.events_of = [[event("BOOKMARK", {"metadata": {"resourceVersion": "15"}}), expired]]
    assert names(follow(server)[1]) == {"b"}
    assert server.followed_from == ["10", "20"]


def test_an_api_server_that_is_away_is_asked_again_and_nothing_is_taken_for_gone(server: Server) -> None:
    server.lists = [ClusterError("away"), ("10", [child("a", 3)]), ("10", [child("a", 3)])]
    server.events_of = [ClusterError("away"), [event("MODIFIED", child("a", 14))], ClusterError("refused", 403)]
    watching, children = follow(server)
    assert names(children) == {"a"}
    assert children.of(KEY)[Reference("ConfigMap", "a")].version == 14
    assert server.followed_from == ["10", "10", "14", "14"]
    assert not watching.restored


def test_a_list_of_an_earlier_version_shows_that_etcd_was_restored_and_an_event_is_no_proof(server: Server) -> None:
    behind = event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})  # of an API server whose cache is behind
    server.lists = [("10", [child("a", 3)]), ("11", [child("a", 3)])]
    server.events_of = [[behind]]
    assert not follow(server)[0].restored

    server.lists, server.followed_from = [("10", [child("a", 3)]), ("9", [child("a", 2)])], []
    server.events_of, server.idle = [[behind]], threading.Event()
    children = Children(lambda _: None)
    watching = Watches(server, children, ("logs",))  # type: ignore[arg-type]
    watching.start()
    eventually("it is noticed", lambda: watching.restored == "configmaps are listed at version 9 after 10")
    watching.stop()


def test_a_list_without_a_change_that_it_must_have_shows_that_etcd_was_restored(server: Server) -> None:
    """Even when so much was written since that versions are higher than any that was seen."""
    server.lists = [("10", [child("a", 3)]), ("20", [child("a", 3)])]
    server.events_of = [[event("MODIFIED", child("a", 14))], ClusterError("away")]
    children = Children(lambda _: None)
    watching = Watches(server, children, ("logs",))  # type: ignore[arg-type]
    watching.start()
    eventually("it is noticed", lambda: watching.restored == "configmaps are listed at version 20 as they were before")
    watching.stop()
    assert server.followed_from == ["10", "14"], "nothing is followed from a version that is unknown"


def test_each_namespace_is_complete_by_itself_and_one_that_is_refused_is_told(server: Server) -> None:
    pages = server.pages

    async def refused_in_audit(kind: Kind, namespace: str | None, labels: str) -> AsyncIterator[Document]:
        if namespace == "audit" and kind is POD:
            raise ClusterError("pods is forbidden (403)", 403)
        async for page in pages(kind, namespace, labels):
            yield page

    server.pages = refused_in_audit  # type: ignore[method-assign]
    server.lists = [("10", [child("a", 3)]), ("10", [])]
    children = Children(lambda _: None)
    watching = Watches(server, children, ("logs", "audit"))  # type: ignore[arg-type]
    before = threading.active_count()
    watching.start()
    assert threading.active_count() <= before + 1, "one thread, however many namespaces there are"
    eventually("one namespace is known", lambda: children.listed("logs"))
    assert names(children) == {"a"}
    assert not children.listed("audit")
    with pytest.raises(NotListedError):
        children.of(ResourceKey("audit", "clicks"))
    refused = {("Pod", "audit")}
    eventually("it is told", lambda: {(one.kind, one.namespace) for one in watching.ages() if one.refusal} == refused)
    watching.stop()


@pytest.mark.parametrize(("status", "is_told"), [(403, True), (401, False)])
def test_a_drain_is_given_up_for_want_of_rights_and_not_because_nobody_can_log_in(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int, is_told: bool
) -> None:
    monkeypatch.setattr(watches, "REFUSED_SECONDS", 0.0)

    async def refused(kind: Kind, namespace: str | None, labels: str) -> AsyncIterator[Document]:
        if namespace == "logs":
            raise ClusterError("refused", status)
        yield {}

    server.pages = refused  # type: ignore[method-assign]
    watching = Watches(server, Children(lambda _: None), ("logs",))  # type: ignore[arg-type]
    watching.start()
    eventually("it is refused", lambda: any(one.refusal for one in watching.ages()))
    assert (watching.refusal("logs"), watching.refusal("web")) == ("refused" if is_told else "", "")
    watching.stop()


SILENT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_watch_that_is_silent_for_longer_than_bookmarks_take_ends() -> None:
    assert 60 < SILENCE_SECONDS < 90

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        line = json.dumps(event("BOOKMARK", {"metadata": {"resourceVersion": "1"}})).encode() + b"\n"
        writer.write(SILENT + f"{len(line):x}\r\n".encode() + line + b"\r\n")
        await writer.drain()
        await reader.read()  # a connection that is there and says nothing, as behind a dead load balancer
        writer.close()

    async def scene() -> list[str]:
        listening = await asyncio.start_server(answer, LOOPBACK, 0)
        port = listening.sockets[0].getsockname()[1]
        found = Streams(Access(lambda: Configuration(f"http://{LOOPBACK}:{port}")), silence_seconds=0.2)
        begun: list[str] = []
        async with listening:
            events = found.events(POD, None, "", version="1", seconds=300, on_begin=lambda: begun.append("begun"))
            begun += [one["type"] async for one in events]
            await found.close()
        return begun

    assert asyncio.run(asyncio.wait_for(scene(), 60)) == ["begun", "BOOKMARK"]
