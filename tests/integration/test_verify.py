"""`logpersister verify` on what members have stored, and on buckets that somebody has spoilt since."""

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.scene import PREFIX, CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds
from tests.stack.topics import Record, delete_records, transaction

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def by_partition(scene: Scene, topic: str) -> dict[int, list[str]]:
    """Return the names of the objects of each partition, by start."""
    found: dict[int, list[str]] = {}
    for one in scene.bucket.objects(topic):
        found.setdefault(one.partition, []).append(one.key)
    return found


def three_rounds(scene: Scene, topic: str, manifest: Path, partitions: int) -> dict[int, list[str]]:
    """Have three ranges of 100 records stored in each partition; return the names of their objects."""
    member = scene.member(manifest)
    for _ in range(3):
        scene.workload.write(topic, 100, partitions=range(partitions))
        scene.group.wait_current(topic, explain=member.tail)
    member.stop()
    stored = by_partition(scene, topic)
    assert {number: len(keys) for number, keys in stored.items()} == dict.fromkeys(range(partitions), 3)
    return stored


def test_broken_buckets(
    scene: Scene,
    topic: CreateTopic,
    verify: Verify,
    s3: "S3Client",
    bucket: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A partition for each way to break it."""
    name = topic(9)
    intact, deleted, first, last, renamed, twice, foreign, retained, changed = range(9)
    manifest = scene.manifest(kafka={"topics": [name]}, upload={"maxAge": "4s"})  # longer than writing takes
    stored = three_rounds(scene, name, manifest, 9)

    document = verify(manifest)
    assert (document["ok"], document["complete"], document["findings"]) == (True, True, [])
    assert [(one["partitions"], one["objects"], one["records"]) for one in document["topics"]] == [(9, 27, 2_700)]

    assert verify(manifest, "--deep")["topics"][0]["compared"] == 2_700

    for key in (stored[deleted][1], stored[first][0], stored[last][2], stored[retained][1]):
        s3.delete_object(Bucket=bucket, Key=key)
    copied = f"{PREFIX}/{name}/1_{twice}_{50:020d}.txt.gz"
    later = f"{PREFIX}/{name}/1_{renamed}_{300:020d}.txt.gz"
    s3.copy_object(Bucket=bucket, Key=later, CopySource=f"{bucket}/{stored[renamed][0]}")
    metadata = s3.head_object(Bucket=bucket, Key=stored[twice][1])["Metadata"]
    moved = {**metadata, "start": "50", "end": "150", "first": "50", "last": "149"}
    source = f"{bucket}/{stored[twice][1]}"
    s3.copy_object(Bucket=bucket, Key=copied, CopySource=source, Metadata=moved, MetadataDirective="REPLACE")
    s3.put_object(Bucket=bucket, Key=f"{PREFIX}/{name}/7_{foreign}_{0:020d}.txt", Body=b"not ours\n")
    delete_records(scene.kafka.bootstrap, name, {retained: 200})
    head = s3.head_object(Bucket=bucket, Key=stored[changed][1])
    content = gzip.decompress(s3.get_object(Bucket=bucket, Key=stored[changed][1])["Body"].read())
    spoilt = gzip.compress(content.replace(b'"n":150,', b'"n":151,'))
    s3.put_object(Bucket=bucket, Key=stored[changed][1], Body=spoilt, Metadata=head["Metadata"])

    broken = verify(manifest, code=Exit.BROKEN)

    assert not broken["ok"]
    assert kinds(broken) == {
        ("missing", deleted): 1,
        ("missing", first): 1,
        ("missing", last): 1,
        ("misnamed", renamed): 1,
        ("overlap", twice): 2,
        ("foreign", foreign): 1,
        ("unknown", retained): 1,
    }
    spans = {(one["partition"], one["start"], one["end"]) for one in broken["findings"]}
    assert {(deleted, 100, 200), (first, 0, 100), (last, 200, 300), (retained, 100, 200)} <= spans
    assert intact not in {one["partition"] for one in broken["findings"]}
    assert copied in {one["object"] for one in broken["findings"]}

    deep = verify(manifest, "--deep", code=Exit.BROKEN)
    assert kinds(deep) == {
        **kinds(broken),
        ("wrong-content", changed): 1,
        ("wrong-facts", twice): 1,
        ("wrong-content", twice): 1,
        ("not-compared", retained): 1,
    }
    (difference,) = (one for one in deep["findings"] if one["partition"] == changed)
    assert difference["object"] == stored[changed][1]
    assert difference["message"].startswith("at offset 150 it holds")

    assert main(["verify", "-f", str(manifest)]) == Exit.BROKEN
    out = capsys.readouterr().out
    assert f"missing: {name}-{deleted} [100,200): no object of generation 1, but Kafka has records there" in out
    assert out.endswith("7 problems\n")


def test_explained_gaps_and_offsets_that_were_forgotten_or_set(
    scene: Scene, topic: CreateTopic, verify: Verify
) -> None:
    """A partition each: an aborted transaction, an offset set forward, records that Kafka deleted, a forgotten offset.

    Then one is set back, and stored again under a generation of its own; else it is held (tests/unit/plan).
    """
    name = topic(4)
    aborted, forward, lost, forgotten = range(4)
    kafka = {"topics": [name], "onDataLoss": "skip"}
    manifest = scene.manifest(kafka=kafka)
    scene.workload.write(name, 100, partitions=range(4))
    member = scene.member(manifest)
    scene.group.wait_current(name, explain=member.tail)
    bootstrap = scene.kafka.bootstrap
    with transaction(bootstrap, scene.group.name) as open_transaction:
        open_transaction.produce(name, [Record(b"never", partition=aborted)] * 10)
        open_transaction.abort()
    scene.group.wait_current(name, explain=member.tail)
    member.stop()
    scene.workload.write(name, 100, partitions=range(4))
    produced = {number: values for (_, number), values in scene.workload.produced(name).items()}
    scene.group.wait_empty()
    scene.group.set(name, {forward: 150})
    scene.group.forget(name, [forgotten])
    delete_records(bootstrap, name, {lost: 130})
    scene.run_until_current(manifest)

    assert kinds(document := verify(manifest)) == {
        ("no-record", aborted): 1,
        ("skipped", forward): 1,
        ("lost", lost): 1,
    }
    assert all(not finding["problem"] for finding in document["findings"])
    stored = {
        aborted: produced[aborted],
        forward: produced[forward][:100] + produced[forward][150:],
        lost: produced[lost][:100] + produced[lost][130:],
        forgotten: produced[forgotten],
    }
    assert_exactly_once(scene.bucket.objects(name), {(name, number): values for number, values in stored.items()})
    found = {(one["partition"], one["start"], one["end"], one["cause"]) for one in scene.bucket.losses()}
    assert found == {(forward, 100, 150, "skipped"), (lost, 100, 130, "lost")}

    scene.group.wait_empty()
    scene.group.set(name, {forgotten: 10})
    assert kinds(verify(manifest, code=Exit.BROKEN))["beyond-commit", forgotten] == 2
    raised = scene.manifest(generation=2, kafka=kafka)
    scene.run_until_current(raised)
    replayed = [one for one in scene.bucket.objects(name) if one.generation == 2]
    assert_exactly_once(replayed, {(name, forgotten): produced[forgotten][10:]})
    assert verify(raised)["ok"]
