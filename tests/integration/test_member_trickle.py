"""One member and many partitions with a few records each: few Spark jobs, every object right, memory flat.

400 partitions in each run of the tests, 2,000 in ``make soak``.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kafka import KafkaProducer

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.spark_log import SparkLog
from tests.stack import KafkaBroker
from tests.stack.topics import create_topic, delete_topic

pytestmark = pytest.mark.timeout(1200)

PARTITIONS = range(100)
ROUNDS = 4
WARM_AFTER = 2
"""Rounds until everything that is made once has been made."""
RECORDS = 2


@pytest.fixture(params=[4, pytest.param(20, marks=pytest.mark.soak)], ids=lambda count: f"{count} topics")
def topics(request: pytest.FixtureRequest, kafka: KafkaBroker, unique: str) -> Iterator[list[str]]:
    """Topics that go with the test: the broker would keep their partitions to the end of the session."""
    names = [f"{unique}-{number}" for number in range(request.param)]
    for name in names:
        create_topic(kafka.bootstrap, name, partitions=len(PARTITIONS))
    yield names
    for name in names:
        delete_topic(kafka.bootstrap, name)


def test_a_trickle_in_many_partitions(tmp_path: Path, scene: Scene, topics: list[str], unique: str) -> None:
    spark_log = SparkLog(tmp_path)
    manifest = scene.manifest(
        kafka={"topicPattern": f"{unique}-.*", "sessionTimeout": "45s"},
        cycleInterval="2s",
        spark={"conf": spark_log.conf},
    )
    member = scene.member(manifest)
    sizes: list[dict[str, int]] = []
    for _ in range(ROUNDS):
        append(scene, topics)
        scene.group.wait_current(*topics, explain=member.tail)
        sizes.append(memory(member))
    member.stop()

    assert_exactly_once(scene.bucket.objects(), scene.workload.produced(*topics))
    assert_flat(sizes)
    jobs = re.findall(r"(\d+) ranges in (\d+) tasks", spark_log.text())
    ranges = {int(ranges) for ranges, _ in jobs}
    assert max(ranges) >= len(topics) * len(PARTITIONS) / 2, f"small ranges share jobs: {sorted(ranges)}"
    assert max(int(tasks) for _, tasks in jobs) <= 8, "and tasks"


def append(scene: Scene, topics: list[str]) -> None:
    producer = KafkaProducer(bootstrap_servers=scene.kafka.bootstrap, linger_ms=50)
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
