"""From what is observed to what is to be done, as a resource lives."""

from datetime import timedelta
from typing import Any

import pytest

from logpersister.report.lag import PartitionLag, summarise
from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.crd.status import Status
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
    life = Life(resource(members=2))
    life.step()
    life.get_ready()
    plan = life.step(lag=lag())
    assert verdict(plan, "Ready") == ("True", "MembersReady")
    assert verdict(plan, "Reconciling") == ("False", "UpToDate")
    assert verdict(plan, "Stalled")[0] == "False"
    assert [event.reason for event in plan.events] == ["MembersReady", "WithinTarget"]
    assert plan.status["members"] == {"desired": 2, "ready": 2, "list": []}


def test_at_rest_the_same_is_decided_again() -> None:
    life = Life()
    life.step()
    life.get_ready()
    first, second = life.step(lag=lag()), life.step(lag=lag())
    assert first.status == second.status
    assert first.apply == second.apply
    assert not second.events


def test_labels_and_annotations_of_the_resource_are_not_copied() -> None:
    plan = decide(observed(resource(annotations={"argocd.argoproj.io/tracking-id": "x"})))
    assert "argo" not in str(plan.apply)


def test_a_new_revision_takes_over_when_it_is_ready() -> None:
    life = Life(resource(members=2))
    life.step()
    life.get_ready()
    (old,) = life.revisions()
    life.change(output={"compression": "zstd"}, rollout=AT_ONCE)
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


def test_a_new_revision_that_never_gets_ready_leaves_the_old_one_alone() -> None:
    life = Life()
    life.step()
    life.get_ready()
    (old,) = life.revisions()
    life.change(output={"compression": "zstd"})
    for _ in range(3):
        plan = life.step()
    assert old in life.revisions()
    bad = pod("clicks-backup-x-0", containerStatuses=[waiting("ErrImageNeverPull", "not there")])
    plan = decide(life.observed())
    life.children |= by_reference([bad])
    plan = life.step()
    assert life.revisions()[old] == 1
    assert verdict(plan, "Reconciling") == ("True", "TryingCanary")
    assert verdict(plan, "Ready") == ("False", "TryingCanary")


def test_going_back_is_instant() -> None:
    life = Life()
    life.step()
    life.get_ready()
    before = life.resource["spec"]
    (old,) = life.revisions()
    life.change(output={"compression": "zstd"})
    life.step()
    life.change(output=before.get("output", {}))
    life.step()
    assert life.revisions()[old] == 1
    life.step()
    assert life.revisions() == {old: 1}


def test_the_number_of_members_makes_no_new_revision() -> None:
    life = Life()
    life.step()
    life.get_ready()
    (revision,) = life.revisions()
    life.change(members=5)
    life.step()
    assert life.revisions() == {revision: 5}


def test_pause_and_resume() -> None:
    life = Life(resource(members=3))
    life.step()
    life.get_ready()
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
    life = Life(resource(members=3))
    life.step()
    life.get_ready()
    life.step(lag=lag())
    before = dict(life.children)
    life.annotate(**{"logpersister.dev/reconcile": "paused"})
    plan = life.step(lag=lag())
    assert "ReconciliationPaused" in [event.reason for event in plan.events]
    life.annotate(**{"logpersister.dev/reconcile": "paused"}, **during)
    life.change(members=5, output={"compression": "zstd"})
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


def test_a_new_resource_whose_reconciliation_is_paused_gets_nothing() -> None:
    life = Life(resource(annotations={"logpersister.dev/reconcile": "paused"}))
    assert (life.step().apply, life.children) == ((), {})


def test_a_policy_that_is_no_longer_wanted_goes() -> None:
    life = Life(resource(networkPolicy="Restricted"))
    life.step()
    assert Reference("NetworkPolicy", "clicks-backup-members") in life.children
    life.change(networkPolicy="None")
    life.step()
    assert Reference("NetworkPolicy", "clicks-backup-members") not in life.children


def test_what_only_has_our_label_is_left_alone() -> None:
    theirs = {
        "kind": "ConfigMap",
        "metadata": {"name": "mine", "uid": "7", "labels": {"logpersister.dev/resource": "clicks-backup"}},
    }
    assert not decide(observed(children=by_reference([theirs]))).delete


# what stands in the way


