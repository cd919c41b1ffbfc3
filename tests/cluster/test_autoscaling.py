"""Members that come and go with the lag."""

from tests.cluster.conftest import PARTITIONS, MakePersister, unharmed
from tests.integration.harness.workload import Workload
from tests.stack.fault_proxy import Delay, FaultProxy

TOPIC = "autoscaling"
_OBJECTS = 60
"""That each partition's records become."""
_RECORD_BYTES = 16_384
_RECORDS_OF_AN_OBJECT = 8
"""Of 64 KiB: gzip halves them."""


def test_a_second_member_comes_while_one_cannot_store_all(
    make_persister: MakePersister, workload: Workload, s3: FaultProxy
) -> None:
    persister = make_persister(
        "autoscaling",
        TOPIC,
        upload={"maxBytes": "64Ki", "maxAge": "1s"},
        autoscale={
            "maxMembers": 2, "targetLag": "10s", "scaleUpStabilization": "2s", "scaleDownStabilization": "15s"
        },
    )  # fmt: skip
    with unharmed(persister):
        slow = Delay(matches=lambda line: line.startswith("PUT"), times=None, seconds=1)
        s3.inject(slow)
        workload.write(TOPIC, _OBJECTS * _RECORDS_OF_AN_OBJECT, partitions=PARTITIONS, size=_RECORD_BYTES)
        persister.wait("Autoscaling", "True", "ScaledUp")
        persister.wait_shared(2, len(PARTITIONS))
        s3.remove(slow)
        persister.wait("Autoscaling", "True", "ScaledDown")
        persister.wait_shared(1, len(PARTITIONS))
        persister.wait("Autoscaling", "True")
