"""What a user does first: apply a resource, look at it, delete it; with Spark inside of members and with executors."""

from tests.cluster.conftest import PARTITIONS, SMALL_EXECUTOR, MakePersister
from tests.cluster.persister import EXECUTORS, ready
from tests.integration.harness.verification import Verify
from tests.integration.harness.workload import Workload

_RECORDS = 2_000


def test_a_topic_is_stored_exactly_once(workload: Workload, make_persister: MakePersister, verify: Verify) -> None:
    persister = make_persister("plain", "plain", members=2)
    workload.write("plain", _RECORDS, partitions=PARTITIONS, size=200)
    persister.wait("Ready", "True", "MembersReady")
    workload.write("plain", _RECORDS, partitions=PARTITIONS, size=200)
    persister.wait_stored()

    def shared_out() -> bool:
        members = persister.status()["members"]
        return members["ready"] == 2 and [one.get("partitions") for one in members["list"]] == [2, 2]

    persister.eventually("two members share the partitions", shared_out)
    # Numbers alone are written every 15 seconds.
    persister.eventually("all is counted", lambda: persister.stored() == 2 * _RECORDS * len(PARTITIONS))
    verify(persister.manifest())

    persister.delete()
    left = persister.kubectl.list("pods", f"logpersister.dev/resource={persister.name}")
    assert not left, "what is deleted has ended"


def test_executors_are_found_replaced_and_taken_away(
    workload: Workload, make_persister: MakePersister, verify: Verify
) -> None:
    spark = {"executors": 2, "executorPodTemplate": SMALL_EXECUTOR}
    persister = make_persister("executors", "executors", spark=spark)
    persister.wait("Ready", "True", "MembersReady")

    def executors() -> set[str]:
        return {name for name, pod in persister.pods(EXECUTORS).items() if ready(pod)}

    first: set[str] = persister.eventually("two executors", lambda: found if len(found := executors()) == 2 else None)
    persister.eventually("the status tells of both", lambda: persister.status()["members"]["list"][0]["executors"] == 2)
    members = persister.restarts()

    with workload.running("executors", PARTITIONS, per_second=50):
        persister.eventually("they store", persister.stored)
        lost = min(first)
        persister.kubectl.delete("pod", lost, "--grace-period=0", "--force", "--wait=false")
        second = persister.eventually("one in its place", lambda: len(found := executors() - {lost}) == 2 and found)
        assert second > first - {lost}, "the other one stays"
        before = persister.stored()
        persister.eventually("they go on", lambda: persister.stored() > before)
    persister.wait_stored()
    assert persister.restarts() == members, "a lost executor costs a retry, and not the member"
    verify(persister.manifest())

    persister.delete()
    persister.eventually("no member and no executor", lambda: not persister.kubectl.list("pods"))
