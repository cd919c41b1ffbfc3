"""Executor pods of one resource: found, replaced, drained, more and fewer of them, gone with their member."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from tests.cluster.conftest import PARTITIONS, SMALL_EXECUTOR, MakePersister, unharmed
from tests.cluster.impostor import SECRET, impostor
from tests.cluster.kubectl import Kubectl, KubectlError
from tests.cluster.persister import EXECUTORS, Persister
from tests.integration.harness.workload import Workload
from tests.stack.fault_proxy import FaultProxy, Stall

TOPIC = "executors"
_REFUSED = (
    "Authentication failed|Unknown challenge message|ClosedChannelException|Connection .* closed|Broken pipe"
    "|Exception while bootstrapping client"
)
"""The member's answer, or that it hung up, or that the handshake had no end: an impostor may see any of them first."""

_CRASH = (
    "import os, signal; [os.kill(int(one), signal.SIGKILL) for one in os.listdir('/proc') if one.isdecimal() "
    "and b'--member' b'-name' in open(f'/proc/{one}/cmdline', 'rb').read()]"
)
"""Kills the process of the member, in its container, as the kernel does when memory is short."""


@pytest.fixture(scope="module")
def resource(make_persister: MakePersister) -> Persister:
    return make_persister(TOPIC, TOPIC, spark={"executors": 2, "executorPodTemplate": SMALL_EXECUTOR})


@pytest.fixture
def persister(resource: Persister) -> Iterator[Persister]:
    """The resource, well before the test and after it."""
    with unharmed(resource):
        yield resource


def test_one_that_is_lost_is_replaced(persister: Persister, workload: Workload) -> None:
    first = set(_wait_executors(persister, 2))
    members = persister.restarts()
    with workload.running(TOPIC, PARTITIONS, per_second=50):
        persister.eventually("they store", persister.stored)
        lost = min(first)
        persister.kubectl.delete("pod", lost, "--grace-period=0", "--force", "--wait=false")

        def replaced() -> set[str] | None:
            found = persister.executors().keys() - {lost}
            return found if len(found) == 2 else None

        assert persister.eventually("one in its place", replaced) > first - {lost}, "the other one stays"
        before = persister.stored()
        persister.eventually("they go on", lambda: persister.stored() > before)
    persister.wait_stored()
    assert persister.restarts() == members, "a lost executor costs a retry, and not the member"


@pytest.mark.soak
def test_who_has_not_sparks_secret_is_refused(persister: Persister) -> None:
    kubectl = persister.kubectl
    executor = next(iter(_wait_executors(persister, 2).values()))
    (secret,) = (one["value"] for one in executor["spec"]["containers"][0]["env"] if one["name"] == SECRET)
    kubectl.apply(impostor(executor, "wrong-secret", secret[::-1]), impostor(executor, "no-secret", None))
    for name in ("wrong-secret", "no-secret"):
        persister.eventually(f"{name} gives up", lambda name=name: _phase(kubectl, name) == "Failed")  # type: ignore[misc]
        said = kubectl("logs", name)
        assert re.search(_REFUSED, said), f"{name}: {said[:2000]}"
        kubectl.delete("pod", name)
    assert len(persister.executors()) == 2
    assert persister.status()["members"]["list"][0]["executors"] == 2

    public = [kubectl("get", "configmaps,events,logpersisters", "--output=json")]
    public += [kubectl("logs", name) for name in (*persister.pods(), *persister.executors())]
    assert not any(secret in text for text in public)


@pytest.mark.alone
def test_one_whose_node_is_drained_ends_what_it_is_at(persister: Persister, workload: Workload, s3: FaultProxy) -> None:
    first = _wait_executors(persister, 2)
    nodes = {pod["spec"]["nodeName"] for pod in first.values()}
    members, stall = persister.restarts(), Stall(matches=_is_object, times=None)
    s3.inject(stall)
    before = len(s3.requests)
    try:
        workload.write(TOPIC, 100, partitions=PARTITIONS)
        persister.eventually("an object is on its way", lambda: stall.met)
        with ThreadPoolExecutor(1) as pool:
            drained = pool.submit(persister.drain, nodes, EXECUTORS)
            persister.eventually("all shall leave", lambda: not persister.pods(EXECUTORS).keys() & first.keys())
            released = len(s3.requests)
            s3.remove(stall)
            drained.result()
        begun = {request for request in s3.requests[before:released] if _is_object(request)}
        assert begun.isdisjoint(s3.requests[released:]), "what was begun is ended, and not begun again elsewhere"
    finally:
        s3.remove(stall)
        persister.kubectl("uncordon", *nodes)
    assert not _wait_executors(persister, 2).keys() & first.keys()
    assert persister.restarts() == members


def test_those_of_the_process_before_end_when_the_container_starts_again(
    persister: Persister, workload: Workload
) -> None:
    first = set(_wait_executors(persister, 2))
    (pod, restarts), *_ = persister.restarts().items()
    (member,) = persister.pods()
    with workload.running(TOPIC, PARTITIONS, per_second=50):
        with suppress(KubectlError):  # which ends with the container
            persister.kubectl("exec", member, "--", "python", "-c", _CRASH)
        persister.eventually("its container starts again", lambda: persister.restarts().get(pod, 0) > restarts)
        second = set(_wait_executors(persister, 2))
        persister.eventually("no pod is left behind", lambda: not persister.pods(EXECUTORS).keys() & first)
    assert persister.pods().keys() == {member}, "its pod stays"
    assert not first & second, "no name is taken twice"
    persister.wait_stored()
    log = persister.kubectl("logs", member)
    assert "executors.ended" in log
    assert "already exists" not in log


@pytest.mark.soak
def test_as_many_as_there_is_work_for(persister: Persister, workload: Workload, s3: FaultProxy) -> None:
    conf = {"spark.dynamicAllocation.executorIdleTimeout": "5s"}
    sections = {"minExecutors": 1, "maxExecutors": 3, "conf": conf, "executorPodTemplate": SMALL_EXECUTOR}
    persister.apply(spark=sections)
    _wait_executors(persister, 1)
    stall = Stall(matches=_is_object, times=None)
    s3.inject(stall)
    try:
        for number in PARTITIONS:  # one after the other, so that each is a job of its own
            workload.write(TOPIC, 100, partitions=[number])
            persister.eventually("it is promised", lambda number=number: number in persister.group.pending(TOPIC))  # type: ignore[misc]
        _wait_executors(persister, 3)
    finally:
        s3.remove(stall)
    persister.wait_stored()
    _wait_executors(persister, 1)


@pytest.mark.soak
def test_they_go_with_their_member(resource: Persister) -> None:
    resource.delete()
    pods = f"logpersister.dev/resource={resource.name}"
    resource.eventually("no member and no executor", lambda: not resource.kubectl.list("pods", pods))


def _wait_executors(persister: Persister, number: int) -> dict[str, Any]:
    """Wait until there are so many, and the status tells of them; return their pods by name."""

    def there() -> dict[str, Any] | None:
        found = persister.executors()
        told = [one.get("executors") for one in persister.status().get("members", {}).get("list", [])]
        return found if len(found) == number and told == [number] else None

    found: dict[str, Any] = persister.eventually(f"{number} executors", there)
    return found


def _phase(kubectl: Kubectl, name: str) -> str:
    pod = kubectl.get("pod", name)
    return pod["status"]["phase"] if pod else ""


def _is_object(request: str) -> bool:
    """Whether a request begins to store an object, or a part of one."""
    return request.startswith("PUT ") and "/_logpersister/" not in request
