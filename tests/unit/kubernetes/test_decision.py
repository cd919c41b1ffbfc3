"""From what is observed to what is to be done, as a resource lives."""

from datetime import timedelta
from typing import Any

import pytest

from logpersister.report.lag import PartitionLag, summarise
from logpersister_operator.cluster.kinds import Reference
from logpersister_operator.decide.conditions import is_settled
from logpersister_operator.observed_state import (
    KnownLag,
    MemberReport,
    Refusal,
    SecretsSeen,
    StuckPartition,
    UnknownLag,
)
from tests.unit.kubernetes.samples import (
    CLICKS,
    NOW,
    Life,
    by_reference,
    condition,
    decide,
    failure,
    lag,
    observed,
    pod,
    report,
    resource,
    verdict,
    waiting,
)

AT_ONCE: Any = {"canary": {"analysis": {"duration": "0s", "minRanges": 0}}}


def kinds(documents: Any) -> list[str]:
    return [document["kind"] for document in documents]


# the life of a resource


def test_a_new_resource_gets_its_children_in_the_order_of_need() -> None:
    plan = decide(observed())
    assert kinds(plan.apply) == ["ServiceAccount", "ConfigMap", "Service", "PodDisruptionBudget", "StatefulSet"]
    assert verdict(plan, "Ready") == ("False", "MembersNotReady")
    assert verdict(plan, "Reconciling") == ("True", "StartingMembers")
    assert not plan.delete
    assert not plan.events, "that members are not ready at once is no news"


def test_it_is_ready_when_all_members_are() -> None:
    life = Life.running(resource(members=2))
    plan = life.step(lag=lag())
    assert verdict(plan, "Ready") == ("True", "MembersReady")
    assert verdict(plan, "Reconciling") == ("False", "UpToDate")
    assert verdict(plan, "Stalled")[0] == "False"
    assert [event.reason for event in plan.events] == ["MembersReady", "WithinTarget"]
    assert plan.status["members"] == {"desired": 2, "ready": 2, "list": []}


def test_labels_and_annotations_of_the_resource_are_not_copied() -> None:
    plan = decide(observed(resource(annotations={"argocd.argoproj.io/tracking-id": "x"})))
    assert "argo" not in str(plan.apply)


def test_a_new_revision_takes_over_when_it_is_ready() -> None:
    life = Life.running(resource(members=2))
    (old,) = life.revisions()
    life.change(output={"text": {"compression": "zstd"}}, rollout=AT_ONCE)
    plan = life.step()
    assert life.revisions() == {old: 2, plan.status["revision"]: 1}, "both run, in one group"
    assert verdict(plan, "Reconciling") == ("True", "TryingCanary")
    assert Reference("ConfigMap", f"clicks-backup-{old}") in life.children, "the old members may still start again"
    deleted = []
    for _ in range(8):
        life.get_ready()
        deleted += [one.kind for one in life.step().delete]
    assert life.revisions() == {plan.status["revision"]: 2}
    assert deleted == ["StatefulSet", "ConfigMap"]
    assert verdict(life.step(), "Ready")[0] == "True"


def test_pause_and_resume() -> None:
    life = Life.running(resource(members=3))
    (revision,) = life.revisions()
    life.annotate(**{"logpersister.dev/paused": "true"})
    plan = life.step(lag=lag(records=10, seconds=99_999, stuck=(StuckPartition(CLICKS, 10, 9_999),)))
    assert life.revisions() == {revision: 0}
    assert verdict(plan, "Paused") == ("True", "Paused")
    assert verdict(plan, "Ready") == ("False", "Paused")
    assert verdict(plan, "LagWithinTarget") == ("Unknown", "Paused"), "it is wanted that it grows"
    assert "Paused" in [event.reason for event in plan.events]
    life.annotate()
    life.step()
    assert life.revisions() == {revision: 3}


