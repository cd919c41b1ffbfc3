"""What the operator keeps of resources between two reconciliations."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kubernetes.client import Configuration
from prometheus_client import generate_latest

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister_operator import managed_resources, runtime
from logpersister_operator.cluster.access import Access
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import LOGPERSISTER, Document
from logpersister_operator.decide.revisions.rollout_turns import RolloutLimits, RolloutStanding, turn
from logpersister_operator.observe.children import NotListedError
from logpersister_operator.observe.lag_connection import LagConnection
from logpersister_operator.observe.rollout_places import RolloutPlaces
from logpersister_operator.observed_state import KnownLag, MemberReport, ResourceKey, UnknownLag
from logpersister_operator.runtime import Operator
from logpersister_operator.settings import Settings
from logpersister_operator.supervision import Supervisors
from tests.unit.kubernetes.fake_cluster import FakeCluster
from tests.unit.kubernetes.samples import IMAGE, lag, pod, report, resource

KEY = ResourceKey("logs", "clicks-backup")


class Group:
    """Stands for the questions about one group."""

    made: list["Group"]
    answer: KnownLag | UnknownLag

    def __init__(self, _resource: Any, _secrets: Any, no_progress: object | None = None) -> None:
        self.no_progress = no_progress or object()
        self.made.append(self)


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Operator]:
    Group.made, Group.answer = [], UnknownLag("not today")
    monkeypatch.setattr(managed_resources, "GroupLag", Group)
    monkeypatch.setattr(LagConnection, "ask", lambda _, groups: [group.answer for group in groups])
    monkeypatch.setattr(runtime, "Departures", Leaving)
    operator = Operator(Access(lambda: Configuration("http://none")), Settings(IMAGE), FakeCluster())
    operator.register(KEY, lambda: None)
    operator.children.complete()
    yield operator
    operator.stop()


class Leaving:
    """Stands for the removal of members from their group."""

    def __init__(self, _threads: int) -> None:
        self.names: list[str] = []

    def begin(self, _key: ResourceKey, _resource: Any, _secrets: Any, names: Collection[str]) -> None:
        self.names += names

    def forget(self, _key: ResourceKey) -> None: ...

    def close(self) -> None: ...


def written(document: Document, version: str) -> Document:
    """Return the resource after a write of its status."""
    metadata = {"resourceVersion": version, "managedFields": [{"manager": "operator", "time": version}]}
    return {**document, "metadata": document["metadata"] | metadata, "status": {"revision": version}}


def test_a_write_of_the_status_makes_no_new_connection_to_kafka(operator: Operator) -> None:
    document = resource(storage={"bucket": "logs"})
    for version in ("101", "102", "103"):
        operator.observe(written(document, version))
    assert len(Group.made) == 1


def test_a_member_whose_pod_is_gone_for_good_is_taken_out_of_the_group(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving: Any = operator._departures
    name = "clicks-backup-0a1b2c3d4e5f-0"
    Group.answer = lag(group=GroupDescription("Stable", (GroupMember(name, "10.0.0.1", 2, is_static=True),)))
    gone = pod(name)
    gone["metadata"] |= {"namespace": "logs", "uid": "1", "resourceVersion": "1"}
    gone["metadata"]["labels"]["logpersister.dev/resource"] = KEY.name
    operator.children.seen(gone)
    document = resource(storage={"bucket": "logs"})
    told = threading.Event()
    monkeypatch.setattr(operator._lags, "_on_answer", lambda _: told.set())
    cluster: Any = operator._cluster
    cluster.children = operator.children
    cluster.put_resource(document)
    document = cluster.get(LOGPERSISTER, KEY.namespace, KEY.name)
    operator.reconcile(document)
    assert told.wait(60)
    operator.reconcile(document)
    assert leaving.names == []
    operator.children.gone(gone)
    operator.reconcile(document)
    assert leaving.names == [name]


def test_nothing_is_observed_before_everything_is_listed() -> None:
    operator = Operator(Access(lambda: Configuration("http://none")), Settings(IMAGE), FakeCluster())
    with pytest.raises(NotListedError):
        operator.observe(resource())
    assert not operator.drain(resource()).step(), "that no member is known does not mean that there is none"
    operator.stop()


def test_a_rival_whose_end_no_watch_has_told_of_holds_no_group(operator: Operator) -> None:
    document = resource(storage={"bucket": "logs"})
    rival = {**document, "metadata": document["metadata"] | {"namespace": "web", "uid": "2"}}
    brokers = {"bootstrapServers": "broker-1.example:9092", "topics": ["clicks"]}
    document, rival = ({**one, "spec": one["spec"] | {"kafka": brokers}} for one in (document, rival))
    operator.groups.seen(rival)
    cluster: Any = operator._cluster
    cluster.put_resource(rival)
    assert [one.key.namespace for one in operator.observe(document)[0].rivals] == ["web"]
    cluster.objects.clear()
    assert operator.observe(document)[0].rivals == ()
    assert operator.groups.rivals(document) == ()


@pytest.mark.parametrize(
    "strange",
    [
        {},
        {"lag": [1]},
        {"startedAt": "yesterday"},
        {"uploads": {"objects": -1, "failuresLastHour": "some"}},
        {"rebalance": None, "errors": {"recent": [{"upload": True}]}},
    ],
)
def test_what_is_said_in_the_name_of_a_member_keeps_no_resource_from_being_reconciled(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, strange: Document
) -> None:
    told = MemberReport({**(report().document or {}), **strange} if strange else {})
    monkeypatch.setattr(operator._reports, "answer", lambda _: runtime._Reports({"clicks-backup-0": told}, {}))
    cluster: Any = operator._cluster
    cluster.children = operator.children
    cluster.put_resource(resource(storage={"bucket": "logs"}))
    operator.reconcile(cluster.get(LOGPERSISTER, KEY.namespace, KEY.name))
    status = cluster.get(LOGPERSISTER, KEY.namespace, KEY.name)["status"]
    assert failed(status)["reason"] == "Complete"
    assert told.essence is not None


def make_a_mistake(*_: object) -> None:
    raise KeyError("image")


def failed(status: Document) -> Document:
    found: Document = next(one for one in status["conditions"] if one["type"] == "Reconciled")
    return found


def test_what_keeps_a_resource_from_being_reconciled_is_shown_on_it_until_it_is(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster: Any = operator._cluster
    cluster.children = operator.children
    events: list[Document] = []
    monkeypatch.setattr(cluster, "post_event", events.append)

    def get() -> Document:
        found: Document = cluster.get(LOGPERSISTER, KEY.namespace, KEY.name)
        return found

    cluster.put_resource(resource(storage={"bucket": "logs"}))
    operator.reconcile(get())
    before = get()["status"]
    assert failed(before)["reason"] == "Complete"

    with monkeypatch.context() as broken:
        broken.setattr(runtime, "decide", make_a_mistake)
        for attempt in (1, 2, 3):
            with pytest.raises(KeyError) as raised:
                operator.reconcile(get())
            operator.report_failure(get(), raised.value, attempt)
            assert (get()["status"] == before) is (attempt == 1), "one that fails at once may pass at once"
    shown = get()["status"]
    assert {**shown, "conditions": []} == {**before, "conditions": []} | {"summary": shown["summary"]}, "all else stays"
    assert (failed(shown)["status"], failed(shown)["reason"]) == ("False", "ReconciliationFailed")
    assert "KeyError('image') (2 attempts in a row)" in failed(shown)["message"], "a count alone is written later"
    assert shown["summary"]["state"] == "ReconciliationFailed"
    operator._count_resources()
    assert b'status="False",type="Reconciled"} 1.0' in generate_latest(operator.metrics.registry)

    operator.reconcile(get())
    assert failed(get()["status"])["reason"] == "Complete"
    assert [one["reason"] for one in events if one["reason"] in ("ReconciliationFailed", "Complete")] == [
        "ReconciliationFailed",
        "Complete",
    ]


@pytest.mark.parametrize("status", [401, 403])
def test_a_login_that_is_refused_says_nothing_about_a_child(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    cluster: Any = operator._cluster

    def apply(document: Document, uid: str | None = None) -> Document:
        raise ClusterError("refused", status)

    cluster.put_resource(resource(storage={"bucket": "logs"}))
    monkeypatch.setattr(cluster, "apply", apply)
    document = cluster.get(LOGPERSISTER, KEY.namespace, KEY.name)
    if status == 403:
        operator.reconcile(document)
        assert operator._reconciler.refusals(KEY)
        return
    with pytest.raises(ClusterError):
        operator.reconcile(document)
    assert not operator._reconciler.refusals(KEY)


class Going:
    """Stands for the flag by which `kopf` ends a daemon."""

    def __bool__(self) -> bool:
        return False

    async def wait(self) -> None:
        await asyncio.Event().wait()


def test_a_resource_that_leaves_while_it_is_reconciled_keeps_no_place(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = operator.rollout_places = RolloutPlaces(RolloutLimits(1), lambda _: None)
    begun, left = threading.Event(), threading.Event()

    def reconcile(_: Document) -> float:
        begun.set()
        assert left.wait(60)
        places._standings[KEY] = RolloutStanding(holds=True)
        return 60.0

    async def scene() -> None:
        body: Any = resource()
        with ThreadPoolExecutor(1) as workers:
            supervisors = Supervisors(operator, workers)
            life = asyncio.create_task(supervisors.supervise(body, Going()))  # type: ignore[arg-type]
            assert await asyncio.to_thread(begun.wait, 60)
            supervisors.gone(body)
            left.set()
            await asyncio.wait_for(life, 60)
            supervisors.close()

    monkeypatch.setattr(operator, "reconcile", reconcile)
    asyncio.run(scene())
    assert not places._standings


def test_a_resource_that_was_never_valid_or_cannot_be_reconciled_keeps_no_other_waiting(operator: Operator) -> None:
    places = operator.rollout_places = RolloutPlaces(RolloutLimits(1, ("logs",)), lambda _: None)
    invalid, waits = resource(unknown=1), ResourceKey("data", "waits")

    def turn_of_the_other() -> str:
        return turn(waits, {**places._standings, waits: RolloutStanding(wants=True)}, places._limits)

    places.seen(invalid)
    assert "canary namespaces come first: a resource of another namespace" in turn_of_the_other()
    operator.observe(invalid)
    assert turn_of_the_other() == ""

    places.gone(invalid)
    places.seen(resource())
    assert turn_of_the_other()
    operator.report_failure(resource(), ClusterError("GET /api/v1/secrets: forbidden (403)", 403), 1)
    assert turn_of_the_other() == ""


def test_pages_are_told_what_the_last_reconciliation_wrote_until_the_resource_goes(operator: Operator) -> None:
    cluster: Any = operator._cluster
    cluster.children = operator.children
    cluster.put_resource(resource(storage={"bucket": "logs"}))
    document = cluster.get(LOGPERSISTER, KEY.namespace, KEY.name)
    assert operator.glances() == {}
    operator.reconcile(document)
    glance = operator.glances()[KEY]
    assert glance.status.summary is not None
    assert (glance.status.summary.members, glance.standing.state.text) == ("0/1", "not ready: Starting 0/1")
    assert glance.target_seconds == 31 * 60
    operator.report_failure(document, ClusterError("no", 403), attempts=2)
    assert operator.glances()[KEY].standing.state.text == "not reconciled: ReconciliationFailed"
    wake = operator._managed.get(KEY).wake
    assert wake is not None
    operator.unregister(KEY, wake)
    assert operator.glances() == {}
