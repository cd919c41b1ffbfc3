"""Storms of rebalances: when partitions move too often, since when that is counted, and what is said of it."""

from datetime import datetime, timedelta
from typing import Any

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd.status_members import Rebalance
from logpersister_operator.decide.conditions import Verdict
from logpersister_operator.decide.health.rebalance_storms import EACH, MOST, WINDOW, counted, group_stable
from tests.unit.kubernetes.samples import (
    NOW,
    by_reference,
    decide,
    lag,
    observed,
    pod,
    report,
    reported,
    resource,
    written,
)

MANY = MOST + EACH + 1
"""Of one member."""
SECOND = timedelta(seconds=1)


def rebalances(generation: int, since: datetime, start: int, last: datetime = NOW) -> Rebalance:
    return Rebalance(state="Stable", group_generation=generation, last=last, counted_since=since, counted_from=start)


def judged(
    told: Rebalance | None, *, changing: bool = False, wanted: int = 1, before: str = "", **known: Any
) -> Verdict:
    document = resource()
    if before:
        document["status"] = {"conditions": [written("GroupStable", before)]}
    seen = observed(document, **known)
    return group_stable(reported(seen), seen.own.pods(), told, wanted, changing=changing)


def test_generations_are_counted_from_the_first_that_is_seen_and_anew_after_a_while() -> None:
    assert counted(NOW, None, None) is None
    assert counted(NOW, 7, None) == (NOW, 7)
    early = NOW - WINDOW - SECOND
    assert counted(NOW, 9, rebalances(8, NOW - WINDOW, 5)) == (NOW - WINDOW, 5)
    assert counted(NOW, 9, rebalances(8, early, 5)) == (NOW, 8), "the rebalance of now is the first of a new window"
    assert counted(NOW, 8, rebalances(8, early, 5)) == (early, 5), "nothing happens, so nothing is written"
    assert counted(NOW, 1, rebalances(8, NOW, 5)) == (NOW, 1), "the group was made anew"


def test_a_storm_has_more_rebalances_than_members_explain_and_ends_when_it_is_quiet() -> None:
    began = NOW - WINDOW / 2
    assert judged(rebalances(MANY - 1, began, 0)).holds
    assert judged(rebalances(MANY, began, 0)).reason == "ManyRebalances"
    assert judged(rebalances(MANY, began, 0), wanted=2).holds, "each member may come and go"
    assert judged(rebalances(MANY, began, 0), changing=True).holds
    assert judged(rebalances(1, NOW, 0), before="False").status == "False", "a new window does not end it"
    assert judged(rebalances(1, NOW, 0, last=began - SECOND), before="False").holds
    assert judged(None).status == "Unknown"


def ended(name: str, finished: datetime) -> Document:
    last = {"terminated": {"finishedAt": finished.isoformat(), "exitCode": 137}}
    return pod(name, containerStatuses=[{"name": "member", "restartCount": 4, "lastState": last}])


def test_the_cause_is_a_member_that_restarts_or_one_that_is_silent() -> None:
    storm = rebalances(MANY, NOW - WINDOW / 2, 0)
    silent = report(rebalance={"count": 9, "groupGeneration": MANY, "last": None, "lostPartitions": 6})
    found = judged(storm, children=by_reference([pod("a"), ended("b", NOW)]), reports={"a": silent})
    assert found.reason == "MemberRestarting"
    assert (
        found.message == "14 rebalances in the last 5m00s: member b restarts (4 times, exit code 137); its log says why"
    )
    found = judged(storm, children=by_reference([ended("b", NOW - WINDOW - SECOND)]), reports={"a": silent})
    assert found.reason == "MemberSilent"
    assert "member a was silent" in found.message
    assert "lost 6 partitions" in found.message


def test_the_status_tells_kafkas_word_and_how_evenly_partitions_are_shared_out() -> None:
    members = (GroupMember("a", "10.0.0.1", 2), GroupMember("b", "10.0.0.1", 5))
    known = lag(group=GroupDescription("PreparingRebalance", members))
    told = decide(observed(lag=known, reports={"a": report()})).status["rebalance"]
    assert (told["state"], told["fewestPartitions"], told["mostPartitions"]) == ("PreparingRebalance", 2, 5)
    assert (told["countedSince"], told["countedFrom"]) == ("2026-11-21T12:00:00Z", 3)