@pytest.mark.parametrize("during", [{}, {"logpersister.dev/paused": "true"}], ids=["", "then paused"])
def test_while_reconciliation_is_paused_nothing_is_touched(during: dict[str, str]) -> None:
    life = Life.running(resource(members=3))
    life.step(lag=lag())
    before = dict(life.children)
    life.annotate(**{"logpersister.dev/reconcile": "paused"})
    plan = life.step(lag=lag())
    assert "ReconciliationPaused" in [event.reason for event in plan.events]
    life.annotate(**{"logpersister.dev/reconcile": "paused"}, **during)
    life.change(members=5, output={"text": {"compression": "zstd"}})
    life.resource["metadata"]["generation"] += 1
    del life.children[next(one for one in before if one.kind == "PodDisruptionBudget")]
    there = dict(life.children)
    plan = life.step(lag=lag(records=7))
    assert (plan.apply, plan.delete, plan.scale, plan.restart, plan.leave, life.children) == ((), (), (), (), (), there)
    assert verdict(plan, "ReconciliationPaused") == ("True", "ReconciliationPaused")
    assert verdict(plan, "Reconciling") == ("False", "ReconciliationPaused")
    assert verdict(plan, "Paused") == ("False", "Active"), "members run"
    assert plan.status["summary"]["state"] == "ReconciliationPaused"
    assert plan.status["lag"]["records"] == 7, "it is looked at all the same"
    assert plan.status["rollout"]["phase"] == "Steady"
    life.annotate()
    plan = life.step(lag=lag())
    assert "ReconciliationPaused" not in [one["type"] for one in plan.status["conditions"]]
    assert verdict(plan, "Reconciling") == ("True", "TryingCanary")
    assert before.keys() < life.children.keys()


def test_what_only_has_our_label_is_left_alone() -> None:
    theirs = {
        "kind": "ConfigMap",
        "metadata": {"name": "mine", "uid": "7", "labels": {"logpersister.dev/resource": "clicks-backup"}},
    }
    assert not decide(observed(children=by_reference([theirs]))).delete


# what stands in the way


def test_an_invalid_spec_leaves_the_last_valid_one_running() -> None:
    life = Life.running()
    (revision,) = life.revisions()
    life.change(output={"text": {"compression": "rar"}})
    plan = life.step()
    assert life.revisions() == {revision: 1}
    assert verdict(plan, "SpecValid") == ("False", "SpecInvalid")
    assert f"revision {revision} continues" in condition(plan, "SpecValid")["message"]
    assert verdict(plan, "Stalled") == ("True", "SpecInvalid")
    assert verdict(plan, "Ready") == ("False", "SpecInvalid")
    assert plan.status["revision"] == revision
    life.change(output={"text": {"compression": "gzip"}})
    assert verdict(life.step(), "SpecValid")[0] == "True"


def test_a_generation_that_falls_is_refused() -> None:
    life = Life()
    life.change(generation=3)
    life.step()
    life.change(generation=2)
    plan = life.step()
    assert verdict(plan, "SpecValid") == ("False", "SpecInvalid")
    assert plan.status["generation"] == 3


def test_without_its_secret_nothing_new_starts_and_nothing_old_stops() -> None:
    missing = SecretsSeen(missing=("Secret s3",))
    plan = decide(observed(secrets=missing))
    assert not plan.apply
    assert verdict(plan, "Stalled") == ("True", "SecretMissing")
    assert "Secret s3" in condition(plan, "Ready")["message"]
    life = Life.running()
    life.change(output={"text": {"compression": "zstd"}})
    plan = life.step(secrets=missing)
    assert not plan.apply
    assert not plan.delete


def test_a_changed_secret_replaces_the_pods_and_makes_no_revision() -> None:
    life = Life()
    life.step()
    (revision,) = life.revisions()
    plan = life.step(secrets=SecretsSeen(digest="fedcba9876543210"))
    assert life.revisions().keys() == {revision}
    template = plan.apply[-1]["spec"]["template"]
    assert template["metadata"]["annotations"]["logpersister.dev/secrets-digest"] == "fedcba9876543210"


CRASH = {"terminated": {"exitCode": 2, "reason": "Error", "message": "line\nspec.kafka: nothing listens there\n"}}
CHECKED = "ok       kafka     1 broker\nfailed   bucket    no such bucket\nnothing was started; correct the above\n"
UNCHECKED = {"terminated": {"exitCode": 3, "reason": "Error", "message": CHECKED}}


UNSCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
UNSCHEDULED |= {"lastTransitionTime": "2026-11-21T11:00:00Z"}
CHILD = Reference("StatefulSet", "clicks-backup-x")
STUCK = lag(records=7, seconds=9_000.0, stuck=(StuckPartition(CLICKS, 7, 8_000),))
HOLDS_IT = report(assignment={"count": 2, "partitions": ["clicks-2", "clicks-3"]})
NOWHERE = failure() | dict.fromkeys(("topic", "partition", "start", "end"))
"""Of a document of ours, which belongs to no partition."""


def ailing(**status: Any) -> dict[str, Any]:
    return {"children": by_reference([pod("clicks-backup-x-0", **status)])}


def ailing_container(*told: Any, **more: Any) -> dict[str, Any]:
    return ailing(containerStatuses=[waiting(*told, **more)])


@pytest.mark.parametrize(
    ("known", "aspect", "expected", "words"),
    [
        (ailing(), "Stalled", "False Progressing", ""),
        (ailing_container("ImagePullBackOff", "denied"), "Stalled", "True ImageUnavailable", "denied"),
        (
            ailing_container("CrashLoopBackOff", restarts=4, last=CRASH),
            "Stalled",
            "True MemberCrashing",
            "exit code 2; it said: spec.kafka: nothing listens there",
        ),
        (
            ailing_container("CrashLoopBackOff", restarts=4, last=UNCHECKED),
            "Stalled",
            "True MemberCrashing",
            "exit code 3; it said: failed bucket no such bucket",
        ),
        (ailing_container("CreateContainerConfigError", "no Secret x"), "Stalled", "True PodNotStartable", "Secret x"),
        (ailing(conditions=[UNSCHEDULED]), "Stalled", "True Unschedulable", "0/3 nodes"),
        (
            {"refusals": {CHILD: Refusal("spec.template: Invalid value")}},
            "Stalled",
            "True Refused",
            "StatefulSet clicks-backup-x: spec.template: Invalid value",
        ),
        ({"refusals": {CHILD: Refusal("it exists", taken=True)}}, "Stalled", "True NameTaken", ""),
        ({"document": resource(upload={"maxAge": "soon"})}, "SpecValid", "False SpecInvalid", "nothing runs"),
        ({"reports": {"a": report([failure(upload=False)])}}, "UploadsSucceeding", "True Succeeding", ""),
        ({"reports": {"a": MemberReport(None, "timed out")}}, "UploadsSucceeding", "Unknown NoMemberAnswers", ""),
        (
            {"reports": {"a": report([NOWHERE])}},
            "UploadsSucceeding",
            "False Unauthorized",
            "check the keys of spec.storage.secretName (a document below _logpersister/",
        ),
        ({"lag": UnknownLag("connection refused")}, "LagWithinTarget", "Unknown LagUnknown", "connection refused"),
        (
            {"lag": lag(records=1_000, seconds=3_600.0, over_target=("clicks",))},
            "LagWithinTarget",
            "False Behind",
            "1,000 records behind, the oldest 1h00m old",
        ),
        ({"lag": STUCK}, "LagWithinTarget", "False PartitionStuck", "clicks-3 has not moved for 2h13m with 7 records"),
        (
            {"lag": STUCK, "reports": {"a": report(), "b": HOLDS_IT}},
            "LagWithinTarget",
            "False PartitionStuck",
            "clicks-3 of member b has not moved",
        ),
    ],
    ids=str,
)
def test_what_is_said_of_what_is_seen(known: dict[str, Any], aspect: str, expected: str, words: str) -> None:
    plan = decide(observed(**known))
    assert " ".join(verdict(plan, aspect)) == expected
    assert words in condition(plan, aspect)["message"]


