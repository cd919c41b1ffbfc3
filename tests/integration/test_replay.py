"""History is made again from a backup beside the live group, switched over, and back."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from logpersister.cli.exits import Exit
from logpersister.group.replay_group import replay_group
from tests.integration.harness.bucket import StoredObject, assert_exactly_once
from tests.integration.harness.examples import example
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.finishing import HOUR_MS, MIDNIGHT_MS
from tests.integration.harness.group import Group
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import PREFIX, CreateTopic, Scene
from tests.integration.harness.verification import Verify, said
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, delete_records, produce, read_all

EARLY, LATE = 400, 300
"""Records of each partition that Kafka deletes, and those that it keeps."""


@dataclass(frozen=True, slots=True)
class Story:
    """A topic in a backup and in the output of a live member, most of which Kafka has deleted since."""

    scene: Scene
    topic: str
    backup: Path
    live: Path
    member: MemberProcess
    early: Mapping[tuple[str, int], Sequence[bytes]]
    """What was produced before Kafka deleted records."""

    def assert_once(self, objects: Iterable[StoredObject]) -> None:
        """Check that all that was ever produced is in exactly one of these objects."""
        now = self.scene.workload.produced(self.topic)
        assert_exactly_once(objects, {of: list(dict.fromkeys([*self.early[of], *now[of]])) for of in now})

    def counting(self) -> list[StoredObject]:
        """Return the objects that count by the document ``current``, read as docs/replay.md tells readers to."""
        bucket = self.scene.bucket
        key = f"{PREFIX}/_logpersister/{self.scene.group.name}/current/{self.topic}.json"
        document: Mapping[str, Any] = json.loads(bucket.content(key))

        def counts(one: StoredObject) -> bool:
            for segment in document["partitions"].get(str(one.partition), []):
                if segment["start"] <= one.start < segment["end"]:
                    return bool(segment["generation"] == one.generation)
            start, end = document["replays"].get(str(one.generation), {}).get(str(one.partition), [0, 0])
            return not start <= one.start < end

        return list(filter(counts, bucket.objects(self.topic)))


@pytest.fixture
def story(scene: Scene, topic: CreateTopic, unique: str) -> Story:
    name = topic(2)
    backup = scene.manifest(
        kafka={"topics": [name], "groupId": f"{unique}-backup"},
        storage={"prefix": "backup"},
        upload={"maxBytes": "64Ki"},
        **example("backup"),
    )
    live = scene.manifest(kafka={"topics": [name]}, upload={"maxBytes": "64Ki"}, output={"text": {}})
    scene.workload.write(
        name, EARLY, partitions=[0, 1], size=1_000, timestamp=lambda n: MIDNIGHT_MS + n * HOUR_MS // 10
    )
    member = scene.member(live, "live")  # which stores beside the backup
    scene.run_until_current(backup)
    scene.group.wait_current(name, explain=member.tail)
    scene.workload.write(name, LATE, partitions=[0, 1], size=1_000)
    scene.group.wait_current(name, explain=member.tail)
    early = scene.workload.produced(name)
    delete_records(scene.kafka.bootstrap, name, {0: EARLY, 1: EARLY - 150})
    return Story(scene, name, backup, live, member, early)


def test_a_spoilt_day_is_made_again_beside_the_live_group(
    scene: Scene, story: Story, s3_proxy: FaultProxy, verify: Verify
) -> None:
    name, live = story.topic, story.live
    repaired = scene.manifest(
        kafka={"topics": [name]},
        storage={"endpoint": s3_proxy.endpoint},
        generation=2,
        upload={"maxBytes": "64Ki"},
        output={"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
    )
    options = ["--backup", str(story.backup)]
    said("replay", "-f", str(repaired), "--from", "2026-03-28T10:00:00Z", code=Exit.HELD)  # Kafka has it no more
    said("replay", "-f", str(repaired), *options, "--dry-run")
    assert not [key for key in scene.bucket.documents() if "/replayed/" in key]
    fault = stalled_puts("/2_1_")
    s3_proxy.inject(fault)
    replay = scene.member(repaired, None, *options, command="replay")
    replay.wait("a put of the replay hangs", lambda: fault.met)
    replay.kill()
    replay.wait_gone()
    s3_proxy.clear()
    story.assert_once(story.counting())
    assert verify(live)["ok"], "what is not finished is not judged"
    said("switch", "-f", str(repaired), "--to-generation", "2", code=Exit.FAILED)

    scene.workload.write(name, 100, partitions=[0, 1], size=1_000)  # the live group goes on
    resumed = scene.member(repaired, None, *options, command="replay")
    assert resumed.wait_end() == Exit.OK, resumed.tail()
    scene.group.wait_current(name)
    before = story.counting()
    assert {one.generation for one in before} == {1}
    story.assert_once(before)

    said("switch", "-f", str(repaired), "--to-generation", "2")
    after = story.counting()
    story.assert_once(after)
    assert {one.generation for one in after} == {1, 2}
    assert {one.path for one in after if one.generation == 2} >= {"dt=2026-03-28", "dt=2026-03-29"}
    assert min(one.start for one in after if one.generation == 1) == EARLY + LATE
    twice = 2 * (2 * (EARLY + LATE)) + 2 * 100
    verify(live, "--deep", *options, finds={}, compared=[twice])

    said("switch", "-f", str(live), "--to-generation", "1")
    assert story.counting() == [one for one in scene.bucket.objects(name) if one.generation == 1]
    said("switch", "-f", str(repaired), "--to-generation", "2", "--delete-old")
    story.assert_once(scene.bucket.objects(name))
    assert verify(live, "--deep")["ok"]


@pytest.mark.soak  # long, of three faults; what each does to a plan is in tests/unit/replay
def test_the_live_group_goes_on_in_the_generation_of_its_replay_when_kafka_has_forgotten_it(
    scene: Scene, story: Story, s3_proxy: FaultProxy, verify: Verify
) -> None:
    name = story.topic
    output = {"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]}
    repaired = {"generation": 2, "upload": {"maxBytes": "64Ki"}, "output": output}
    proxied = scene.manifest(kafka={"topics": [name]}, storage={"endpoint": s3_proxy.endpoint}, **repaired)
    raised = scene.manifest(kafka={"topics": [name]}, **repaired)
    options = ["--backup", str(story.backup)]
    fault = stalled_puts("/2_1_")
    s3_proxy.inject(fault)
    replay = scene.member(proxied, None, *options, command="replay")
    replay.wait("a put of the replay hangs", lambda: fault.met)
    replay.kill()
    replay.wait_gone()
    s3_proxy.clear()

    def go_on_forgotten(before: MemberProcess) -> MemberProcess:
        before.stop()
        scene.group.wait_empty()
        scene.group.forget(name, [0, 1])
        scene.workload.write(name, 100, partitions=[0, 1], size=1_000)
        member = scene.member(raised, "live")
        scene.group.wait_current(name, explain=member.tail)
        return member

    member = go_on_forgotten(story.member)
    story.assert_once(story.counting())
    assert verify(raised)["ok"], "the replay is under way"
    with closing(Group(scene.kafka.bootstrap, replay_group(scene.group.name, 2))) as of_replay:
        of_replay.wait_empty()
        of_replay.forget(name, [0, 1])
    resumed = scene.member(proxied, None, *options, command="replay")
    assert resumed.wait_end() == Exit.OK, resumed.tail()
    said("switch", "-f", str(raised), "--to-generation", "2")
    after = story.counting()
    story.assert_once(after)
    assert {one.start for one in after if one.generation == 1} == set()
    assert verify(raised, "--deep", *options)["ok"]

    said("switch", "-f", str(raised), "--to-generation", "2", "--delete-old")
    go_on_forgotten(member)
    story.assert_once(scene.bucket.objects(name))
    assert verify(raised, "--deep")["ok"]
    said("switch", "-f", str(story.live), "--to-generation", "1", code=Exit.INVALID)
    elsewhere = scene.manifest(kafka={"topics": [name]}, storage={"prefix": "elsewhere"}, **repaired)
    said("replay", "-f", str(elsewhere), *options, code=Exit.HELD)  # the progress in Kafka is that of the one before


@pytest.mark.soak  # others at any step are in tests/unit/replay/test_planning.py
def test_two_run_a_replay_while_another_of_the_same_offsets_is_planned(
    scene: Scene, story: Story, s3_proxy: FaultProxy, verify: Verify
) -> None:
    name, options = story.topic, ["--backup", str(story.backup)]
    output = {"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]}
    second, third = (
        scene.manifest(
            kafka={"topics": [name]},
            storage={"endpoint": s3_proxy.endpoint},
            generation=generation,
            upload={"maxBytes": max_bytes},
            output=output,
        )
        for generation, max_bytes in ((2, "64Ki"), (3, "128Ki"))
    )
    fault = stalled_puts("/2_1_")
    s3_proxy.inject(fault)
    first = scene.member(second, None, *options, command="replay")
    first.wait("a put of the replay hangs", lambda: fault.met)
    later = scene.member(third, None, *options, "--from", "2026-03-29T00:00:00Z", command="replay")
    assert later.wait_end() == Exit.OK, later.tail()
    said("switch", "-f", str(third), "--to-generation", "3")
    story.assert_once(story.counting())
    s3_proxy.clear()
    another = scene.member(second, None, *options, command="replay")
    for replay in (first, another):
        assert replay.wait_end() == Exit.OK, replay.tail()
    for generation in (2, 3, 1, 3, 2):
        said("switch", "-f", str(story.live), "--to-generation", str(generation))
        story.assert_once(story.counting())
    assert verify(story.live, "--deep", *options)["ok"]


HOSTILE = [b"", b"\n", b"\\", b"\\n\r\n", b"\xff\x00", b'{"a": "\\u0000"}', "\u2028\U0001f600".encode(), b"x" * 70_000]
"""Values that are no text, no line, or what an escape looks like."""


def hostile(partitions: int, *, nulls: bool = False, headers: bool = False) -> Iterator[Record]:
    for number in range(60):
        value = None if nulls and number % 8 == 3 else HOSTILE[number % len(HOSTILE)]
        key = [None, b"", b"\xfe\n", b"k%d" % number][number % 4]
        of_record = [("trace", b"\xff"), ("none", b""), ("trace", b"\n")][: number % 4] if headers else []
        for partition in range(partitions):
            time = MIDNIGHT_MS + number * HOUR_MS
            yield Record(value, key, partition=partition, timestamp=time, headers=of_record)


def test_every_format_that_keeps_records_is_a_source_of_the_same_objects(
    scene: Scene, topic: CreateTopic, unique: str
) -> None:
    lines, sequences, texts = topics = [topic(2), topic(2), topic(2)]
    produce(scene.kafka.bootstrap, lines, hostile(2, nulls=True, headers=True))
    for name in (sequences, texts):
        produce(scene.kafka.bootstrap, name, hostile(2))
    backup = scene.manifest(
        kafka={"topics": topics, "groupId": f"{unique}-backup"},
        storage={"prefix": "backup"},
        upload={"maxBytes": "64Ki"},
        output={"jsonl": {"tombstones": "null"}},
        overrides=[
            {"topics": [sequences], "output": {"sequencefile": {"key": "messagepack"}}},
            {"topics": [texts], "output": {"text": {"delimiterInValue": "escape"}}},
        ],
    )

    def repaired(generation: int, **of_texts: Any) -> Path:
        columns = ["offset", "timestamp", "key", "headers"]
        overrides = [
            {"topics": [sequences], "output": {"parquet": {"kafkaColumns": columns[:3]}}},
            {"topics": [texts], "output": {"text": {"compression": "none", "delimiter": "--"}, **of_texts}},
        ]
        output = {"parquet": {"kafkaColumns": columns, "tombstones": "null"}}
        upload = {"maxBytes": "128Ki"}
        return scene.manifest(
            kafka={"topics": topics}, generation=generation, upload=upload, output=output, overrides=overrides
        )

    live = scene.member(scene.manifest(kafka={"topics": topics}, output={"text": {}}), None, "--until-current")
    scene.run_until_current(backup)
    assert live.wait_end() == Exit.OK, live.tail()
    by_time = repaired(2, partitionBy=[{"date": {"granularity": "day"}}])
    said("replay", "-f", str(by_time), "--backup", str(backup), code=Exit.INVALID)
    sources = ["--source", "backup", "--backup", str(backup)], ["--source", "kafka"]
    replays = [scene.member(repaired(n), None, *of, command="replay") for n, of in enumerate(sources, start=2)]
    for replay in replays:
        assert replay.wait_end() == Exit.OK, replay.tail()
    bucket = scene.bucket
    for name in topics:
        found: dict[str, dict[str, bytes]] = {"2": {}, "3": {}}
        for key in bucket.names(name):
            of, _, rest = key.rpartition("/")[2].partition("_")
            if of in found:
                found[of][rest] = bucket.content(key)
        assert found["2"] == found["3"]
        assert len(found["2"]) >= 2, "ranges of both partitions"

    to = scene.kafka.bootstrap
    said("restore", "-f", str(backup), "--to", to, "--topics", sequences, code=Exit.INVALID)
    said("restore", "-f", str(backup), "--to", to, "--topics", lines, "--rename", f"{lines}={lines}.again")
    had, again = (read_all(to, name) for name in (lines, f"{lines}.again"))
    for number, records in had.items():
        assert [replace(one, offset=None) for one in again[number]] == [replace(one, offset=None) for one in records]
