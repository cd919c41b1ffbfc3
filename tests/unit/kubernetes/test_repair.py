"""Stalled members: how they are recognised, and that restarts stay within the budget whatever happens."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister.manifest import parse
from logpersister.manifest.blocks.repair import RepairSpec
from logpersister.manifest.spec import Spec
from logpersister.ranges import TopicPartition
from logpersister.report.plain import rfc3339
from logpersister.storage.connection import ATTEMPTS, CONNECT_TIMEOUT, READ_TIMEOUT
from logpersister_operator.act.reconciler import Reconciler
from logpersister_operator.cluster.kinds import Document, Kind, Reference
from logpersister_operator.crd.status_members import Restart
from logpersister_operator.decide.health.repair import (
    HOUR,
    LONGEST_DISTANCE,
    SETTLING,
    Budget,
    RepairDecision,
    decide_repair,
)
from logpersister_operator.decide.health.stalled_members import PATIENCE, SLOWEST
from logpersister_operator.decide.lag_targets import due_seconds
from logpersister_operator.decide.validity import check
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children
from logpersister_operator.observe.lag import NoProgress
from logpersister_operator.observe.members import UnansweredSince
from logpersister_operator.observe.resource import resource_of
from logpersister_operator.observed_state import KnownLag, MemberReport, ObservedState, UnknownLag
from logpersister_operator.render.instance_ids import instance_id
from logpersister_operator.runtime import subject_of
from tests.examples import examples
from tests.unit.kubernetes.fake_cluster import FakeCluster
from tests.unit.kubernetes.samples import (
    NOW,
    Life,
    by_reference,
    condition,
    failure,
    lag,
    observed,
    pod,
    report,
    reported,
    resource,
    verdict,
    written,
)

A, B, C = "lp-0", "lp-1", "lp-2"
OWNED = {name: frozenset({TopicPartition("clicks", number)}) for number, name in enumerate((A, B, C))}
MINUTE = timedelta(minutes=1)
LONG = 3 * HOUR
SILENT = MemberReport(None, "timed out")


def spec(**policy: Any) -> Spec:
    return parse({key: value for key, value in resource(autoRepair=policy).items() if key != "status"}).spec


def kafka(overdue: Mapping[str, timedelta], *, state: str = "Stable", owned: Any = OWNED) -> KnownLag:
    """Return what Kafka tells: all partitions of the named members have been overdue for so long."""
    uid = resource()["metadata"]["uid"]
    members = tuple(
        GroupMember(instance_id(name, uid) if number else name, "10.0.0.1", len(own), True, own)
        for number, (name, own) in enumerate(owned.items())  # the first one is called as members were at first
    )
    waits = {one: by.total_seconds() for name, by in overdue.items() for one in owned[name]}
    return lag(group=GroupDescription(state, members), overdue=waits)


def pods(names: Sequence[str] = tuple(OWNED), *, generation: int = 0, ready: bool = True) -> list[Document]:
    found = [pod(name, ready=ready) for name in names]
    for one in found:
        one["metadata"]["uid"] = f"{one['metadata']['name']}-{generation}"
        one["status"]["conditions"][0]["lastTransitionTime"] = rfc3339(NOW - 10 * LONG)
    return found


def children(members: Sequence[Document], owner: str = resource()["metadata"]["uid"]) -> dict[Reference, Document]:
    """Return the pods with their StatefulSet."""
    labels = {"logpersister.dev/revision": "0a1b2c3d4e5f"}
    metadata = {"name": "lp", "labels": labels, "ownerReferences": [{"uid": owner}]}
    return by_reference([*members, {"kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": len(OWNED)}}])


def seen(
    overdue: Mapping[str, timedelta],
    reports: Mapping[str, MemberReport] | None = None,
    *,
    at: datetime = NOW,
    status: Document | None = None,
    **known: Any,
) -> ObservedState:
    """Return three members that are fine, but for what is given."""
    document = resource() | ({"status": status} if status else {})
    said = {name: report() for name in OWNED} | dict(reports or {})
    told = kafka(overdue)
    told = replace(told, summary=replace(told.summary, observed_at=at))
    facts = {"lag": told, "children": children(pods()), "reports": said} | known
    return replace(observed(document, **facts), now=at)


def cared(found: ObservedState, *, hands_off: str = "", paused: bool = False, **policy: Any) -> RepairDecision:
    said = reported(found, paused=paused)
    return decide_repair(spec(**policy), found.own, said, found.lag, hands_off=hands_off)


def job(progress: datetime, *partitions: str, size: int = 0) -> Document:
    return {
        "startedAt": rfc3339(progress), "progressAt": rfc3339(progress), "tasks": 2, "tasksDone": 0, "ranges": 2,
        "estimatedBytes": size, "partitions": {"count": len(partitions), "first": list(partitions)},
    }  # fmt: skip


def working(*jobs: Document, at: datetime = NOW, **changes: Any) -> MemberReport:
    return report(progress={"at": rfc3339(at), "jobs": list(jobs)}, **changes)


STANDS = working(at=NOW - LONG)
"""It runs nothing and has stored nothing for long."""
WORST = {"known": True, "complete": True, "records": 9, "worst": [{"topic": "clicks", "partition": 0, "seconds": 9e9}]}
HELD = {"count": 1, "first": [{"topic": "clicks", "partition": 0, "reason": "data-lost", "message": ""}]}
RECENT = rfc3339(NOW - MINUTE) or ""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (STANDS, "it stores nothing"),
        (working(job(NOW - LONG, "clicks-0")), "a Spark job makes no progress"),
        (working(job(NOW - LONG, "clicks-0"), executors=0), "it has no executor"),
        (working(job(NOW, "clicks-7"), lag=WORST), "its other partitions make progress"),
        (working(job(NOW - LONG, "clicks-0", size=2 * SLOWEST * int(LONG.total_seconds()))), ""),
        (working(job(NOW, "clicks-0"), lag=WORST), ""),
        (working(job(NOW), lag={"known": False, "message": ""}), ""),
        (report(progress={"at": rfc3339(NOW - LONG), "jobs": []}, state="draining"), ""),
        (report(progress={"at": rfc3339(NOW - LONG), "jobs": []}, heldPartitions=HELD), ""),
        (report(progress={"at": rfc3339(NOW - LONG), "jobs": []}, heldPartitions={"count": 99, "first": []}), ""),
    ],
    ids=["nothing", "job", "no-executor", "left-behind", "large", "in-a-job", "works", "drains", "held", "many-held"],
)  # fmt: skip
def test_why_a_member_hangs_is_what_it_says_of_itself(said: MemberReport, cause: str) -> None:
    found = cared(seen({A: LONG}, {A: said})).verdict
    if cause:
        assert found.reason == "MemberHangs"
        assert f": {cause}; partition clicks-0 does not move" in found.message
    else:
        assert found.holds


def test_kafka_has_to_agree_and_to_answer() -> None:
    assert cared(seen({}, {A: STANDS})).verdict.holds, "nothing waits"
    assert cared(seen({A: LONG}, {A: STANDS}, children=children([]))).verdict.holds, "it has no pod"
    assert cared(seen({A: LONG}, {A: STANDS}, children=children(pods(), owner="another"))).verdict.holds, "not ours"
    away = seen({A: LONG}, {A: STANDS}, lag=UnknownLag("timed out"))
    assert (cared(away).verdict.status, cared(away).verdict.reason) == ("Unknown", "LagUnknown")
    moving = seen({}, {A: STANDS}, lag=kafka({A: LONG}, state="PreparingRebalance"))
    assert cared(moving).verdict.reason == "NoMemberAnswers"
    told = [written("MembersProgressing", "False", "MemberHangs", "as before")]
    moving = seen({}, {A: STANDS}, lag=kafka({A: LONG}, state="PreparingRebalance"), status={"conditions": told})
    assert cared(moving).verdict.message == "as before"
    new = seen({}, lag=replace(kafka({}), watched=False), status={"conditions": told})
    assert cared(new).verdict.message == "as before", "an operator that has just begun to look does not know better"
    assert cared(replace(new, lag=kafka({}))).verdict.holds


def test_one_that_is_silent_hangs_since_it_is_silent() -> None:
    unanswered = UnansweredSince()
    assert unanswered.observe({A: SILENT, B: report()}, NOW) == {A: NOW}
    silent = unanswered.observe({A: SILENT}, NOW + MINUTE)
    found = seen({A: LONG}, {A: SILENT}, silent=silent, at=NOW + 9 * MINUTE)
    assert "since 2026-11-21T12:00:00Z: its /status does not answer" in cared(found).verdict.message
    assert not cared(found).restarts
    later = cared(replace(found, now=NOW + 10 * MINUTE))
    assert later.restarts
    assert "since 2026-11-21T12:00:00Z" in later.verdict.message
    assert unanswered.observe({A: report()}, NOW) == {}


def test_that_none_answers_is_no_fault_of_theirs() -> None:
    silent = dict.fromkeys(OWNED, NOW - 10 * LONG)
    assert cared(seen({A: LONG}, {A: SILENT, B: SILENT}, silent=silent)).restarts
    found = cared(seen({A: LONG}, dict.fromkeys(OWNED, SILENT), silent=silent))
    assert not found.restarts
    assert A not in found.verdict.message


def test_it_is_restarted_when_it_has_hung_for_long_and_that_is_counted_and_told() -> None:
    soon = seen({A: 9 * MINUTE}, {A: STANDS})
    waits = cared(soon)
    assert "it is restarted at 2026-11-21T12:01:00Z unless it makes progress" in waits.verdict.message
    assert not waits.restarts
    assert not waits.pods(soon.own, soon.now)

    found = seen({A: 10 * MINUTE}, {A: STANDS})
    done = cared(found)
    assert [(one.member, one.pod, one.time, one.count) for one in done.restarts] == [(A, f"{A}-0", NOW, 1)]
    assert [one.uid for one in done.pods(found.own, found.now)] == [f"{A}-0"]
    (event,) = done.events
    assert (event.reason, event.warning) == ("MemberRestarted", True)
    assert "clicks-0" in event.message

    status = {"restarts": [one.model_dump(mode="json", by_alias=True) for one in done.restarts]}
    killed = seen({A: 10 * MINUTE}, {A: STANDS}, status=status)
    assert cared(killed).restarts == done.restarts, "an operator that comes after it spends no more"
    assert [one.uid for one in cared(killed).pods(killed.own, killed.now)] == [f"{A}-0"], "and does what was decided"
    back = seen({}, status=status, children=children(pods(generation=1)))
    assert not cared(back).pods(back.own, back.now)


@pytest.mark.parametrize(
    ("facts", "policy", "reason", "words"),
    [
        ({}, {"maxRestartsPerHour": 0}, "MemberHangs", "maxRestartsPerHour is 0"),
        ({"hands_off": "a rollout is under way"}, {}, "MemberHangs", "not restarted: a rollout"),
        ({"reports": {B: STANDS}}, {}, "MembersHangAlike", "2 of 3 members hang or fail alike"),
        ({"reports": {B: report([failure(RECENT) | {"partition": 1}])}}, {}, "MembersHangAlike", "2 of 3 members"),
        ({"reports": {A: working(job(NOW), executors=0)}}, {}, "MemberHangs", "why its executors do not start"),
    ],
)
def test_why_it_is_not_restarted(facts: dict[str, Any], policy: Any, reason: str, words: str) -> None:
    said = {A: STANDS, **facts.get("reports", {})}
    found = cared(seen({A: LONG, B: LONG}, said), hands_off=facts.get("hands_off", ""), **policy)
    assert found.verdict.reason == reason
    assert words in found.verdict.message
    assert not found.restarts


def test_the_only_member_is_restarted_but_not_for_what_it_cannot_help() -> None:
    alone: dict[str, Any] = {"lag": kafka({A: LONG}, owned={A: OWNED[A]}), "children": children(pods([A]))}
    assert cared(seen({}, {A: STANDS}, **alone)).restarts
    fails = report([failure(RECENT) | {"partition": 0}])
    assert cared(seen({}, {A: fails, B: SILENT, C: SILENT}, **alone)).verdict.holds


def test_one_whose_ranges_fail_is_restarted_when_others_store_meanwhile() -> None:
    fails = report([failure(RECENT) | {"partition": 0}])
    document = report().document or {}
    idle: dict[str, Any] = {"uploads": {**document["uploads"], "last": rfc3339(NOW - 9 * LONG)}}
    assert cared(seen({A: LONG}, {A: fails})).restarts
    others = {B: report(**idle), C: report(**idle)}
    assert cared(seen({A: LONG}, {A: fails, **others})).verdict.holds, "nobody stores: then nothing tells them apart"
    old = report([failure(rfc3339(NOW - HOUR) or "") | {"partition": 0}])
    assert cared(seen({A: LONG}, {A: old, **others})).verdict.holds, "it works again"


def test_paused_or_without_a_spec_nobody_hangs() -> None:
    found = seen({A: LONG}, {A: STANDS})
    assert cared(found, paused=True).verdict.reason == "Paused"
    assert decide_repair(None, found.own, reported(found), found.lag, hands_off="").verdict.status == "Unknown"


def test_a_plan_has_the_restart_in_its_status_but_not_while_members_are_replaced() -> None:
    life = Life()
    life.step()
    (revision,) = life.revisions()
    name = f"clicks-backup-{revision}-0"
    (member,) = pods([name])
    member["metadata"]["labels"]["logpersister.dev/revision"] = revision
    life.children |= by_reference([member])
    life.step()
    known: dict[str, Any] = {"lag": kafka({name: LONG}, owned={name: OWNED[A]}), "reports": {name: STANDS}}
    plan = life.step(**known)
    assert verdict(plan, "MembersProgressing") == ("False", "MemberHangs")
    assert [one.name for one in plan.restart] == [name]
    assert [one["pod"] for one in plan.status["restarts"]] == [f"{name}-0"]
    assert [event.reason for event in plan.events].count("MemberRestarted") == 1

    life.resource["status"]["restarts"] = []
    life.change(output={"text": {"compression": "zstd"}})
    plan = life.step(**known)
    assert verdict(plan, "MembersProgressing") == ("False", "MemberHangs")
    assert "a rollout is in progress" in condition(plan, "MembersProgressing")["message"]
    assert not plan.restart


def leaving(name: str, ended: datetime) -> Document:
    """Return the pod of a member that should have ended by a time, on a node that does not say that it has."""
    (found,) = pods([name], ready=False)
    found["metadata"]["deletionTimestamp"] = rfc3339(ended)
    return found | {"spec": {"nodeName": "node-1"}}


def lost(*names: str, minutes: int = 6, status: Document | None = None) -> ObservedState:
    gone = [leaving(name, NOW - minutes * MINUTE) for name in names]
    rest = pods([name for name in OWNED if name not in names])
    return seen({}, children=children([*gone, *rest]), status=status)


def test_a_pod_is_given_up_with_its_node_only_where_the_spec_says_so_and_not_before() -> None:
    assert not cared(found := lost(A)).pods(found.own, found.now)
    early = lost(A, minutes=4)
    assert not cared(early, nodeLostAfter="5m").pods(early.own, early.now)
    found = lost(A)
    done = cared(found, nodeLostAfter="5m")
    assert [one.uid for one in done.pods(found.own, found.now)] == [f"{A}-0"]
    assert [(one.pod, one.forced, one.count) for one in done.restarts] == [(f"{A}-0", True, 1)]
    assert (done.verdict.status, done.verdict.reason) == ("False", "NodeLost")
    assert [event.reason for event in done.events] == ["LostMemberDeleted"]
    assert f"its node node-1 does not say that pod {A} has ended" in done.events[0].message


def test_a_pod_is_given_up_once_and_the_record_finishes_what_was_decided() -> None:
    done = cared(lost(A), nodeLostAfter="5m")
    status = {"restarts": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in done.restarts]}
    again = lost(A, status=status)
    assert cared(again, nodeLostAfter="5m").restarts == done.restarts
    assert [one.uid for one in cared(again, nodeLostAfter="5m").pods(again.own, again.now)] == [f"{A}-0"]
    assert not cared(again, nodeLostAfter="5m").events


def test_a_member_that_was_restarted_because_it_hung_is_not_given_up_before_its_node_is() -> None:
    hung = seen({A: 10 * MINUTE}, {A: STANDS})
    status = {"restarts": [one.model_dump(mode="json", by_alias=True) for one in cared(hung).restarts]}
    early = lost(A, minutes=1, status=status)
    assert not cared(early, nodeLostAfter="5m").pods(early.own, early.now), "it may be storing its last objects"
    late = lost(A, status=status)
    assert [one.forced for one in cared(late, nodeLostAfter="5m").restarts] == [None, True]


@pytest.mark.parametrize(
    ("policy", "hands_off", "words"),
    [
        ({"maxRestartsPerHour": 0}, "", "maxRestartsPerHour allows no more"),
        ({"maxRestartsPerHour": 1}, "", "not deleted: 1 restart in the last hour"),
        ({}, "a rollout is in progress", "not deleted: a rollout is in progress"),
    ],
)
def test_why_a_pod_is_not_given_up(policy: Any, hands_off: str, words: str) -> None:
    first = cared(lost(A), nodeLostAfter="5m").restarts
    status = {"restarts": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in first]}
    found = lost(A, B, status=status)
    done = cared(found, hands_off=hands_off, nodeLostAfter="5m", **policy)
    assert (done.verdict.reason, done.restarts) == ("NodeLost", first)
    assert words in done.verdict.message
    assert f"{B}-0" not in [one.uid for one in done.pods(found.own, found.now)]


class Deletions(FakeCluster):
    """Notes which pods are deleted, and how; they stay, as without a node that says that they have ended."""

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, at_once: bool = False) -> None:
        self.objects[Reference("Deletion", f"{name} {uid} {at_once} {self.writes}")] = {"kind": kind.name}


def test_it_is_deleted_without_waiting_for_its_node_and_no_second_time() -> None:
    life = Life(resource(autoRepair={"nodeLostAfter": "5m"}))
    life.step()
    (revision,) = life.revisions()
    name = f"clicks-backup-{revision}-0"
    gone = leaving(name, NOW - 6 * MINUTE)
    gone["metadata"]["labels"]["logpersister.dev/revision"] = revision
    life.get_ready()
    life.step()
    life.children |= by_reference([gone])
    cluster, found = Deletions(), life.observed(reports={})
    for one in life.children.values():
        cluster.objects[Reference.of(one)] = {**one, "metadata": {**one["metadata"], "resourceVersion": "1"}}
    cluster.objects[Reference.of(life.resource)] = life.resource
    reconciler = Reconciler(cluster, Children(lambda _: None), Metrics())
    for _ in range(2):
        latest = replace(found, resource=resource_of(reconciler.with_latest_status(life.resource)))
        reconciler.reconcile(subject_of(life.resource, latest, check(latest)))
    deletions = [one.name for one in cluster.objects if one.kind == "Deletion"]
    assert [one.split()[:3] for one in deletions] == [[name, f"{name}-0", "True"]]


def test_a_member_of_the_old_revision_waits_as_long_as_that_says() -> None:
    life = Life(resource(upload={"maxAge": "1h"}))
    life.step()
    (revision,) = life.revisions()
    name = f"clicks-backup-{revision}-0"
    (member,) = pods([name])
    member["metadata"]["labels"]["logpersister.dev/revision"] = revision
    life.children |= by_reference([member])
    life.step()
    life.change(upload={"maxAge": "1m"}, rollout={"shadow": {"groupId": "clicks-shadow", "prefix": "shadow"}})
    reports = {name: working(at=NOW - 30 * MINUTE)}
    plan = life.step(lag=kafka({name: 30 * MINUTE}, owned={name: OWNED[A]}), reports=reports)
    assert plan.status["rollout"]["phase"] == "Shadowing"
    assert verdict(plan, "MembersProgressing") == ("True", "MembersProgress")
    assert not plan.restart
    plan = life.step(lag=kafka({name: 90 * MINUTE}, owned={name: OWNED[A]}), reports=reports)
    assert [one.name for one in plan.restart] == [name], "it hangs by what it runs, too"


class Hospital:
    """Members that are stalled as the test says; between two decisions only the status is kept."""

    def __init__(self, **policy: Any) -> None:
        self.policy = policy
        self.now = NOW
        self.status: Document = {}
        self.generations = dict.fromkeys(OWNED, 0)
        self.began: dict[str, datetime] = {}
        self.deleted: list[tuple[str, datetime]] = []
        self.told: list[str] = []

    def round(self, hanging: set[str], *, killed: bool) -> None:
        """Decide once and act; an operator that is killed writes the status and does nothing."""
        self.began = {name: self.began.get(name, self.now) for name in hanging}
        there = [one for name, number in self.generations.items() for one in pods([name], generation=number)]
        said = {name: working(at=self.now - LONG, observedAt=rfc3339(self.now)) for name in hanging}
        found = seen(
            {name: self.now - since for name, since in self.began.items()},
            said,
            at=self.now,
            status=self.status,
            children=children(there),
        )
        done = cared(found, **self.policy)
        self.status = {
            "restarts": [one.model_dump(mode="json", by_alias=True) for one in done.restarts],
            "conditions": [
                written("MembersProgressing", done.verdict.status, done.verdict.reason, done.verdict.message)
            ],
        }
        self.told += [event.reason for event in done.events]
        for one in [] if killed else done.pods(found.own, found.now):
            self.generations[one.name] += 1
            self.began.pop(one.name, None)
            self.deleted.append((one.name, self.now))


_WHO = st.sets(st.sampled_from(sorted(OWNED)), max_size=1)


@pytest.mark.slow
@given(
    st.lists(st.tuples(_WHO, st.booleans(), st.integers(1, 120)), min_size=1, max_size=60),
    st.integers(0, 4),
    st.sampled_from(["1s", "10m", "1h"]),
)
def test_restarts_never_exceed_the_budget(steps: list[tuple[set[str], bool, int]], most: int, after: str) -> None:
    world = Hospital(maxRestartsPerHour=most, restartAfter=after)
    for hanging, killed, minutes in steps:
        world.round(hanging, killed=killed)
        world.now += minutes * MINUTE
        assert len(world.status["restarts"]) <= 20
    times = [time for _, time in world.deleted]
    decided = [datetime.fromisoformat(one["time"]) for one in world.status["restarts"]]
    for series, slack in ((times, SETTLING), (decided, timedelta())):  # what was decided may be done a little later
        assert all(later - time >= HOUR - slack for time, later in zip(series, series[max(1, most) :], strict=False))
    assert most or not times


@examples(20)
@given(st.lists(st.integers(1, 90), min_size=20, max_size=30))
def test_a_member_that_hangs_again_and_again_is_left_alone_for_longer_each_time(pauses: list[int]) -> None:
    world = Hospital(maxRestartsPerHour=10)
    for minutes in pauses:
        world.round({A}, killed=False)
        world.now += minutes * MINUTE
    times = [time for _, time in world.deleted]
    for number, (time, later) in enumerate(pairwise(times), start=1):
        assert later - time >= min(LONGEST_DISTANCE, 10 * MINUTE * 2**number)


@pytest.mark.parametrize("after", [timedelta(seconds=1), timedelta(hours=12), timedelta(days=1)])
def test_a_member_that_has_hung_for_weeks_is_left_alone_for_the_longest_distance(after: timedelta) -> None:
    last = Restart(member=A, pod="uid", time=NOW, count=1000, cause="it stores nothing")
    assert Budget(RepairSpec(restart_after=after), (last,), NOW).not_before(A) == NOW + LONGEST_DISTANCE


def test_that_the_budget_is_used_up_is_told_once() -> None:
    world = Hospital(maxRestartsPerHour=1, restartAfter="1s")
    world.round({A}, killed=False)
    for _ in range(20):
        world.now += MINUTE
        world.round({A}, killed=False)
    assert world.told == ["MemberRestarted", "RestartsUsedUp"]
    assert world.status["conditions"][0]["reason"] == "RestartsUsedUp"
    world.now += HOUR
    world.round({A}, killed=False)
    assert len(world.deleted) == 2


def test_a_partition_is_overdue_by_what_the_spec_says_and_not_by_wishes() -> None:
    document = resource(targetLag="1s", cycleInterval="10s", upload={"maxAge": "1m"})
    assert due_seconds(parse(document).spec, "clicks") == 60 + 10 + 45
    no_progress = NoProgress()
    assert no_progress.watched(7.0) == 0
    no_progress.observe([], 7.0)
    no_progress.observe([], 10.0)
    assert no_progress.watched(10.0) == 3


def test_patience_is_longer_than_a_request_to_the_bucket_may_take_to_fail() -> None:
    assert timedelta(seconds=ATTEMPTS * (READ_TIMEOUT + CONNECT_TIMEOUT)) < PATIENCE