def test_an_invalid_spec_leaves_the_last_valid_one_running() -> None:
    life = Life()
    life.step()
    life.get_ready()
    (revision,) = life.revisions()
    life.change(output={"compression": "rar"})
    plan = life.step()
    assert life.revisions() == {revision: 1}
    assert verdict(plan, "SpecValid") == ("False", "SpecInvalid")
    assert f"revision {revision} continues" in condition(plan, "SpecValid")["message"]
    assert verdict(plan, "Stalled") == ("True", "SpecInvalid")
    assert verdict(plan, "Ready") == ("False", "SpecInvalid")
    assert plan.status["revision"] == revision
    life.change(output={"compression": "gzip"})
    assert verdict(life.step(), "SpecValid")[0] == "True"


def test_an_invalid_spec_from_the_beginning_runs_nothing() -> None:
    plan = decide(observed(resource(upload={"maxAge": "soon"})))
    assert not plan.apply
    assert "nothing runs" in condition(plan, "SpecValid")["message"]
    assert [event.warning for event in plan.events] == [True, True]


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
    life = Life()
    life.step()
    life.get_ready()
    life.change(output={"compression": "zstd"})
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


def test_what_the_api_server_refuses_is_told() -> None:
    child = Reference("StatefulSet", "clicks-backup-x")
    plan = decide(observed(refusals={child: Refusal("spec.template: Invalid value")}))
    assert verdict(plan, "Stalled") == ("True", "Refused")
    assert "StatefulSet clicks-backup-x: spec.template: Invalid value" in condition(plan, "Stalled")["message"]
    plan = decide(observed(refusals={child: Refusal("StatefulSet clicks-backup-x exists", taken=True)}))
    assert verdict(plan, "Stalled") == ("True", "NameTaken")


CRASH = {"terminated": {"exitCode": 2, "reason": "Error", "message": "line\nspec.kafka: nothing listens there\n"}}
CHECKED = "ok       kafka     1 broker\nfailed   bucket    no such bucket\nnothing was started; correct the above\n"
UNCHECKED = {"terminated": {"exitCode": 3, "reason": "Error", "message": CHECKED}}


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        ({"containerStatuses": [waiting("ImagePullBackOff", "denied")]}, "ImageUnavailable", "denied"),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", restarts=4, last=CRASH)]},
            "MemberCrashing",
            "exit code 2; it said: spec.kafka: nothing listens there",
        ),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", restarts=4, last=UNCHECKED)]},
            "MemberCrashing",
            "exit code 3; it said: failed bucket no such bucket",
        ),
        (
            {"containerStatuses": [waiting("CreateContainerConfigError", "no Secret x")]},
            "PodNotStartable",
            "no Secret x",
        ),
        (
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "message": "0/3 nodes are available",
                        "lastTransitionTime": "2026-11-21T11:00:00Z",
                    }
                ]
            },
            "Unschedulable",
            "0/3 nodes",
        ),
    ],
)
def test_what_ails_a_pod(status: Document, reason: str, text: str) -> None:
    plan = decide(observed(children=by_reference([pod("clicks-backup-x-0", **status)])))
    assert verdict(plan, "Stalled") == ("True", reason)
    assert text in condition(plan, "Stalled")["message"]


def test_a_pod_that_only_starts_ails_nothing() -> None:
    plan = decide(observed(children=by_reference([pod("clicks-backup-x-0")])))
    assert verdict(plan, "Stalled")[0] == "False"


# what members and Kafka say


def test_a_failing_upload_is_told_with_its_place_and_readiness_stays() -> None:
    life = Life()
    life.step()
    life.get_ready()
    plan = life.step(reports={"clicks-backup-x-0": report([failure()])}, lag=lag())
    assert verdict(plan, "UploadsSucceeding") == ("False", "Unauthorized")
    message = condition(plan, "UploadsSucceeding")["message"]
    assert "check the keys" in message
    assert "clicks partition 3 offsets 100 to 200" in message
    assert verdict(plan, "Ready")[0] == "True", "the members are there; it is the bucket that refuses"
    assert plan.status["uploads"]["lastFailure"]["partition"] == 3
    assert [event.reason for event in plan.events if event.warning] == ["Unauthorized"]


def test_a_bucket_that_refuses_documents_of_ours_is_told_without_a_place() -> None:
    nowhere = failure() | dict.fromkeys(("topic", "partition", "start", "end"))
    plan = decide(observed(reports={"a": report([nowhere])}))
    assert verdict(plan, "UploadsSucceeding") == ("False", "Unauthorized")
    assert (
        "check the keys of spec.storage.secretName (a document below _logpersister/"
        in condition(plan, "UploadsSucceeding")["message"]
    )
    assert "topic" not in plan.status["uploads"]["lastFailure"]


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
    life = Life()
    life.step()
    life.get_ready()
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


