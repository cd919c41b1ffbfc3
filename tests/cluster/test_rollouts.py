"""New revisions of a resource with three members under load: each takes over, or goes back by itself."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.conftest import PARTITIONS, MakePersister, unharmed
from tests.cluster.environment import OPERATOR_NAMESPACE
from tests.cluster.kubectl import Kubectl
from tests.cluster.persister import Persister
from tests.integration.harness.verification import Verify
from tests.integration.harness.workload import Workload

TOPIC = "rollouts"
_MEMBERS = 3
_OPERATOR = "app.kubernetes.io/name=logpersister-operator"
_CANARY = {"canary": {"analysis": {"duration": "5s", "minRanges": 1}}}


@pytest.fixture(scope="module")
def _resource(make_persister: MakePersister) -> Persister:
    return make_persister("rollouts", TOPIC, members=_MEMBERS, rollout=_CANARY)


@pytest.fixture
def persister(_resource: Persister, workload: Workload, verify: Verify) -> Iterator[Persister]:
    """The resource under load, well before the test and after it: all generations together hold each record once."""
    with unharmed(_resource, workload, verify), workload.running(TOPIC, PARTITIONS, per_second=50):
        yield _resource


def test_a_new_generation_though_the_operator_is_killed_at_each_phase(persister: Persister) -> None:
    before = persister.status()["revision"]
    persister.apply(generation=2, output={"compression": "zstd"})
    for phase in ("Canary", "Rolling"):
        persister.eventually(phase, lambda phase=phase: _phase(persister) in (phase, "Steady"))  # type: ignore[misc]
        Kubectl(OPERATOR_NAMESPACE)("delete", "pods", "--selector", _OPERATOR, "--grace-period=0", "--force")
    after = _wait_steady(persister)
    assert after != before
    persister.eventually("each partition has changed its generation", lambda: _partitions(persister) == {2: 4})
    (generation,) = persister.status()["generations"]
    assert {one["partition"] for one in generation["began"]} == set(PARTITIONS)


def test_a_canary_that_cannot_store_is_withdrawn(persister: Persister) -> None:
    stable, members, storage = persister.status()["revision"], persister.restarts(), persister.spec["storage"]
    persister.apply(storage=storage | {"bucket": f"{storage['bucket']}-missing"})
    try:
        found = persister.wait("Stalled", "True", "RolloutFailed")
        assert "bucket" in found["message"], "the cause is told"
        assert "spec.rollout.attempt" in found["message"], "and the remedy"
        persister.eventually("it is gone", lambda: persister.restarts().keys() == members.keys())
    finally:
        persister.apply(storage=storage)
    assert _wait_steady(persister) == stable
    assert persister.restarts() == members, "the old members have seen nothing of it"


def test_a_third_revision_and_the_way_back(persister: Persister) -> None:
    stable, members, interval = persister.status()["revision"], persister.restarts(), persister.spec["cycleInterval"]
    persister.apply(rollout={"canary": {"analysis": {"duration": "8m"}}})
    for other in ("600ms", "700ms"):
        persister.apply(cycleInterval=other)
        persister.eventually("its canary is watched", lambda: _is_watched(persister, members))
        persister.eventually("it is alone", lambda: len(persister.restarts().keys() - members.keys()) == 1)
    persister.apply(cycleInterval=interval, rollout=_CANARY)
    assert _wait_steady(persister) == stable
    assert persister.restarts() == members, "they were there all the time"


def _phase(persister: Persister) -> str:
    return str(_rollout(persister).get("phase", ""))


def _rollout(persister: Persister) -> Mapping[str, Any]:
    found: Mapping[str, Any] = persister.status().get("rollout") or {}
    return found


def _is_watched(persister: Persister, old: Mapping[str, int]) -> bool:
    rollout = _rollout(persister)
    new = persister.restarts().keys() - old.keys()
    return rollout["phase"] == "Canary" and "trial" in rollout and len(new) == 1


def _wait_steady(persister: Persister) -> str:
    """Wait until one revision runs, with all its members, and what the spec says is done; return the revision."""

    def steady() -> bool:
        current = persister.condition("Ready").get("observedGeneration") == persister.metadata()["generation"]
        return current and _phase(persister) == "Steady" and len(persister.restarts()) == _MEMBERS

    persister.eventually("one revision runs", steady)
    persister.wait("Ready", "True", "MembersReady")
    return str(persister.status()["revision"])


def _partitions(persister: Persister) -> dict[int, int]:
    """Return how many partitions are in each generation."""
    return {one["generation"]: one["partitions"] for one in persister.status().get("generations", [])}
