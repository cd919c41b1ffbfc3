"""Lost records, before the operator as a process: the status goes on to tell of them when who found them is gone."""

import pytest

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import SPEC, OperatorProcess, Resource
from tests.integration.kubernetes.saying import saying

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

MEMBER = "127.0.80.1"
GAP = {"topic": "clicks", "partition": 3, "start": 100, "end": 150, "skipped": True}
UPLOADS = {"ranges": 1, "objects": 1, "bytes": 9, "last": None, "failures": 0, "failuresLastHour": 0}


def test_it_outlives_the_member_and_the_operator_that_found_it(
    resource: Resource, operator: OperatorProcess, kubelet: Kubelet
) -> None:
    kubelet.address = MEMBER
    resource.apply(SPEC)
    resource.wait("Ready", "True", "MembersReady")
    with saying(MEMBER, dataLoss={"offsets": 50, "recent": [GAP]}) as member:
        found = resource.wait("DataComplete", "False", "RecordsLost")
        assert "50 records in 1 range" in found["message"]
        # A process that has begun anew has found nothing.
        member |= {"dataLoss": {"offsets": 0, "recent": []}, "uploads": UPLOADS | {"records": 1_001}}
        resource.eventually("it is heard", lambda: stored(resource) >= 1_001)
        assert (resource.status()["dataLoss"]["records"], resource.condition("DataComplete")) == (50, found)
        operator.kill()
        operator.start()
        member["uploads"] = UPLOADS | {"records": 1_002}
        resource.eventually("it is heard", lambda: stored(resource) >= 1_002)
        assert (resource.status()["dataLoss"]["records"], resource.condition("DataComplete")) == (50, found)
        resource.apply(SPEC, **_annotation(found["message"]))
        resource.wait("DataComplete", "True", "NothingLost")


def stored(resource: Resource) -> int:
    return int((resource.status().get("uploads") or {}).get("records", 0))


def _annotation(message: str) -> dict[str, str]:
    name, _, time = message.rpartition(" ")[2].partition("=")
    return {name: time}
