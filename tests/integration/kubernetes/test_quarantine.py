"""Records in quarantine, before the operator as a process: what members tell of them decides over a new revision."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import SPEC as LEAST
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.saying import saying

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

OLD, NEW = "127.0.79.1", "127.0.79.2"
MEMBERS = 3
ROLLOUT: dict[str, Any] = {"canary": {"analysis": {"duration": "2s", "minRanges": 3}}}
SPEC = LEAST | {
    "members": MEMBERS,
    "rollout": ROLLOUT,
}
CHANGED: dict[str, Any] = {"parser": {"type": "json"}}
BUSY = {"known": True, "complete": True, "records": 9, "seconds": 1, "worst": []}
KEY = "raw/clicks/_quarantine/1_3_00000000000000000100.gz"


def told(records: int, quarantined: int, ranges: int) -> dict[str, Any]:
    """Return what a member says that has stored so much."""
    now = datetime.now(UTC).isoformat()
    range_ = {
        "time": now, "topic": "clicks", "partition": 3, "offset": 120, "records": quarantined,
        "reason": "not JSON: expected value at line 1 column 7", "key": KEY,
    }  # fmt: skip
    uploads = {"ranges": ranges, "objects": ranges, "bytes": records, "records": records, "last": None}
    return {
        "uploads": uploads | {"failures": 0, "failuresLastHour": 0},
        "quarantine": {"records": quarantined, "last": now, "recent": [range_]} if quarantined else {"records": 0},
        "lag": BUSY,
    }


def counted(resource: Resource, records: int) -> None:
    """Wait until the operator has heard that so many records are stored."""

    def heard() -> bool:
        return bool((resource.status().get("uploads") or {}).get("records") == records)

    resource.eventually(f"{records} records", heard)


def begun(resource: Resource, spec: dict[str, Any]) -> str:
    """Let the old members store 1,000 records each; return their revision."""
    resource.apply(spec)
    resource.wait("Ready", "True", "MembersReady")
    (stable,) = resource.stateful_sets()
    counted(resource, MEMBERS * 1000)
    return stable


def watched(resource: Resource, stable_records: int) -> None:
    """Wait until a trial has begun and the new member was asked; check what the old ones had counted by then."""

    def trial() -> dict[str, Any] | None:
        found: dict[str, Any] = resource.status().get("rollout") or {}
        return found if "trial" in found and "candidateStored" in found else None

    previous_verdict = resource.eventually("it is watched", trial)["stableStored"]["told"]
    assert sum(one["records"] for one in previous_verdict) == stable_records


def only(resource: Resource, revision: str) -> Callable[[], bool]:
    return lambda: set(resource.stateful_sets()) == {revision}


def test_a_canary_that_refuses_more_than_the_old_members_is_withdrawn(
    resource: Resource, operator: OperatorProcess, kubelet: Kubelet
) -> None:
    kubelet.address = OLD
    with saying(OLD, **told(1000, 10, ranges=9)) as old, saying(NEW, **told(0, 0, ranges=0)) as new:
        stable = begun(resource, SPEC)
        resource.wait("RecordsParsing", "False", "RecordsQuarantined")

        kubelet.address = NEW
        resource.apply(SPEC | CHANGED)
        watched(resource, MEMBERS * 1000)
        operator.kill()
        old.update(told(1500, 20, ranges=12))
        operator.start()
        counted(resource, MEMBERS * 1500)
        new.update(told(400, 100, ranges=3))

        message = resource.wait("Stalled", "True", "RolloutFailed")["message"]
        assert (
            "100 of 400 records (25.0%) that it stored went into quarantine, and 30 of 1,500 records (2.0%) of the old "
            "revision; for example clicks-3@120: not JSON: expected value at line 1 column 7"
        ) in message
        resource.eventually("what the canary left goes", only(resource, stable))
        said = resource.condition("RecordsParsing")
        assert said["message"].startswith("160 records in quarantine, the last at ")
        assert KEY in said["message"]
        found = resource.status()["quarantine"]
        assert found["records"] == MEMBERS * 20 + 100, "what the canary put there is still there"
        assert [one["key"] for one in found["latest"]] == [KEY]
    reasons = [one["reason"] for one in resource.events()]
    assert reasons.count("RecordsQuarantined") == 1, "the second operator tells nothing anew"
    assert kubelet.broken == []
    assert kubelet.most <= MEMBERS + 1
