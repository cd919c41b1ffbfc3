"""One partition, one broker or one address is broken: all others go on, and it is said which one it is."""

from collections.abc import Callable
from pathlib import Path

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.group import Group
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify, said_json
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaCluster
from tests.stack.clients import admin_client
from tests.stack.kafka import brokers_in_service

ALL = range(3)


def wait_stored(scene: Scene, topic: str, ends: dict[int, int], explain: Callable[[], str]) -> None:
    eventually(f"{topic} {ends}", lambda: scene.group.is_current(topic, ends=ends), explain=explain)


def test_a_partition_without_a_leader_stops_no_other(
    scene: Scene, topic: Callable[..., str], kafka: KafkaCluster, unique: str, verify: Verify
) -> None:
    """Its only replica is on a broker that is down; a member that runs and one that starts store all others."""
    single, other = f"{unique}-single", topic(len(ALL))
    with admin_client(kafka.bootstrap) as client:
        client.create_topics({single: {"assignments": {number: [number + 1] for number in ALL}}})
        client.wait_for_topics([single])
    manifest = scene.manifest(kafka={"topics": [single, other]})
    for name in (single, other):
        scene.workload.write(name, 30, partitions=ALL)
    member = scene.member(manifest)
    scene.group.wait_current(single, other, explain=member.tail)
    down = kafka.brokers[1]
    down.stop()
    eventually("it is gone", lambda: down.node not in brokers_in_service(kafka.reachable))

    scene.workload.write(single, 20, partitions=[0, 2])
    scene.workload.write(other, 30, partitions=ALL)
    wait_stored(scene, single, {0: 50, 2: 50}, member.tail)
    wait_stored(scene, other, dict.fromkeys(ALL, 60), member.tail)
    why = "it has no leader: start broker 2"
    event = member.wait_event("partitions.unreadable", partitions=f"{single} 1", reason=why)
    assert event["count"] == 1
    member.wait("it is shown", lambda: member.status()["unreadablePartitions"]["count"] == 1)
    status = member.status()
    assert status["unreadablePartitions"]["first"] == [{"topic": single, "partition": 1, "message": why}]
    assert (status["lag"]["known"], status["lag"]["complete"], status["lag"]["partitions"]) == (True, False, 5)
    assert member.metrics()["logpersister_unreadable_partitions"] == 1
    findings = said_json("check", "-f", str(manifest), code=0)["findings"]
    assert [
        one["message"].split(";")[0] for one in findings if (one["subject"], one["verdict"]) == ("topics", "warning")
    ] == [f"{single} 1: no leader, so nobody can read or write"]
    lag = said_json("lag", "-f", str(manifest), "--all", code=3)
    assert lag["errors"] == [{"topic": single, "partition": 1, "message": why}]
    assert len(lag["partitions"]) == 5

    begun = {
        start: scene.manifest(
            kafka={"topics": [single, other], "groupId": f"{unique}-{start}", "startFrom": start},
            storage={"prefix": start},
        )
        for start in ("earliest", "latest")
    }
    for late in [scene.member(begun[start], None, "--until-current") for start in begun]:  # both have long patience
        assert late.wait_end() == 3, late.tail()
        reasons = {one["partition"]: one["reason"] for one in late.events("partition.not_current")}
        assert reasons == {f"{single}-1": "unreadable"}
    stored = {
        start: [one for name in (single, other) for one in scene.bucket_at(start).objects(name)] for start in begun
    }

    kafka.recover()
    produced = scene.workload.produced(single, other)
    assert_exactly_once(
        stored["earliest"], {place: records for place, records in produced.items() if place != (single, 1)}
    )
    assert stored["latest"] == []
    scene.workload.write(single, 10, partitions=[1])
    scene.group.wait_current(single, other, explain=member.tail)
    assert member.events("partitions.readable")
    scene.assert_stored(single, other)
    assert verify(manifest)["ok"]
    again = scene.member(begun["latest"])
    with Group(kafka.bootstrap, f"{unique}-latest") as group:
        group.wait_current(single, explain=again.tail)
    (stored_late,) = scene.bucket_at("latest").objects(single)
    assert (stored_late.partition, stored_late.end - stored_late.start) == (1, 10), "what came since the group began"


def test_members_start_while_a_broker_is_killed_or_frozen(
    scene: Scene, topic: Callable[..., str], kafka: KafkaCluster, unique: str
) -> None:
    name = topic(len(ALL))
    scene.workload.write(name, 30, partitions=ALL)

    def starts(prefix: str) -> Path:
        own = scene.manifest(kafka={"topics": [name], "groupId": f"{unique}-{prefix}"}, storage={"prefix": prefix})
        scene.run_until_current(own)
        assert_exactly_once(scene.bucket_at(prefix).objects(name), scene.workload.produced(name))
        return own

    broken = kafka.brokers[1]
    broken.kill()
    starts("killed")  # at once, while the controller still counts the broker in
    kafka.recover()
    broken.suspend()
    own = starts("frozen")
    eventually("its session is over", lambda: broken.node not in brokers_in_service(kafka.reachable))
    findings = said_json("check", "-f", str(own), code=0)["findings"]
    assert any(broken.bootstrap in one["message"] for one in findings if one["verdict"] == "warning")
