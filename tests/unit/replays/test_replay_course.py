"""What becomes of a replay, from its creation to the deletion of what it has replaced."""

from dataclasses import replace
from typing import Any

import pytest

from logpersister_operator.cluster.kinds import Reference
from logpersister_operator.observed_state import Refusal
from logpersister_operator.replays.observed_replay import Wanted
from logpersister_operator.replays.plans import MISSING, Found
from tests.unit.kubernetes.samples import resource
from tests.unit.replays.life import BACKUP, DELETING, LIVE, PLAN, STORING, SWITCHING, ReplayLife, found, report

AUTO = {"auto": {"resource": "all-backup"}}
TWO_WEEKS = 14 * 86_400


def test_a_life_without_trouble() -> None:
    life = ReplayLife(switch={"deleteOld": {"after": "14d"}})
    events = list(life.step().events)
    assert list(life.children) == [PLAN, STORING]
    assert life.phase == "Planning"
    life.begin()
    life.reports = {"again-x0": report(100), "again-x1": report(150)}
    life.later(seconds=100)
    events += life.step().events
    assert (life.phase, life.status["groupId"]) == ("Running", "clicks-backup-replay-2")
    assert life.status["progress"]["stored"] == 250
    life.end(STORING)
    life.reports = {}
    events += life.step().events
    assert (life.phase, life.status["progress"]["stored"]) == ("Switching", 1000)
    assert SWITCHING in life.children
    life.end(SWITCHING)
    plan = life.step()
    events += plan.events
    assert (life.phase, plan.again_seconds) == ("Switched", TWO_WEEKS)
    assert life.verdict("OldDeleted")[:2] == ("False", "Waits")
    life.later(seconds=TWO_WEEKS)
    life.step()
    life.end(DELETING)
    life.step()
    assert life.verdict("OldDeleted")[:2] == ("True", "Done")
    assert {life.verdict(one)[0] for one in ("Ready", "Planned", "Stored", "Switched", "OldDeleted")} == {"True"}
    assert [one.reason for one in events] == ["Planning", "Running", "Switching", "Switched"]
    for reference in (STORING, SWITCHING, DELETING, PLAN):  # nothing is done twice when what did it is cleaned away
        life.children.pop(reference, None)
    life.wanted = None
    assert not life.step().apply
    assert (life.phase, life.verdict("OldDeleted")[0]) == ("Switched", "True")


def test_readers_are_switched_only_when_that_is_wanted() -> None:
    life = ReplayLife.stored()
    assert (life.phase, life.verdict("Ready")[0], life.verdict("Switched")[:2]) == (
        "Stored",
        "True",
        ("False", "NotAsked"),
    )
    life.change(switch={})
    life.step()
    assert (life.phase, life.verdict("Ready")[0]) == ("Switching", "False")
    life.end(SWITCHING)
    assert life.step().again_seconds is None
    assert life.phase == "Switched"
    assert DELETING not in life.children


@pytest.mark.parametrize(
    ("wanted", "spec", "reason", "told"),
    [
        (Wanted(MISSING), {}, "ResourceMissing", 'there is no LogPersister "clicks-backup"'),
        (Wanted(Found(None, "spec.kafka: broken")), {}, "ResourceUnfit", "spec.kafka: broken"),
        (Wanted(found(LIVE), MISSING), {"source": AUTO}, "BackupMissing", 'there is no LogPersister "all-backup"'),
        (Wanted(found(LIVE), Found(None, "bad")), {"source": AUTO}, "BackupUnfit", "all-backup is invalid: bad"),
        (Wanted(found(LIVE), holder="first"), {}, "GenerationTaken", "LogReplay first has generation 2"),
        (Wanted(found(LIVE), missing_secrets=("Secret s3",)), {}, "SecretMissing", "Secret s3"),
    ],
)
def test_what_is_missing_is_waited_for(wanted: Wanted, spec: dict[str, Any], reason: str, told: str) -> None:
    life = ReplayLife(**spec)
    before, life.wanted = life.wanted, wanted
    plan = life.step()
    assert (plan.apply, plan.again_seconds, life.phase) == ((), 15.0, "Pending")
    status, found_reason, message = life.verdict("Stalled")
    assert (status, found_reason) == ("True", reason)
    assert told in message
    assert [(one.reason, one.warning) for one in plan.events] == [(reason, True)]
    assert not life.step().events
    life.wanted = before
    assert life.step().apply
    assert life.verdict("Stalled")[0] == "False"


