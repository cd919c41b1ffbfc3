"""No two replays go into one generation."""

from typing import Any

from logpersister_operator.observe.resource import key_of
from logpersister_operator.replays.claims import Claims
from tests.unit.replays.life import replay


def named(name: str, created: str = "2026-11-21T11:00:00Z", namespace: str = "logs", **spec: Any) -> dict[str, Any]:
    document = replay(**spec)
    document["metadata"] |= {"name": name, "creationTimestamp": created, "namespace": namespace}
    return document


def test_the_oldest_has_a_generation_until_it_is_deleted() -> None:
    claims = Claims()
    old, same, young = named("z"), named("zz"), named("a", "2026-11-21T11:00:01Z")
    others = [named("b", generation=3), named("c", resource="other"), named("d", namespace="elsewhere")]
    for one in [young, same, *others, old]:
        claims.seen(one)
    found = [claims.holder(key_of(one)) for one in [old, same, young, *others]]
    assert found == ["", "z", "z", "", "", ""]
    claims.gone(old)
    assert [claims.holder(key_of(one)) for one in [same, young]] == ["", "zz"]


def test_what_makes_no_sense_claims_nothing() -> None:
    claims = Claims()
    broken = named("a")
    broken["spec"] = None
    for one in (broken, named("b")):
        claims.seen(one)
    assert [claims.holder(key_of(one)) for one in (broken, named("b"))] == ["", ""]
