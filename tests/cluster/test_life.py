"""What a user does first: install, apply, look, change, delete."""

import pytest

from tests.cluster.conftest import MakePersister
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
