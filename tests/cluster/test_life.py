"""What a user does first: apply a resource, look at it, delete it."""

from tests.cluster.conftest import PARTITIONS, MakePersister
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
