"""Service accounts of members and executors: made by the operator, or made by somebody else and only bound."""

from typing import Any

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.plan import Plan
from tests.unit.kubernetes.samples import Life, resource

EXECUTORS: dict[str, Any] = {"spark": {"executors": 1}}
ROLE = {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/logs"}


def of_kind(plan: Plan, kind: str) -> list[Document]:
    return [one for one in plan.apply if one["kind"] == kind]


def bound(life: Life) -> set[str]:
    """Return the accounts that may make executors."""
    return {
        subject["name"]
        for child in life.children.values()
        if child["kind"] == "RoleBinding"
        for subject in child["subjects"]
    }


def test_annotations_are_on_the_accounts_that_the_operator_makes() -> None:
    plan = Life(resource(**EXECUTORS, serviceAccount={"annotations": ROLE})).step()
    accounts = of_kind(plan, "ServiceAccount")
    assert [one["metadata"]["name"] for one in accounts] == ["clicks-backup-member", "clicks-backup-executor"]
    assert [one["metadata"]["annotations"] for one in accounts] == [ROLE, ROLE]
    plain = of_kind(Life(resource(**EXECUTORS)).step(), "ServiceAccount")
    assert ["annotations" in one["metadata"] for one in plain] == [False, False]


def test_an_account_that_is_named_is_bound_and_not_touched() -> None:
    life = Life(resource(**EXECUTORS, serviceAccount={"name": "logs-writer"}))
    plan = life.step()
    assert of_kind(plan, "ServiceAccount") == []
    assert bound(life) == {"logs-writer"}
    (members,) = of_kind(plan, "StatefulSet")
    pod = members["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "logs-writer"
    environment = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    assert environment["LOGPERSISTER_EXECUTOR_ACCOUNT"] == "logs-writer"
    (config,) = of_kind(plan, "ConfigMap")
    assert '"serviceAccountName": "logs-writer"' in config["data"]["executor.json"]
    assert of_kind(Life(resource(serviceAccount={"name": "logs-writer"})).step(), "RoleBinding") == []


def test_drivers_of_both_revisions_make_executors_while_one_takes_over() -> None:
    life = Life(resource(**EXECUTORS, rollout={"canary": {"analysis": {"duration": "1s", "minRanges": 0}}}))
    life.step()
    life.get_ready()
    life.step()
    (old,) = life.revisions()
    life.change(serviceAccount={"name": "logs-writer"})
    life.step()
    assert len(life.revisions()) == 2, "another account is tried by a canary"
    assert bound(life) == {"clicks-backup-member", "logs-writer"}
    assert "ServiceAccount" in {child["kind"] for child in life.children.values()}
    life.change(serviceAccount={})
    for _ in range(4):
        life.step()
        life.get_ready()
    assert life.revisions() == {old: 1}
    assert bound(life) == {"clicks-backup-member"}
