"""What a user does first: install, apply, look, change, delete."""

import pytest

from tests.cluster.conftest import MakePersister
from tests.cluster.persister import EXECUTORS, ready
from tests.integration.harness.verification import Verify
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker
from tests.stack.topics import create_topic

_RECORDS = 2_000
_PARTITIONS = range(4)
_SMALL = {"requests": {"cpu": "200m"}}
"""So that all pods of a test find room on two cores."""
_POD = {"spec": {"containers": [{"name": "member", "resources": _SMALL}]}}
_EXECUTOR_POD = {"spec": {"containers": [{"name": "executor", "resources": _SMALL}]}}


@pytest.fixture
def topic(kafka: KafkaBroker, unique: str) -> str:
    create_topic(kafka.bootstrap, unique, partitions=len(_PARTITIONS))
    return unique


def test_a_topic_is_stored_exactly_once(
    topic: str, workload: Workload, make_persister: MakePersister, verify: Verify
) -> None:
    workload.write(topic, _RECORDS, partitions=_PARTITIONS, size=200)
    persister = make_persister(topic, members=2, podTemplate=_POD)
    persister.wait("Ready", "True", "MembersReady")
    workload.write(topic, _RECORDS, partitions=_PARTITIONS, size=200)
    persister.wait_stored()

    status = persister.status()
    assert status["members"]["ready"] == 2
    assert status["uploads"]["objects"] > 0
    verify(persister.manifest(), "--deep")


def test_executors_are_found_replaced_and_taken_away(
    topic: str, workload: Workload, make_persister: MakePersister, verify: Verify
) -> None:
    persister = make_persister(topic, podTemplate=_POD, spark={"executors": 2, "executorPodTemplate": _EXECUTOR_POD})
    persister.wait("Ready", "True", "MembersReady")

    def executors() -> set[str]:
        return {name for name, pod in persister.pods(EXECUTORS).items() if ready(pod)}

    def known() -> int | None:
        """How many executors the status tells of."""
        members = persister.status()["members"]["list"]
        found: int | None = members[0].get("executors")
        return found

    first = persister.eventually("two executors", lambda: found if len(found := executors()) == 2 else None)
    persister.eventually("the status tells of both", lambda: known() == 2)
    (member,) = persister.pods()

    with workload.running(topic, _PARTITIONS, per_second=50):
        persister.eventually("they store", lambda: persister.status().get("uploads", {}).get("objects", 0) > 4)
        lost = min(first)
        persister.kubectl.delete("pod", lost, "--grace-period=0", "--force", "--wait=false")
        second = persister.eventually("another in its place", lambda: len(found := executors() - {lost}) == 2 and found)
        assert second > first - {lost}, "the other one stays"
        before = persister.status()["uploads"]["objects"]
        persister.eventually("they go on", lambda: persister.status()["uploads"]["objects"] > before + 4)
    persister.wait_stored()
    assert persister.pods().keys() == {member}
    assert set(persister.restarts().values()) == {0}, "a lost executor costs a retry and not the member"
    verify(persister.manifest(), "--deep")

    persister.delete()
    persister.eventually("no member and no executor", lambda: not persister.kubectl.list("pods"))
