"""What the operator makes of records in quarantine: status, condition and event; canaries and shadows are withdrawn."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from logpersister.manifest import parse
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd.status import Status
from logpersister_operator.crd.status_records import MOST_QUARANTINED
from logpersister_operator.crd.status_rollout import record_of
from logpersister_operator.decide.health.quarantined_records import refuse_alike
from logpersister_operator.observed_state import MemberReport
from logpersister_operator.plan import Plan
from logpersister_operator.render.application import Application
from logpersister_operator.rollout.evidence import Tally
from tests.unit.kubernetes.samples import (
    IMAGE,
    NOW,
    SPEC,
    Life,
    condition,
    decide,
    observed,
    report,
    resource,
    verdict,
)
from tests.unit.kubernetes.test_rollout_plan import Rollout

SILENT = MemberReport(None, "ConnectTimeout")


def refused(offset: int = 120, *, minutes_ago: float = 1, records: int = 7) -> Document:
    return {
        "time": (NOW - timedelta(minutes=minutes_ago)).isoformat(), "topic": "clicks", "partition": 3, "offset": offset,
        "reason": "not JSON: expected value at line 1 column 7", "records": records,
        "key": f"raw/clicks/_quarantine/1_3_{offset:020}.gz",
    }  # fmt: skip


def quarantine(*recent: Document) -> Document:
    """Return what a member tells."""
    count = sum(one["records"] for one in recent)
    return {"records": count, "last": max((one["time"] for one in recent), default=None), "recent": list(recent)}


def stored(records: int, ranges: int = 13) -> Document:
    document = report().document
    assert document is not None
    return {**document["uploads"], "records": records, "ranges": ranges}


# status


def test_without_quarantine_nothing_is_told_of_it() -> None:
    for told in (report(), report(quarantine=quarantine())):
        plan = decide(observed(reports={"a-0": told}))
        assert "quarantine" not in plan.status
        assert verdict(plan, "RecordsParsing") == ("True", "RecordsParse")


def test_what_members_refused_is_told_with_the_newest_ranges() -> None:
    ours = [refused(number, minutes_ago=number) for number in (2, 4, 6, 8)]
    theirs = [refused(number, minutes_ago=number) for number in (1, 3)]
    reports = {"a-0": report(quarantine=quarantine(*ours)), "a-1": report(quarantine=quarantine(*theirs))}
    plan = decide(observed(reports=reports))
    told = plan.status["quarantine"]
    assert told["records"] == 42
    assert told["last"] == "2026-11-21T11:59:00Z"
    assert [one["offset"] for one in told["latest"]] == [1, 2, 3, 4, 6]
    assert len(told["latest"]) == MOST_QUARANTINED
    assert verdict(plan, "RecordsParsing") == ("False", "RecordsQuarantined")
    assert condition(plan, "RecordsParsing")["message"] == (
        "42 records in quarantine, the last at 2026-11-21T11:59:00Z; for example clicks-3@1: not JSON: expected "
        "value at line 1 column 7 (stored as raw/clicks/_quarantine/1_3_00000000000000000001.gz)"
    )
    Status.model_validate(plan.status)


def test_it_outlives_the_member_that_told_it_and_is_past_after_an_hour() -> None:
    life = Life()
    plan = life.step(reports={"a-0": report(quarantine=quarantine(refused()))})
    assert [event.reason for event in plan.events if event.warning] == ["RecordsQuarantined"]
    again = report(startedAt="2026-11-21T12:00:00.000Z", quarantine=quarantine(refused(minutes_ago=0, records=1)))
    told = {"stored": None, "now": NOW + timedelta(minutes=1)}
    plan = life.step(**told, reports={"a-0": SILENT})
    assert plan.status["quarantine"]["records"] == 7
    assert verdict(plan, "RecordsParsing")[0] == "False"
    plan = life.step(reports={"a-0": again}, now=NOW)
    assert plan.status["quarantine"]["records"] == 8
    assert len(plan.status["quarantine"]["latest"]) == 1, "one range that was stored again"
    assert not [event for event in plan.events if event.warning], "that is known"
    plan = life.step(reports={"a-0": report(quarantine=quarantine())}, now=NOW + timedelta(minutes=61))
    assert verdict(plan, "RecordsParsing") == ("True", "RecordsParse")
    assert [(event.reason, event.warning) for event in plan.events] == [("RecordsParse", False)]
    assert plan.status["quarantine"]["records"] == 8, "they are still there"


# canaries


class Tried(Rollout):
    """A canary that has a parser, beside three old members that have none; all of them tell what they store."""

    changed: ClassVar[dict[str, Any]] = {"value": {"json": {}}}

    def __init__(self, **rollout: Any) -> None:
        super().__init__(**rollout)
        self.mine = self.pods(self.new, 1, ready=True)
        self.theirs = self.pods(self.old, 3, ready=True)

    def begin(self, mine: dict[str, Any], theirs: dict[str, Any]) -> Plan:
        """Look at what members tell when the trial begins."""
        return self.step(reports=self.told(mine, theirs))

    def told(self, mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, MemberReport]:
        of_both = ((self.mine, mine), (self.theirs, theirs))
        return {name: report(**told) for names, told in of_both for name in names}


def test_a_canary_that_refuses_more_than_the_old_members_is_withdrawn() -> None:
    tried = Tried()
    tried.begin({}, {})
    bad = tried.told(
        {"uploads": stored(1400), "quarantine": quarantine(refused(records=100))},
        {"uploads": stored(2000), "quarantine": quarantine(refused(records=20))},
    )
    plan = tried.step(1, reports=bad)
    assert plan.status["summary"]["state"] == "Canary 1/3, looks wrong"
    plan = tried.step(1, reports=bad)
    assert verdict(plan, "Reconciling") == ("True", "RollingBack")
    (failed,) = (event.message for event in plan.events if event.reason == "RolloutFailed")
    assert (
        "100 of 400 records (25.0%) that it stored went into quarantine, and 60 of 3,000 records (2.0%) of the old "
        "revision; for example clicks-3@120: not JSON: expected value at line 1 column 7"
    ) in failed


@pytest.mark.parametrize(
    "other", [{"image": "other"}, {"value": {"json": {}}}, {"kafka": SPEC["kafka"] | {"topics": ["more"]}}]
)
def test_revisions_are_known_to_refuse_the_same_only_when_nothing_about_it_differs(other: dict[str, Any]) -> None:
    def application(image: str = IMAGE, **sections: Any) -> Application:
        return Application.of(parse(resource(**sections)), namespace="logs", uid="1", image=image, secrets_digest="")

    assert refuse_alike(application(), application(upload={"maxBytes": "1Mi"}))
    assert not refuse_alike(application(), application(**other))


def test_the_record_has_what_both_sides_told() -> None:
    tried = Tried()
    mine = {"uploads": stored(1000), "quarantine": quarantine(refused(records=10))}
    theirs = {"uploads": stored(2000), "quarantine": quarantine(refused(records=20))}
    plan = tried.begin(mine, theirs)
    rollout = plan.status["rollout"]
    assert [(one["member"], one["records"], one["quarantined"]) for one in rollout["stableStored"]["told"]] == [
        (name, 2000, 20) for name in tried.theirs
    ]
    assert (rollout["candidateStored"]["records"], rollout["candidateStored"]["told"][0]["records"]) == (0, 1000)
    record = record_of(plan.status)
    assert record is not None
    assert [(one.member, one.quarantined) for one in record.stable_stored.told] == [(name, 20) for name in tried.theirs]
    del rollout["candidateStored"], rollout["stableStored"]  # as an operator wrote it that knew no quarantine
    record = record_of(plan.status)
    assert record is not None
    assert record.stable_stored == Tally()


# shadows