def test_a_generation_that_is_not_above_that_of_the_resource_is_never_stored() -> None:
    life = ReplayLife()
    live = resource()
    live["spec"]["generation"] = 2
    life.wanted = Wanted(found(live))
    plan = life.step()
    assert (life.phase, plan.again_seconds) == ("Failed", None)
    assert "must be higher than 2" in life.verdict("Stored")[2]


def test_what_the_resource_becomes_later_changes_no_replay() -> None:
    life = ReplayLife(source=AUTO)
    life.step()
    life.wanted = Wanted(MISSING, MISSING, "another")
    before = life.children[PLAN]
    del life.children[STORING]  # somebody deletes the Job; it is made anew as it was
    (made,) = (one for one in life.step().apply if one["kind"] == "Job")
    assert life.children[PLAN] is before
    assert "/etc/logpersister/backup.json" in made["spec"]["template"]["spec"]["containers"][0]["args"]


def test_a_pause_and_another_number_of_processes_change_nothing_else_of_the_job() -> None:
    life = ReplayLife.begun()
    life.reports = {"again-x0": report(500)}
    life.later(seconds=100)
    life.step()
    life.change(suspend=True)
    life.reports = {}
    (tuned,) = life.step().tune
    assert (tuned.spec, life.phase) == ({"parallelism": 1, "suspend": True}, "Suspended")
    assert life.verdict("Stored")[:2] == ("False", "Suspended")
    assert not life.step().tune
    assert (life.status["progress"]["stored"], life.status["progress"].get("estimatedEnd")) == (500, None)
    life.change(suspend=False, processes=3)
    (tuned,) = life.step().tune
    assert (tuned.spec, life.phase) == ({"parallelism": 3, "suspend": False}, "Running")


def test_a_replay_may_begin_with_a_pause() -> None:
    life = ReplayLife(suspend=True)
    life.step()
    assert (life.phase, life.children[STORING]["spec"]["suspend"]) == ("Suspended", True)


def test_a_failure_is_said_in_the_words_of_the_command_and_is_over_after_a_pause() -> None:
    life = ReplayLife.begun()
    said = "a hole: no object of the backup has t-0[0,5), and Kafka has deleted it; restore the object"
    life.fail(STORING, 4, f'{{"event":"x","level":"info"}}\n{said}\n')
    life.end(STORING, "Failed", "PodFailurePolicy")
    (event,) = life.step().events
    assert (life.phase, event.reason, event.warning) == ("Failed", "ReplayFailed", True)
    assert life.verdict("Ready")[:2] == ("False", "ReplayFailed")
    assert f"exit code 4: {said}; correct that, then set spec.suspend" in life.verdict("Stalled")[2]
    assert life.status["summary"]["state"] == "ReplayFailed"
    life.change(suspend=True)
    life.step()
    assert (life.phase, STORING in life.children) == ("Suspended", False)
    life.change(suspend=False)
    life.step()
    assert (life.phase, life.children[STORING]["spec"]["suspend"]) == ("Planning", False)


def test_a_job_that_is_about_to_go_is_waited_for() -> None:
    life = ReplayLife()
    life.step()
    life.children[STORING]["metadata"]["deletionTimestamp"] = life.now.isoformat()
    assert not life.step().apply


def test_a_process_that_is_tried_again_is_told_without_an_alarm() -> None:
    life = ReplayLife.begun()
    life.fail(STORING, 3, "spec.kafka: cannot reach broker-1:9092")
    life.step()
    assert (life.phase, life.verdict("Stalled")[0]) == ("Planning", "False")
    assert "is tried again: exit code 3: spec.kafka: cannot reach broker-1:9092" in life.verdict("Ready")[2]


