"""Service accounts of members and executors: made by the operator, or made by somebody else and only bound."""

from typing import Any

import pytest

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.plan import Plan
from tests.unit.kubernetes.samples import Life, condition, resource, verdict

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
    life = Life.running(resource(**EXECUTORS, rollout={"canary": {"analysis": {"duration": "1s", "minRanges": 0}}}))
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


@pytest.mark.parametrize("spark", [{"executors": 1}, {"maxExecutors": 2}], ids=str)
def test_an_operator_without_rights_on_roles_refuses_executors_and_names_the_value(spark: dict[str, Any]) -> None:
    plan = Life(resource(spark=spark)).step(executors=False)
    assert not plan.apply
    found = condition(plan, "SpecValid")
    assert (found["status"], found["reason"]) == ("False", "SpecInvalid")
    assert "executors.enabled" in found["message"]
    assert verdict(plan, "Stalled") == ("True", "SpecInvalid")


def test_what_ran_goes_on_when_executors_are_switched_off_and_no_role_is_touched() -> None:
    life = Life.running(resource(**EXECUTORS))
    life.step()
    (revision,) = life.revisions()
    roles = {one: life.children.pop(one) for one in list(life.children) if one.kind in ("Role", "RoleBinding")}
    assert len(roles) == 2, "they are no longer seen, and are still there"
    plan = life.step(executors=False)
    assert f"revision {revision} continues" in condition(plan, "SpecValid")["message"]
    assert life.revisions() == {revision: 1}
    assert {one["kind"] for one in plan.apply} == {
        "ServiceAccount", "ConfigMap", "Service", "PodDisruptionBudget", "StatefulSet",
    }  # fmt: skip
    life.change(spark={})
    plan = life.step(executors=False)
    assert verdict(plan, "SpecValid") == ("True", "Valid")
    assert len(life.revisions()) == 2, "the one without executors is rolled out"
    assert not any(one.kind in ("Role", "RoleBinding") for one in life.children)
