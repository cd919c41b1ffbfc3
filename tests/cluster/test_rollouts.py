"""New revisions of a resource with three members under load: each takes over, or goes back by itself."""

import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import pytest

from tests.cluster.conftest import PARTITIONS, MakePersister, install, unharmed
from tests.cluster.environment import MEMBER_IMAGE, OPERATOR_NAMESPACE, OWN_NODE
from tests.cluster.kubectl import Kubectl
from tests.cluster.lanes import lane
from tests.cluster.node import images
from tests.cluster.persister import Persister, waits_for_a_node
from tests.integration.harness.workload import Workload

TOPIC = "rollouts"
_MEMBERS = 3
_OPERATOR = "app.kubernetes.io/name=logpersister-operator"
_CANARY = {"canary": {"analysis": {"duration": "5s", "minRanges": 1}}}
_SHADOW = {"groupId": "shadow-of-rollouts", "prefix": "shadow", "minRanges": 1}
_LONG = {"canary": {"analysis": {"duration": "8m"}}}
_SHORT = {"canary": {"analysis": {"duration": "5s", "minRanges": 1_000_000}}, "progressDeadline": "10s"}
"""What it has stored before it hangs does not let it pass."""
_HANGS = "its /status has not answered|no progress for|became unready|it committed .* ranges"
"""What is noticed first."""
_on_our_node = pytest.mark.skipif(OWN_NODE not in os.environ, reason="the node of another's cluster is not ours")


@pytest.fixture(scope="module", autouse=True)
def _image_of_members() -> Iterator[None]:
    """That of the other tests, once the resource is gone."""
    yield
    with lane(alone=True):
        install()


@pytest.fixture(scope="module")
def _resource(make_persister: MakePersister) -> Persister:
    return make_persister("rollouts", TOPIC, members=_MEMBERS, rollout=_CANARY, image=None)


@pytest.fixture
def persister(_resource: Persister, workload: Workload) -> Iterator[Persister]:
    """The resource under load, well before the test and after it: all generations together hold each record once."""
    with unharmed(_resource), workload.running(TOPIC, PARTITIONS, per_second=50):
        yield _resource


@pytest.mark.alone
def test_a_new_generation_though_the_operator_is_killed_at_each_phase(persister: Persister) -> None:
    before, members = persister.status()["revision"], persister.restarts()
    # Its figures are in the status only as long as there is a shadow, so it stays until they are looked at.
    lasting, passing = ({"shadow": _SHADOW | {"duration": duration}} for duration in ("1h", "1s"))
    persister.apply(generation=2, output={"sequencefile": {}}, rollout=_CANARY | lasting)
    compared = persister.eventually("its shadow stores the same", lambda: _compared(persister))
    assert compared["records"]["stable"] == compared["records"]["shadow"]
    assert persister.restarts() == members, "no member of the group yet"
    _kill_operator()
    persister.apply(rollout=_CANARY | passing)
    for phase in ("Canary", "Rolling"):
        persister.eventually(phase, lambda phase=phase: _phase(persister) in (phase, "Steady"))  # type: ignore[misc]
        _kill_operator()
    after = persister.wait_steady(_MEMBERS)
    assert after != before
    persister.eventually("each partition has changed its generation", lambda: _partitions(persister) == {2: 4})
    (generation,) = persister.status()["generations"]
    assert {one["partition"] for one in generation["began"]} == set(PARTITIONS)
    persister.eventually("its shadow is gone, and the old revision", lambda: _sets(persister) == {after})
    persister.apply(rollout=_CANARY)


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
    assert persister.wait_steady(_MEMBERS) == stable
    assert persister.restarts() == members, "the old members have seen nothing of it"


