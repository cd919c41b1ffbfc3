"""What the operator makes of a rollout: children, conditions and words, from what Kubernetes and members tell."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.crd.status_rollout import record_of
from logpersister_operator.rollout.transitions import Phase
from tests.unit.kubernetes.samples import (
    Life,
    Running,
    condition,
    failure,
    lag,
    report,
    resource,
    verdict,
    waiting,
)

CHANGED: dict[str, Any] = {"output": {"text": {"compression": "zstd"}}}
CRASHING = [waiting("CrashLoopBackOff", restarts=4)]


class Rollout(Running):
    """A resource of three members that runs, and then gets another revision."""

    changed: ClassVar[dict[str, Any]] = CHANGED

    def __init__(self, **rollout: Any) -> None:
        super().__init__(resource(members=3, rollout=rollout))
        self.life.change(**self.changed)
        (self.new,) = self.settle(3).keys() - {self.old}


def test_members_of_the_old_and_the_new_revision_are_told_apart_and_a_rollout_is_no_warning() -> None:
    life = Life.running()
    life.step()
    (old,) = life.revisions()
    life.change(**CHANGED)
    plan = life.step(lag=lag())
    (new,) = life.revisions().keys() - {old}
    assert verdict(plan, "Ready") == ("False", "TryingCanary")
    assert [event for event in plan.events if event.warning] == [], "it is what was asked for"
    life.get_ready()
    plan = life.step(lag=lag())
    assert condition(plan, "Ready")["message"] == f"1 of 1 member of revision {new} ready; of the old revision 1"
    assert plan.status["summary"]["members"] == "1/1+1"
    for one in life.children.values():
        if one["kind"] == "StatefulSet":
            one["status"] = one["status"] | {"readyReplicas": 0}
    plan = life.step(lag=lag())
    assert verdict(plan, "Ready") == ("False", "MembersNotReady")
    message = f"0 of 1 member of revision {new} ready; of the old revision none"
    assert condition(plan, "Ready")["message"] == message
    waits = report(state="joining", stateMessage="the group waits for the session of a member that ended")
    plan = life.step(lag=lag(), reports={"clicks-backup-0": waits})
    said = "; member clicks-backup-0 says: the group waits for the session of a member that ended"
    assert condition(plan, "Ready")["message"] == message + said


def test_a_canary_that_no_node_takes_says_so_after_a_minute_until_one_does() -> None:
    rollout = Rollout()

    def state(since: datetime) -> tuple[str, str]:
        scheduled = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: Insufficient cpu"}
        ready = {"type": "Ready", "status": "False", "lastTransitionTime": since.isoformat()}
        rollout.pods(rollout.new, 1, conditions=[scheduled | {"lastTransitionTime": since.isoformat()}, ready])
        return verdict(rollout.step(), "Stalled")

    assert state(rollout.now - timedelta(seconds=50)) == ("False", "Progressing")
    assert state(rollout.now - timedelta(seconds=70)) == ("True", "Unschedulable")
    plan = rollout.step()
    assert "Insufficient cpu" in condition(plan, "Ready")["message"]
    assert plan.status["summary"]["state"] == "Unschedulable"
    rollout.pods(rollout.new, 1, ready=True)
    plan = rollout.step()
    assert (verdict(plan, "Stalled")[0], verdict(plan, "Reconciling")[1]) == ("False", "TryingCanary")


def restarted(began: datetime) -> list[Document]:
    """Return what is told of a container that has ended three times, the last time in a run that began then."""
    ended = {"startedAt": began.isoformat(), "finishedAt": began.isoformat(), "exitCode": 1}
    running: Document = {"running": {}}
    return [{"name": "member", "restartCount": 3, "state": running, "lastState": {"terminated": ended}}]


def test_old_restarts_and_a_probe_that_fails_once_end_no_analysis() -> None:
    rollout = Rollout()
    long_ago = rollout.now - timedelta(days=21)
    rollout.pods(rollout.new, 1, ready=True)
    rollout.pods(rollout.old, 3, containerStatuses=restarted(long_ago))
    plan = rollout.step()
    assert verdict(plan, "Reconciling") == ("True", "TryingCanary")
    assert rollout.life.revisions() == {rollout.old: 3, rollout.new: 1}
    rollout.pods(rollout.old, 3, containerStatuses=restarted(rollout.now), unready_since=rollout.now)
    rollout.step(1)
    assert rollout.life.revisions() == {rollout.old: 3, rollout.new: 1}, "not for long enough"
    plan = rollout.step(2)
    assert verdict(plan, "Reconciling") != ("True", "TryingCanary"), "they all crash, and go on doing so"


def test_uploads_that_fail_are_the_canarys_fault_only_when_others_succeed() -> None:
    rollout = Rollout()
    rollout.pods(rollout.new, 1, ready=True)
    rollout.pods(rollout.old, 3, ready=True)
    canary, other = f"clicks-backup-{rollout.new}-0", f"clicks-backup-{rollout.old}-0"
    rollout.step(reports={canary: report(), other: report()})
    soon = (rollout.now + timedelta(minutes=1)).isoformat()
    rollout.step(1, reports={canary: report([failure(soon)]), other: report([failure(soon)])})
    plan = rollout.step(2, reports={canary: report([failure(soon)]), other: report([failure(soon)])})
    assert verdict(plan, "Reconciling") == ("True", "TryingCanary")
    later = rollout.now.isoformat()
    rollout.step(4, reports={canary: report([failure(later)] * 3), other: report()})
    plan = rollout.step(2, reports={canary: report([failure(later)] * 3), other: report()})
    assert verdict(plan, "Reconciling") == ("True", "RollingBack")


def test_the_record_is_read_back_as_it_was_written() -> None:
    rollout = Rollout()
    rollout.pods(rollout.new, 1, containerStatuses=CRASHING)
    records = [record_of(rollout.step(minutes).status) for minutes in (1, 2, 0)]
    assert [record.phase if record else None for record in records] == [Phase.CANARY, Phase.RETURNING, Phase.RETURNING]
    assert all(record and record.has_failed(rollout.new) for record in records[1:])
    assert record_of({"rollout": {"phase": "Steady", "since": "2026-11-22T00:00:00Z", "candidate": "x"}}) is None


def test_an_image_of_the_resource_is_a_revision_like_any_other() -> None:
    rollout = Rollout()
    before = rollout.life.revisions()
    other = "registry.example/logpersister:0.0.9"
    rollout.life.change(image=other, **CHANGED)
    rollout.settle(3)
    (canary,) = rollout.life.revisions().keys() - before.keys()
    made = rollout.life.children[Reference("StatefulSet", f"clicks-backup-{canary}")]
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == other
    read = rollout.life.children[Reference("ConfigMap", f"clicks-backup-{canary}")]
    assert "0.0.9" not in read["data"]["resource.json"], "members of that release need not know the field"
    rollout.life.change(output={"text": {"compression": "rar"}})  # invalid: the last valid one goes on, with its image
    rollout.step()
    assert rollout.life.revisions().keys() >= {canary}
    plan = rollout.step()
    assert verdict(plan, "SpecValid") == ("False", "SpecInvalid")
    assert plan.status["revision"] == canary
