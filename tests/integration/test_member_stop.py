"""SIGTERM, once and twice, in the middle of an upload; workers that are killed; servers that are away for a while."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from logpersister.pipeline.session import CLASS_ARCHIVE
from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.stack import KafkaBroker, MinioServer
from tests.stack.fault_proxy import FaultProxy


def test_sigterm_lets_running_ranges_end_and_what_does_not_end_in_time_stays_promised(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy
) -> None:
    name = topic(2)
    scene.workload.write(name, 500, partitions=[0, 1], size=1_000)

    def draining(grace: str) -> MemberProcess:
        """Start a member, and send SIGTERM in the middle of its uploads."""
        fault = stalled_puts(f"/{name}/")
        s3_proxy.inject(fault)
        storage = {"endpoint": s3_proxy.endpoint}
        member = scene.member(scene.manifest(kafka={"topics": [name]}, storage=storage, shutdownGrace=grace))
        member.wait("the uploads are on their way", lambda: fault.met >= 2)
        member.terminate()
        member.wait_event("member.draining")
        return member

    hasty = draining("1s")
    assert hasty.wait_end() == 0
    assert scene.group.pending(name) == {0: (500,), 1: (500,)}
    s3_proxy.clear()

    patient, produced = draining("10m"), scene.workload.produced(name)
    scene.workload.write(name, 500, partitions=[0, 1], size=1_000)
    s3_proxy.clear()
    assert patient.wait_end() == 0
    assert {number: entry.offset for number, entry in scene.group.committed(name).items()} == {0: 500, 1: 500}
    assert not scene.group.pending(name)
    assert not scene.group.members(), "it has left the group"
    assert_exactly_once(scene.bucket.objects(name), produced)


STOP_SPARK = """
import signal, threading

def stop(*_):
    from pyspark import SparkContext
    threading.Thread(target=lambda: SparkContext._active_spark_context._jsc.sc().stop()).start()

signal.signal(signal.SIGUSR1, stop)
"""
"""Python runs it at its start. SIGUSR1 then makes the JVM stop its context as Spark does when too many executors fail:
nothing of pyspark hears of it."""


def jobs(member: MemberProcess) -> list[Mapping[str, Any]]:
    """Return the jobs that run, by ``/status``."""
    return list(member.status().get("progress", {}).get("jobs", []))


def test_hung_workers_are_seen_killed_ones_are_tried_again_and_spark_that_stops_ends_the_member(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(STOP_SPARK)
    name = topic(2)
    scene.workload.write(name, 500, partitions=[0, 1], size=1_000)
    manifest = scene.manifest(kafka={"topics": [name]}, storage={"endpoint": s3_proxy.endpoint})
    fault = stalled_puts(f"/{name}/")
    s3_proxy.inject(fault)
    member = scene.member(manifest, environment={"PYTHONPATH": str(tmp_path)})
    member.wait("the uploads are on their way", lambda: fault.met >= 2)
    assert {"fork-server", "spark-worker"} <= {process.name() for process in member.workers()}
    assert str(CLASS_ARCHIVE) in {mapped.path for mapped in member.java().memory_maps()}

    member.freeze_workers()
    member.wait("both ranges are seen", lambda: sum(job["ranges"] for job in jobs(member)) == 2)
    hang = jobs(member)
    assert [(job["tasksDone"], job["progressAt"]) for job in hang] == [(0, job["startedAt"]) for job in hang]
    assert sorted(one for job in hang for one in job["partitions"]["first"]) == [f"{name}-0", f"{name}-1"]
    rounds = "logpersister_cycle_duration_seconds_count"
    seen = member.metrics()[rounds]
    member.wait("further rounds", lambda: member.metrics()[rounds] > seen)
    assert member.live(), "its probes do not see it"
    member.kill_workers()
    member.wait_event("range.failed", kind="task")
    member.wait("these jobs are over", lambda: not any(job in hang for job in jobs(member)))
    s3_proxy.clear()
    scene.group.wait_current(name, explain=member.tail)

    scene.assert_stored(name)
    os.kill(member.pid, signal.SIGUSR1)
    assert member.wait_end() == 1
    assert "Spark has stopped by itself" in member.wait_event("member.failed")["message"]
    assert not scene.group.members(), "others take over at once"


@pytest.fixture
def own_minio(tmp_path: Path) -> Iterator[MinioServer]:
    with MinioServer(tmp_path / "minio") as server:
        yield server


def test_servers_are_away_for_a_while(
    tmp_path: Path, kafka: KafkaBroker, own_minio: MinioServer, s3_secret: str, unique: str, topic: CreateTopic
) -> None:
    """First S3, then Kafka."""
    name = topic(2)
    client = own_minio.client()
    client.create_bucket(Bucket=unique)
    with Scene(tmp_path, kafka, client, bucket=unique, endpoint=own_minio.endpoint, group=unique) as scene:
        member = scene.member(scene.manifest(kafka={"topics": [name]}), None, "--log-level", "info")
        scene.workload.write(name, 100, partitions=[0, 1])
        scene.group.wait_current(name, explain=member.tail)

        own_minio.stop()
        scene.workload.write(name, 100, partitions=[0, 1])
        member.wait_event("range.failed", kind="unreachable")
        failed = 'logpersister_upload_failures_total{kind="unreachable"}'
        member.wait("failures are counted", lambda: member.metrics().get(failed, 0) >= 1)
        status = member.status()
        assert status["uploads"]["failures"] >= 1
        assert status["errors"]["recent"][0]["kind"] == "unreachable"
        assert scene.group.pending(name), "what was promised stays promised"
        member.wait("it is not ready", lambda: "FAILED bucket: the bucket is away since" in member.readiness())
        assert [(one["server"], one["lasting"]) for one in member.status()["outages"]] == [("bucket", True)]
        own_minio.restart()
        scene.group.wait_current(name, explain=member.tail)
        member.wait("it is ready again", member.ready)
        assert member.status()["outages"] == []

        scene.group.close()
        kafka.kill()
        refused = f"{kafka.bootstrap}: connection refused: nothing listens there"
        member.wait("it has lost its session", lambda: "FAILED group: not in the group" in member.readiness())
        assert f"FAILED kafka: Kafka is away since {member.status()['outages'][0]['since'][:10]}" in member.readiness()
        member.wait("it says why", lambda: refused in member.readiness())
        assert member.live(), "a restart would not help"
        status = member.status()
        assert (status["state"], status["outages"][0]["reason"]) == ("joining", refused)
        assert refused in status["stateMessage"]
        member.wait("it does not know its lag", lambda: member.lag() is None)
        kafka.restart()
        scene.workload.write(name, 100, partitions=[0, 1])
        scene.group.wait_current(name, explain=member.tail)

        member.wait("it is ready again", member.ready)
        assert not member.events("range.written"), "single ranges are told at debug"
        (banner,) = member.events("member.starts")
        assert (banner["topics"], banner["bucket"]) == ([name], f"s3://{unique}/raw")
        assert member.events("member.assignment", partitions=f"{name} 0-1")
        assert [event["state"] for event in member.events("member.state")] == ["running", "joining", "running"]
        assert sum(event["records"] for event in member.events("commit.stored")) == 600
        told = [(event["event"], event["level"]) for event in member.events() if event["event"].startswith("kafka.")]
        assert told == [("kafka.away", "warning"), ("kafka.back", "warning")]
        assert not [event for event in member.events("library.message") if event["library"].startswith("kafka")]
        scene.assert_stored(name)
        assert member.metrics()[f'logpersister_records_total{{topic="{name}"}}'] == 600
        member.stop()
    client.close()
