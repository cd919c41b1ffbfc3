"""One member and many partitions with a few records each: few Spark jobs, every object right, memory flat.

400 partitions in each run of the tests, 2,000 in ``make soak``.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from kafka import KafkaProducer

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.spark_log import SparkLog
from tests.stack import KafkaBroker, MinioServer
from tests.stack.topics import create_topic

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.timeout(1200)

PARTITIONS = range(100)
ROUNDS = 4
WARM_AFTER = 2
"""Rounds until everything that is made once has been made."""
RECORDS = 2


@pytest.fixture(scope="module")
def many_partitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker of its own: the others' would keep 2,000 partitions to the end."""
    with KafkaBroker(tmp_path_factory.mktemp("trickle"), heap="1g") as broker:
        yield broker


@pytest.mark.parametrize("count", [4, pytest.param(20, marks=pytest.mark.soak)], ids=lambda count: f"{count} topics")
def test_a_trickle_in_many_partitions(
    tmp_path: Path,
    many_partitions: KafkaBroker,
    s3: "S3Client",
    minio: MinioServer,
    bucket: str,
    s3_secret: str,
    count: int,
) -> None:
    group = f"trickle-{count}"
    topics = [f"{group}-{number}" for number in range(count)]
    for name in topics:
        create_topic(many_partitions.bootstrap, name, partitions=len(PARTITIONS))
    spark_log = SparkLog(tmp_path)
    with Scene(tmp_path, many_partitions, s3, bucket=bucket, endpoint=minio.endpoint, group=group) as scene:
        manifest = scene.manifest(
            kafka={"topicPattern": f"{group}-.*", "sessionTimeout": "45s"},
            cycleInterval="2s",
            spark={"conf": spark_log.conf},
        )
        member = scene.member(manifest)
        sizes: list[dict[str, int]] = []
        for _ in range(ROUNDS):
            append(scene, many_partitions.bootstrap, topics)
            scene.group.wait_current(*topics, explain=member.tail)
            sizes.append(memory(member))
        member.stop()

        assert_exactly_once(scene.bucket.objects(), scene.workload.produced(*topics))
        assert_flat(sizes)
        jobs = re.findall(r"(\d+) ranges in (\d+) tasks", spark_log.text())
        ranges = {int(ranges) for ranges, _ in jobs}
        assert max(ranges) >= count * len(PARTITIONS) / 2, f"small ranges share jobs: {sorted(ranges)}"
        assert max(int(tasks) for _, tasks in jobs) <= 8, "and tasks"


def append(scene: Scene, bootstrap: str, topics: list[str]) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=50)
    for name in topics:
        for partition in PARTITIONS:
            for _ in range(RECORDS):
                producer.send(name, value=scene.workload.value(name, partition), partition=partition)
    producer.flush()
    producer.close()


def memory(member: MemberProcess) -> dict[str, int]:
    """Return bytes of the driver, of Spark's JVM and of the Python workers; shared memory counts once."""
    sizes: dict[str, int] = {}
    for process in member.processes():
        kind = "jvm" if "java" in process.name() else "worker" if process in member.workers() else "driver"
        try:
            sizes[kind] = sizes.get(kind, 0) + process.memory_full_info().pss
        except psutil.Error:  # has just ended
            continue
    return sizes


def assert_flat(sizes: list[dict[str, int]]) -> None:
    warm = sizes[WARM_AFTER]
    for kind, size in sizes[-1].items():
        assert size <= 1.1 * warm[kind], f"{kind} grows: {[round(one[kind] / 1e6) for one in sizes]} MB"
