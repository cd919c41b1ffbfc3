"""What the operator makes of records by type: the worst and the totals, in the status and in the text of kubectl."""

from datetime import timedelta
from typing import Any

from logpersister_operator.crd.status_records import MOST_TYPES
from tests.unit.kubernetes.samples import NOW, SPEC, decide, observed, report, resource

TYPED: dict[str, Any] = {
    **SPEC,
    "types": {"header": "type", "entries": [{"names": [f"t{number}" for number in range(9)]}, {"pattern": "^audit"}]},
}


def ago(**span: float) -> str:
    return (NOW - timedelta(**span)).isoformat()


def said(newest: dict[str, str], refused: dict[str, int] | None = None, topic: str = "clicks") -> dict[str, Any]:
    """Return what a member says of its types."""
    most = [{"topic": topic, "type": name, "quarantined": count} for name, count in (refused or {}).items()]
    numbers = {"count": len(newest), "records": 10, "bytes": 100, "quarantined": sum((refused or {}).values())}
    return {"types": {**numbers, "dropped": 1, "stalest": [], "mostQuarantined": most, "newest": {topic: newest}}}


def status_of(spec: dict[str, Any], before: dict[str, Any], *sections: dict[str, Any]) -> dict[str, Any]:
    reports = {f"m{number}": report(**section) for number, section in enumerate(sections)}
    seen = observed(resource(**spec) | {"status": before}, reports=reports)
    return dict(decide(seen).status)


def test_a_type_is_as_new_as_at_the_member_that_has_the_newest() -> None:
    one = said({"t1": ago(hours=5), "t2": ago(hours=1)}, {"t1": 3})
    two = said({"t1": ago(minutes=2), "/^audit/": ago(hours=3)}, {"t1": 4, "t2": 1})
    status = status_of(TYPED, {}, one, two)
    types = status["types"]
    assert [(one["type"], one["newest"]) for one in types["stalest"]] == [
        ("/^audit/", "2026-11-21T09:00:00Z"),
        ("t2", "2026-11-21T11:00:00Z"),
        ("t1", "2026-11-21T11:58:00Z"),
    ]
    assert [(one["type"], one["quarantined"]) for one in types["mostQuarantined"]] == [("t1", 7), ("t2", 1)]
    assert (types["count"], types["records"], types["quarantined"], types["dropped"]) == (3, 20, 8, 2)
    assert status["summary"]["stalestType"] == "/^audit/ 3h00m"


def test_what_members_that_ended_have_told_stays_while_the_type_is_declared() -> None:
    before = status_of(TYPED, {}, said({f"t{number}": ago(hours=number + 1) for number in range(9)}))
    assert [one["type"] for one in before["types"]["stalest"]] == ["t8", "t7", "t6", "t5", "t4"]
    again = status_of(TYPED, before, said({"t7": ago(minutes=1)}))
    assert [one["type"] for one in again["types"]["stalest"]] == ["t8", "t6", "t5", "t4", "t7"]
    assert len(again["types"]["stalest"]) <= MOST_TYPES
    fewer = {**SPEC, "types": {"header": "type", "entries": [{"names": ["t6"]}]}}
    assert [one["type"] for one in status_of(fewer, again, said({}))["types"]["stalest"]] == ["t6"]
    nobody = status_of(TYPED, before)
    assert nobody["types"] == before["types"], "members that do not answer say nothing new"
