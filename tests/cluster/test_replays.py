"""A LogReplay on real nodes: a day that was filed wrongly is made again from a backup, and readers are switched."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.conftest import PARTITIONS, MakePersister
from tests.cluster.kubectl import Kubectl
from tests.cluster.persister import Persister
from tests.integration.harness.verification import Verify
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker
from tests.stack.topics import delete_records

TOPIC = "replays"
EARLY, LATE = 1000, 200
SMALL = {"maxBytes": "64Ki", "maxAge": "3s"}


class Replay(Persister):
    """A LogReplay of a resource, in the namespace of that."""

    kind = "LogReplay"

    def __init__(self, of: Persister, backup: Persister) -> None:
        self.of = of
        source = {"auto": {"resource": backup.name}}
        spec = {"resource": of.name, "generation": 2, "source": source, "maxBytesPerSecond": "64Ki"}
        super().__init__(of.kubectl, "again", {"kafka": of.spec["kafka"]}, TOPIC, of.manifest().parent)
        self.spec = spec

    def pods(self, component: str = "app.kubernetes.io/component=replay") -> dict[str, Any]:
        return super().pods(component)

    def stored(self) -> int:
        return int(self.status().get("progress", {}).get("stored", 0))

    def job(self) -> Mapping[str, Any]:
        return self.kubectl.get("job", self.name) or {}


@pytest.fixture(scope="module")
def clicks(make_persister: MakePersister) -> Persister:
    return make_persister("clicks", TOPIC, upload=SMALL, output={"text": {}})


@pytest.fixture(scope="module")
def backup(make_persister: MakePersister) -> Persister:
    return make_persister("backup", TOPIC, upload=SMALL, output={"kafka": {}})


def test_history_is_made_again_with_a_pause_and_a_death(
    clicks: Persister, backup: Persister, kubectl: Kubectl, kafka: KafkaBroker, workload: Workload, verify: Verify
) -> None:
    workload.write(TOPIC, EARLY, partitions=PARTITIONS, size=1_000)
    for one in (clicks, backup):
        one.wait_stored()
    workload.write(TOPIC, LATE, partitions=PARTITIONS, size=1_000)
    for one in (clicks, backup):
        one.wait_stored()
    delete_records(kafka.bootstrap, TOPIC, dict.fromkeys(PARTITIONS, EARLY))
    clicks.apply(output={"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]})
    clicks.wait_steady(1)

    replay = Replay(clicks, backup)
    replay.apply()
    replay.eventually("some is stored", replay.stored)
    replay.apply(suspend=True)
    replay.wait("Stored", "False", "Suspended")
    replay.eventually("no process", lambda: not replay.pods())
    assert replay.job()["status"].get("failed", 0) == 0, "a pause is no failure"
    assert replay.stored() < len(PARTITIONS) * (EARLY + LATE)

    replay.apply(suspend=None, switch={"deleteOld": {"after": "1s"}})
    (process,) = replay.eventually("it goes on", replay.pods)
    kubectl.delete("pod", process, "--wait=false")
    replay.eventually("another process", lambda: replay.pods().keys() - {process})
    replay.wait("OldDeleted", "True")
    replay.wait("Ready", "True", "Done")
    progress = replay.status()["progress"]
    assert progress["stored"] == progress["offsets"] == len(PARTITIONS) * (EARLY + LATE), json.dumps(progress)
    verify(clicks.manifest(), "--backup", str(backup.manifest()))
    replay.delete()
    replay.group.close()