@pytest.mark.parametrize(("reference", "reason"), [(SWITCHING, "SwitchFailed"), (DELETING, "DeletionFailed")])
def test_a_switch_that_fails_is_tried_again_after_a_pause(reference: Reference, reason: str) -> None:
    life = ReplayLife.stored(switch={"deleteOld": {"after": "0s"}})
    if reference == DELETING:
        life.end(SWITCHING)
        life.step()
        life.step()
    life.fail(reference, 1, "access denied")
    life.end(reference, "Failed", "BackoffLimitExceeded")
    life.step()
    assert (life.phase, life.verdict("Stalled")[:2]) == ("Failed", ("True", reason))
    life.change(suspend=True)
    life.step()
    assert reference not in life.children
    assert not life.step().apply
    life.change(suspend=False)
    life.step()
    assert reference in life.children


def test_what_the_api_server_refuses_is_said() -> None:
    life = ReplayLife()
    life.step(refusals={STORING: Refusal("quota exceeded")})
    assert life.verdict("Ready") == ("False", "ChildRefused", "Job again: quota exceeded")
    assert life.verdict("Stalled")[:2] == ("True", "ChildRefused"), "perhaps a name of somebody else's object"


def test_a_job_whose_pods_are_refused_says_why() -> None:
    life = ReplayLife.begun()
    uid = life.children[STORING]["metadata"]["uid"]
    assert life.observed().unexplained == [uid]
    life.step(told={uid: 'serviceaccount "clicks-backup-member" not found'})
    assert life.verdict("Stalled")[:2] == ("True", "ChildRefused")
    assert life.verdict("Ready")[2] == 'pods of Job again: serviceaccount "clicks-backup-member" not found'
    life.end(STORING)
    assert life.observed().unexplained == []


def test_other_processes_share_the_same_rate() -> None:
    life = ReplayLife.begun(maxBytesPerSecond="1Mi")
    life.change(processes=4)
    life.step()
    assert STORING not in life.children, "its processes would read four times as much"
    life.step()
    (container,) = life.children[STORING]["spec"]["template"]["spec"]["containers"]
    rate = container["args"][container["args"].index("--max-bytes-per-second") + 1]
    assert (rate, life.children[STORING]["spec"]["parallelism"]) == ("256Ki", 4)


def test_a_plan_that_somebody_has_changed_is_not_executed() -> None:
    life = ReplayLife()
    life.step()
    life.children[PLAN]["data"] = {"resource.json": "{}"}
    assert not life.step().apply
    assert life.verdict("Stalled")[:2] == ("True", "PlanUnreadable")


def test_objects_of_others_are_none_of_ours() -> None:
    life = ReplayLife()
    life.step()
    for one in life.children.values():
        one["metadata"]["ownerReferences"] = []
    assert [one["kind"] for one in ReplayLife.step(_fresh(life)).apply] == ["ConfigMap", "Job"]


def _fresh(life: ReplayLife) -> ReplayLife:
    fresh = ReplayLife()
    fresh.observed = lambda **known: replace(life.observed(**known), wanted=life.wanted)  # type: ignore[method-assign]
    return fresh


def test_a_backup_in_a_bucket_is_read_by_the_brokers_of_the_resource() -> None:
    storage = {"bucket": "elsewhere", "prefix": "b", "secretName": "keys"}
    life = ReplayLife(source={"backup": {"group": "old-backup", "storage": storage}})
    life.step()
    job = life.children[STORING]["spec"]["template"]["spec"]
    assert [one["secret"]["secretName"] for one in job["volumes"] if "secret" in one] == ["keys", "s3"]
    assert "old-backup" in life.children[PLAN]["data"]["backup.json"]
    assert BACKUP["metadata"]["name"] not in life.children[PLAN]["data"]["backup.json"]
