"""A backup on real nodes: Spark of a user reads it on executors; a day that was filed wrongly is made again from it."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from tests.cluster import query
from tests.cluster.conftest import PARTITIONS, MakePersister
from tests.cluster.kubectl import Kubectl
from tests.cluster.persister import Persister
from tests.integration.harness.bucket import TopicPartition
from tests.integration.harness.verification import Verify
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker, MinioServer
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
        spec = {"resource": of.name, "generation": 2, "source": source, "maxBytesPerSecond": "128Ki"}
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
    # Not SMALL: objects have whole batches, so those smaller than a batch would have it again and again.
    return make_persister("backup", TOPIC, output={"kafka": {}})


@pytest.fixture(scope="module")
def produced(clicks: Persister, backup: Persister, workload: Workload) -> dict[TopicPartition, list[bytes]]:
    """Values that both have stored, in several objects of each partition."""
    for count in (EARLY, LATE):
        workload.write(TOPIC, count, partitions=PARTITIONS, size=1_000)
        for one in (clicks, backup):
            one.wait_stored()
    return workload.produced(TOPIC)


def test_spark_reads_it_on_executors(
    backup: Persister, produced: dict[TopicPartition, list[bytes]], kubectl: Kubectl, minio: MinioServer
) -> None:
    storage = backup.spec["storage"]
    with closing(minio.client()) as client:
        query.upload_jars(client, storage["bucket"])
    query.begin(kubectl, storage)
    ended = backup.eventually("the query has ended", lambda: query.phase(kubectl))
    said = kubectl("logs", query.NAME)
    assert ended == "Succeeded", said[-5000:]
    found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    of_partition = {(one["topic"], one["partition"]): one for one in found["partitions"]}
    assert of_partition.keys() == produced.keys()
    for partition, values in produced.items():
        one = of_partition[partition]
        assert one["offsets"] == list(range(len(values)))
        assert one["values"] == hashlib.sha256(b"\n".join(values)).hexdigest()
        assert one["hosts"], "somebody has read it"
        assert found["driver"] not in one["hosts"], "records are read in the pods of executors"


def test_history_is_made_again_with_a_pause_and_a_death(
    clicks: Persister,
    backup: Persister,
    produced: dict[TopicPartition, list[bytes]],
    kubectl: Kubectl,
    kafka: KafkaBroker,
    verify: Verify,
) -> None:
    total = sum(map(len, produced.values()))
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
    assert replay.stored() < total

    replay.apply(suspend=None, switch={"deleteOld": {"after": "1s"}})
    (process,) = replay.eventually("it goes on", replay.pods)
    kubectl.delete("pod", process, "--wait=false")
    replay.eventually("another process", lambda: replay.pods().keys() - {process})
    replay.wait("OldDeleted", "True")
    replay.wait("Ready", "True", "Done")
    progress = replay.status()["progress"]
    assert progress["stored"] == progress["offsets"] == total, json.dumps(progress)
    verify(clicks.manifest(), "--backup", str(backup.manifest()))
    replay.delete()
    replay.group.close()