@pytest.mark.soak
@_on_our_node
def test_a_canary_that_hangs_is_withdrawn(persister: Persister) -> None:
    stable, members, interval = persister.status()["revision"], persister.restarts(), persister.spec["cycleInterval"]
    persister.apply(rollout=_LONG, cycleInterval="800ms")
    try:
        persister.eventually("its canary is watched", lambda: _is_watched(persister, members))
        (canary,) = (name for name, pod in persister.pods().items() if pod["metadata"]["uid"] not in members)
        persister.eventually("it stores", lambda: persister.member_status(canary)["uploads"]["ranges"])
        with _standing_still(canary):
            persister.eventually("what it told last is no news any more", lambda: _is_silent(persister, canary))
            persister.apply(rollout=_SHORT)
            found = persister.wait("Stalled", "True", "RolloutFailed")
            assert re.search(_HANGS, found["message"])
        # What it was at it goes on with now, whoever has its partitions.
        persister.eventually("it is gone", lambda: persister.restarts().keys() == members.keys())
    finally:
        persister.apply(rollout=_CANARY, cycleInterval=interval)
    assert persister.wait_steady(_MEMBERS) == stable
    assert persister.restarts() == members


@pytest.mark.alone
@_on_our_node
def test_another_image_while_the_node_is_drained(persister: Persister) -> None:
    before, members, image = persister.status()["revision"], persister.restarts(), os.environ[MEMBER_IMAGE]
    other = f"{image}-again"
    images.tag(image, other)
    nodes = {pod["spec"]["nodeName"] for pod in persister.pods().values()}
    install(member=other)
    persister.eventually("members are replaced", lambda: _phase(persister) == "Rolling")
    try:
        with ThreadPoolExecutor(1) as pool:
            drained = pool.submit(persister.drain, nodes)
            persister.eventually("one has no node", lambda: any(map(waits_for_a_node, persister.pods().values())))
            persister.kubectl("uncordon", *nodes)
            drained.result()
    finally:
        persister.kubectl("uncordon", *nodes)
    assert persister.wait_steady(_MEMBERS) != before
    assert not persister.restarts().keys() & members.keys()
    assert {pod["spec"]["containers"][0]["image"] for pod in persister.pods().values()} == {other}


def _kill_operator() -> None:
    Kubectl(OPERATOR_NAMESPACE)("delete", "pods", "--selector", _OPERATOR, "--grace-period=0", "--force")


@contextmanager
def _standing_still(pod: str) -> Iterator[None]:
    """Stop a member's process as long as the block runs, unless the kubelet ends it before."""
    (process,) = (one for one in psutil.process_iter(["name", "cmdline"]) if _is_member(one.info, pod))
    process.suspend()
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def _is_member(process: Mapping[str, Any], pod: str) -> bool:
    """Whether a process is a pod's member: what has started it in there has the same arguments."""
    return process["name"] == "logpersister" and pod in (process["cmdline"] or ())


def _is_silent(persister: Persister, pod: str) -> bool:
    """Whether a member was asked how it does, and did not answer."""
    found = {one["name"]: one for one in persister.status()["members"]["list"]}
    return pod in found and "partitions" not in found[pod]


def _phase(persister: Persister) -> str:
    return str(_rollout(persister).get("phase", ""))


def _rollout(persister: Persister) -> Mapping[str, Any]:
    found: Mapping[str, Any] = persister.status().get("rollout") or {}
    return found


def _compared(persister: Persister) -> Mapping[str, Any] | None:
    """Return what the shadow has in common with what is stored; None before checksums of records are compared."""
    found: Mapping[str, Any] = _rollout(persister).get("shadow") or {}
    return found if found.get("checksums") else None


def _sets(persister: Persister) -> set[str]:
    """Return the names of its StatefulSets without what all have in common."""
    found = persister.kubectl.list("statefulsets", f"logpersister.dev/resource={persister.name}")
    return {one["metadata"]["name"].removeprefix(f"{persister.name}-") for one in found}


def _is_watched(persister: Persister, old: Mapping[str, int]) -> bool:
    rollout = _rollout(persister)
    new = persister.restarts().keys() - old.keys()
    return rollout.get("phase") == "Canary" and "trial" in rollout and len(new) == 1


def _partitions(persister: Persister) -> dict[int, int]:
    """Return how many partitions are in each generation."""
    return {one["generation"]: one["partitions"] for one in persister.status().get("generations", [])}