def test_what_failed_last_outlives_the_member_that_said_so() -> None:
    life = Life()
    life.step(reports={"a": report([failure()])})
    plan = life.step(reports={"a": report()})
    assert plan.status["uploads"]["lastFailure"]["partition"] == 3
    assert verdict(plan, "UploadsSucceeding")[0] == "True"


def test_a_failure_of_some_time_ago_is_past() -> None:
    plan = decide(observed(reports={"a": report([failure("2026-11-21T11:50:00.000Z")])}))
    assert verdict(plan, "UploadsSucceeding") == ("True", "Succeeding")
    assert plan.status["uploads"]["lastFailure"]["time"].startswith("2026-11-21T11:50:00"), "it is not forgotten"


def test_a_failure_of_kafka_is_no_failure_of_an_upload() -> None:
    plan = decide(observed(reports={"a": report([failure(upload=False)])}))
    assert verdict(plan, "UploadsSucceeding")[0] == "True"


def test_members_that_do_not_answer_are_unknown() -> None:
    plan = decide(observed(reports={"a": MemberReport(None, "ConnectTimeout")}))
    assert verdict(plan, "UploadsSucceeding") == ("Unknown", "NoMemberAnswers")
    assert "uploads" not in plan.status


def test_the_reports_of_members_add_up() -> None:
    plan = decide(observed(reports={"a": report(), "b": report(), "c": MemberReport(None, "gone")}))
    assert plan.status["uploads"]["objects"] == 20
    assert plan.status["rebalance"]["groupGeneration"] == 3


def test_an_unknown_lag_is_never_zero() -> None:
    plan = decide(observed(lag=UnknownLag("broker-1:9092: connection refused")))
    assert verdict(plan, "LagWithinTarget") == ("Unknown", "LagUnknown")
    assert "connection refused" in condition(plan, "LagWithinTarget")["message"]
    assert "lag" not in plan.status
    assert plan.status["summary"]["lag"] == "Unknown"


def test_a_lag_over_its_target() -> None:
    plan = decide(observed(lag=lag(records=1_000, seconds=3_600.0, over_target=("clicks",))))
    assert verdict(plan, "LagWithinTarget") == ("False", "Behind")
    assert "1,000 records behind, the oldest 1h00m old" in condition(plan, "LagWithinTarget")["message"]
    assert plan.status["lag"]["worst"][0]["partition"] == 3


def test_a_stuck_partition_is_named() -> None:
    plan = decide(observed(lag=lag(records=7, seconds=9_000.0, stuck=(StuckPartition(CLICKS, 7, 8_000),))))
    assert verdict(plan, "LagWithinTarget") == ("False", "PartitionStuck")
    assert "clicks-3 has not moved for 2h13m with 7 records" in condition(plan, "LagWithinTarget")["message"]
    stuck = lag(records=7, seconds=9_000.0, stuck=(StuckPartition(CLICKS, 7, 8_000),))
    reports = {"a": report(), "b": report(assignment={"count": 2, "partitions": ["clicks-2", "clicks-3"]})}
    plan = decide(observed(lag=stuck, reports=reports))
    assert "clicks-3 of member b has not moved" in condition(plan, "LagWithinTarget")["message"]
    assert plan.status["lag"]["worst"][0]["stuck"] is True


def test_times_of_transition_stay_while_messages_change() -> None:
    life = Life()
    life.step(lag=lag(records=1, seconds=1.0))
    first = condition(life.step(lag=lag(records=2, seconds=2.0)), "LagWithinTarget")
    plan = decide(life.observed(lag=lag(records=3, seconds=3.0)))
    second = condition(plan, "LagWithinTarget")
    assert first["message"] != second["message"]
    assert first["lastTransitionTime"] == second["lastTransitionTime"]


def test_every_status_is_one_that_the_crd_allows() -> None:
    bad = [pod("clicks-backup-x-0", containerStatuses=[waiting("CrashLoopBackOff", restarts=9)])]
    plan = decide(
        observed(children=by_reference(bad), reports={"clicks-backup-x-0": report([failure()])}, lag=lag(9, 9.0))
    )
    assert Status.model_validate(plan.status).members is not None
