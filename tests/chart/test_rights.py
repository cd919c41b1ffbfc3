"""The operator's rights: no more than the code uses, no less, and docs/security.md tells them all."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.chart.combinations import COMBINATIONS, EVERYTHING, EVERYTHING_IN_NAMESPACES, NAMESPACES
from tests.chart.helm import CHART, Rendered, render
from tests.chart.rights import Right, rights
from tests.unit.kubernetes.samples import Life, resource

WITHOUT_EXECUTORS: dict[str, Any] = {"executors": {"enabled": False}}
SECURITY = (CHART.parents[1] / "docs" / "security.md").read_text()


def operator_rights(rendered: Rendered) -> set[Right]:
    """Return what the operator may do where resources are."""
    roles = [one for one in rendered.installed if one["kind"] in ("Role", "ClusterRole")]
    found = [one for one in roles if one["metadata"]["name"].endswith("-operator")]
    assert found
    (same,) = {frozenset(rights(one["rules"])) for one in found}
    return set(same)


def test_the_rights_are_the_same_in_all_namespaces_and_in_some() -> None:
    assert operator_rights(render()) == operator_rights(render(NAMESPACES))
    roles = [one for one in render(NAMESPACES).of_kind("Role") if one["metadata"]["name"] == "logpersister-operator"]
    assert [one["metadata"]["namespace"] for one in roles] == ["logs", "audit"]


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_no_right_is_for_everything(values: dict[str, Any]) -> None:
    for role in [one for one in render(values).all if one["kind"] in ("Role", "ClusterRole")]:
        for right in rights(role["rules"]):
            assert "*" not in right
            assert right[2] not in ("escalate", "bind", "impersonate")


def test_the_bindings_bind_the_accounts_that_pods_run_as() -> None:
    for values in (EVERYTHING, EVERYTHING_IN_NAMESPACES):
        rendered = render(values)
        pods = {
            "logpersister-operator": rendered.pod(),
            "logpersister-release": rendered.one("Job", "logpersister-release")["spec"]["template"]["spec"],
        }
        for binding in [one for one in rendered.all if one["kind"].endswith("Binding")]:
            (subject,) = binding["subjects"]
            assert subject["namespace"] == "logpersister-system"
            assert pods[subject["name"]]["serviceAccountName"] == subject["name"]
            same = (binding["metadata"]["name"], binding["metadata"].get("namespace"))
            role = rendered.one(binding["roleRef"]["kind"], binding["roleRef"]["name"]) if same[1] is None else None
            assert role is not None or binding["roleRef"]["name"] == same[0]


def documented(heading: str) -> set[Right]:
    """Return the rights in the table below a heading: API group, resources, verbs, why."""
    section = SECURITY.partition(f"### {heading}\n")[2].partition("\n#")[0]
    found: set[Right] = set()
    for group, kinds, verbs in re.findall(
        r"^\| `?([\w.]*)`? \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", section, re.MULTILINE
    ):
        if kinds.strip() in ("resources", "---"):
            continue
        for kind in re.findall(r"`([\w/]+)`", kinds):
            found |= {("" if group == "core" else group, kind, verb.strip()) for verb in verbs.split(",")}
    return found


def of_roles(values: dict[str, Any], *roles: str) -> set[Right]:
    """Return the rights in roles, each written as its kind and name."""
    rendered = render(values)
    return {right for role in roles for right in rights(rendered.one(*role.split())["rules"])}


def of_drivers() -> set[Right]:
    plan = Life(resource(spark={"executors": 1})).step()
    (role,) = [child for child in plan.apply if child["kind"] == "Role"]
    return set(rights(role["rules"]))


CLUSTER = "ClusterRole logpersister-system-logpersister"
TABLES: dict[str, Callable[[], set[Right]]] = {
    "The operator, where resources are": lambda: operator_rights(render()),
    "The operator of some namespaces, everywhere": lambda: of_roles(
        NAMESPACES | {"rbac": {"namespaceDeletion": True}}, f"{CLUSTER}-operator-finalizers"
    ),
    "The operator, in its own namespace": lambda: of_roles(EVERYTHING, "Role logpersister-operator-lease"),
    "While the release is uninstalled": lambda: of_roles({}, "Role logpersister-release", f"{CLUSTER}-release"),
    "Users": lambda: of_roles({}, f"{CLUSTER}-view", f"{CLUSTER}-edit"),
    "Members with executors": of_drivers,
}


@pytest.mark.parametrize("heading", TABLES)
def test_the_tables_in_the_documents_are_true(heading: str) -> None:
    assert documented(heading) == TABLES[heading]()


@pytest.mark.parametrize("values", [{}, NAMESPACES], ids=["everywhere", "namespaces"])
def test_the_table_of_an_operator_without_executors_in_the_documents_is_true(values: dict[str, Any]) -> None:
    less = operator_rights(render(values | WITHOUT_EXECUTORS))
    assert less < operator_rights(render(values))
    assert documented("Without executors") == operator_rights(render(values)) - less


def test_the_table_of_selected_namespaces_in_the_documents_is_true() -> None:
    rendered = render({"namespaceSelector": "team=web"})
    more = operator_rights(rendered) - operator_rights(render())
    assert documented("With a selector of namespaces") == more
    assert operator_rights(render({"canaryNamespaceSelector": "team=web"})) - operator_rights(render()) == more
    release = rendered.one("ClusterRole", "logpersister-system-logpersister-release")
    assert more <= set(rights(release["rules"]))