def test_what_is_not_known_is_left_out_of_the_status() -> None:
    unknown = decide(observed(lag=UnknownLag("away"), reports={"a": MemberReport(None, "timed out")}))
    assert unknown.status.keys().isdisjoint({"lag", "uploads"})
    assert unknown.status["summary"]["lag"] == "Unknown"
    assert "topic" not in decide(observed(reports={"a": report([NOWHERE])})).status["uploads"]["lastFailure"]
    (worst,) = decide(observed(lag=STUCK)).status["lag"]["worst"]
    assert (worst["partition"], worst["stuck"]) == (3, True)
    invalid = decide(observed(resource(upload={"maxAge": "soon"})))
    assert (invalid.apply, [event.warning for event in invalid.events]) == ((), [True, True])


# what members and Kafka say


def test_a_failing_upload_is_told_with_its_place_and_readiness_stays() -> None:
    life = Life.running()
    plan = life.step(reports={"clicks-backup-x-0": report([failure()])}, lag=lag())
    assert verdict(plan, "UploadsSucceeding") == ("False", "Unauthorized")
    message = condition(plan, "UploadsSucceeding")["message"]
    assert "check the keys" in message
    assert "clicks partition 3 offsets 100 to 200" in message
    assert verdict(plan, "Ready")[0] == "True", "the members are there; it is the bucket that refuses"
    assert plan.status["uploads"]["lastFailure"]["partition"] == 3
    assert [event.reason for event in plan.events if event.warning] == ["Unauthorized"]


def test_a_refused_document_does_not_hide_which_topic_fails() -> None:
    newer = "2026-11-21T11:59:40.000Z"
    nowhere = failure(newer) | dict.fromkeys(("topic", "partition", "start", "end"))
    life = Life()
    plan = life.step(reports={"a": report([failure()]), "b": report([nowhere])})
    assert "clicks partition 3" in condition(plan, "UploadsSucceeding")["message"]
    assert plan.status["uploads"]["lastFailure"]["topic"] == "clicks"
    plan = life.step(reports={"b": report([nowhere])})
    assert plan.status["uploads"]["lastFailure"]["topic"] == "clicks", "nor when the member that said so has ended"
    minutes_ago = failure("2026-11-21T11:50:00.000Z")
    plan = decide(observed(reports={"a": report([minutes_ago, nowhere])}))
    assert "topic" not in plan.status["uploads"]["lastFailure"], "the topic does not fail any more"


def test_a_new_operator_tells_nothing_new_before_it_has_asked() -> None:
    life = Life.running()
    life.children |= by_reference([pod("a", ready=True)])
    told = life.step(lag=lag(9, 9.0, over_target=("clicks",)), reports={"a": report([failure()])})
    again = life.step(lag=None, reports=None)
    assert again.status == told.status
    assert not again.events


def test_time_alone_changes_verdicts_until_all_is_well() -> None:
    life = Life()
    assert not is_settled(life.step().status)
    life.get_ready()
    assert is_settled(life.step(reports={"a": report()}).status)
    assert not is_settled(life.step(reports={"a": report([failure()])}).status)
    life.annotate(**{"logpersister.dev/paused": "true"})
    assert is_settled(life.step(reports={}).status)


def test_an_answer_that_says_the_same_later_is_no_news() -> None:
    documents = [{"observedAt": time, "lag": {"known": True, "observedAt": time}} for time in ("now", "then")]
    assert MemberReport(documents[0]).essence == MemberReport(documents[1]).essence
    assert MemberReport(documents[0]).essence != MemberReport(documents[0] | {"state": "draining"}).essence
    later = summarise([PartitionLag(CLICKS, 100, 105, 1.0)], NOW + timedelta(seconds=30))
    assert lag(5, 1.0).essence == KnownLag(later).essence


def test_times_of_transition_stay_while_messages_change() -> None:
    life = Life()
    life.step(lag=lag(records=1, seconds=1.0))
    first = condition(life.step(lag=lag(records=2, seconds=2.0)), "LagWithinTarget")
    plan = decide(life.observed(lag=lag(records=3, seconds=3.0)))
    second = condition(plan, "LagWithinTarget")
    assert first["message"] != second["message"]
    assert first["lastTransitionTime"] == second["lastTransitionTime"]
