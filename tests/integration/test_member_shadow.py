"""Shadow mode: a member of a new revision beside the old one, which is compared with it."""

import re
from collections.abc import Mapping
from typing import Any

from tests.integration.harness.group import Group
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.stack.topics import Record, produce, transaction


def compared(shadow: MemberProcess) -> Mapping[str, Any]:
    document: Mapping[str, Any] = shadow.status().get("shadow") or {}
    return document


def test_a_shadow_is_compared_with_what_it_shadows(scene: Scene, topic: CreateTopic, unique: str) -> None:
    """Its objects are smaller, of another format, some in quarantine; records are the same until some are aborted."""
    name, group = topic(2), f"{unique}-shadow"
    old = scene.manifest(kafka={"topics": [name]})
    new = scene.manifest(
        kafka={"topics": [name], "groupId": group, "isolationLevel": "read_uncommitted"},
        storage={"prefix": "shadow"},
        upload={"maxBytes": "64Ki", "maxAge": "1h"},
        output={"sequencefile": {}},
        value={"json": {}},
    )
    stable = scene.member(old)
    scene.workload.write(name, 100, partitions=[0, 1])
    scene.group.wait_current(name, explain=stable.tail)
    shadow = scene.member(new, None, "--shadow-of", str(old))
    begun = Group(scene.kafka.bootstrap, group)
    shadow.wait("it begins where the other is", lambda: begun.committed(name).keys() == {0, 1})
    assert {number: entry.offset for number, entry in begun.committed(name).items()} == {0: 100, 1: 100}
    begun.close()

    def wait_compared(records: int) -> None:
        both = {"stable": records, "shadow": records}
        shadow.wait("all of it is compared", lambda: compared(shadow).get("records") == both)

    scene.workload.write(name, 400, partitions=[0, 1], size=1_000)
    scene.group.wait_current(name, explain=stable.tail)
    wait_compared(800)
    produce(scene.kafka.bootstrap, name, [Record(b"no JSON", partition=number) for number in (0, 1, 0, 1)])
    scene.group.wait_current(name, explain=stable.tail)
    wait_compared(804)  # by themselves: beside others, those in quarantine leave no payload to compare
    report = compared(shadow)
    assert (report["partitions"], report["offsets"], report["differences"]) == (2, 804, 0)
    assert (report["error"], report["examples"]) == (None, [])
    assert report["checksums"]["compared"] >= 4
    assert report["checksums"]["impossible"] == 0
    assert report["objects"]["shadow"] >= report["ranges"] > report["objects"]["stable"]
    assert shadow.metrics()['logpersister_shadow_records{side="shadow"}'] == 804
    assert shadow.status()["quarantine"]["records"] == 4
    assert stable.status()["shadow"] is None
    stored = scene.bucket_at("shadow").objects(name)
    assert sum(len(one.values) for one in stored) == 804
    assert [value for one in stored if one.path == "_quarantine" for value in one.values] == [b"no JSON"] * 4
    assert min(one.start for one in stored) == 100

    with transaction(scene.kafka.bootstrap, f"{unique}-aborted") as current:
        current.produce(name, [Record(b"nobody's", partition=0) for _ in range(5)])
        current.abort()
    scene.workload.write(name, 10)
    shadow.wait("the difference is told", lambda: compared(shadow).get("differences"))
    (example,) = compared(shadow)["examples"]
    assert (example["topic"], example["partition"]) == (name, 0)
    assert 502 <= example["start"] <= 507 <= example["end"]
    message = r"(\d+) records? of the stable group, (\d+) records? of the shadow (.*)"
    found = re.fullmatch(message, example["message"])
    assert found is not None, example
    assert int(found[2]) - int(found[1]) == 5
    assert found[3] == "(isolationLevel is read_committed there, read_uncommitted here)"
    assert shadow.events("shadow.differs", partition=0)
    shadow.stop()
