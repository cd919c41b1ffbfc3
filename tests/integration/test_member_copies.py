"""Copies of archives in a second bucket: hours are finished when it has them; its server away; the way back from it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.examples import example
from tests.integration.harness.finishing import HOUR_MS, MIDNIGHT_MS
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify, said, said_json
from tests.stack import MinioServer
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, produce

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.timeout(600)
FOLDER = "prices/2026/03/28"
WINDOW = ("--from", "2026-03-28T00:00:00Z", "--to", "2026-03-28T02:00:00Z")


@pytest.fixture
def far(minio: MinioServer, s3: "S3Client", unique: str) -> Iterator[str]:
    """A second bucket, which goes with the test."""
    name = f"far-{unique}"[:63].rstrip("-")
    s3.create_bucket(Bucket=name)
    yield name
    minio.drop(s3, name)


def objects(s3: "S3Client", bucket: str, prefix: str = "") -> dict[str, bytes]:
    found = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    return {
        one["Key"]: s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        for one in found
        if "_logpersister" not in one["Key"]
    }


def send(scene: Scene, topic: str, hour: int, *contents: str) -> None:
    """Send contents of a feed, a minute apart from the begin of an hour on."""
    headers = (("replica", b"a"), ("postfix", b".json"))
    at = MIDNIGHT_MS + hour * HOUR_MS
    records = [Record(one.encode(), b"prices", 0, at + 60_000 * n, headers) for n, one in enumerate(contents)]
    produce(scene.kafka.bootstrap, topic, records)


def test_an_hour_is_finished_when_its_copy_has_it(
    scene: Scene,
    s3: "S3Client",
    s3_secret: str,
    bucket: str,
    far: str,
    s3_proxy: FaultProxy,
    topic: Callable[..., str],
    verify: Verify,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = topic(1)
    copies = [{"bucket": far, "prefix": "kept", "endpoint": s3_proxy.endpoint, "secretName": s3_secret}]
    settings = example("archive-copies", finish={"allowedLateness": "0s"})
    manifest = scene.manifest(**{**settings, "kafka": {"topics": [name]}, "storage": {"copies": copies}})

    def archives(of: str, prefix: str) -> Mapping[str, bytes]:
        root = f"{prefix}/{name}/_archives/"
        return {key.removeprefix(root): content for key, content in objects(s3, of, root).items()}

    def is_finished(hour: int) -> bool:
        return f"raw/{name}/{FOLDER}/{hour:02d}/_SUCCESS" in objects(s3, bucket, f"raw/{name}/{FOLDER}/")

    said("check", "-f", str(manifest), "--timeout", "20s")
    member = scene.member(manifest)
    send(scene, name, 0, "a", "b")
    scene.group.wait_current(name, explain=member.tail)  # ranges of one hour can be deleted
    send(scene, name, 1, "c")
    member.wait("the first hour is finished", lambda: is_finished(0))
    first = archives(bucket, "raw")
    assert [*first] == [f"{FOLDER}/00/prices_20260328T00Z.tar.gz"]
    assert archives(far, "kept") == first
    assert {key.split("/")[2] for key in objects(s3, far)} == {"_archives"}, "ranges stay in the bucket"

    s3_proxy.stop()
    send(scene, name, 0, "late")
    scene.group.wait_current(name, explain=member.tail)
    send(scene, name, 2, "d")
    member.wait("both have their archives in the bucket", lambda: len(archives(bucket, "raw")) == 2)
    member.wait("the member says which copy is away", lambda: bool(member.events("duty.failed")))
    assert f"copy 1 (s3://{far}/kept)" in member.events("duty.failed")[-1]["error"]
    assert not is_finished(1)
    assert archives(far, "kept") == first, "an older version is no loss"
    error, code = refused(capsys, "retrieve", "-f", str(manifest), "--store", "1", "--target", str(tmp_path / "no"))
    assert (code, f"or take --store 0 (s3://{bucket}/raw)" in error) == (Exit.UNREACHABLE, True)
    scene.group.wait_current(name, explain=member.tail)
    assert verify(manifest)["ok"], "neither hour counts as finished"
    s3_proxy.start()
    member.wait("the second hour is finished", lambda: is_finished(1))
    member.wait("all versions are there", lambda: archives(far, "kept") == archives(bucket, "raw"))
    scene.group.wait_current(name, explain=member.tail)
    assert verify(manifest, "--deep")["ok"]
    s3_proxy.stop()
    assert not verify(manifest, code=Exit.UNREACHABLE)["complete"]
    s3_proxy.start()

    s3.delete_object(Bucket=far, Key=f"kept/{name}/_archives/{FOLDER}/01/prices_20260328T01Z.tar.gz")
    (finding,) = verify(manifest, code=Exit.BROKEN)["findings"]
    assert finding["kind"] == "not-copied"
    said("finish", "-f", str(manifest), *WINDOW)
    assert archives(far, "kept") == archives(bucket, "raw")
    assert verify(manifest)["ok"]

    for store, target in (("1", tmp_path / "copy"), ("0", tmp_path / "primary")):
        command = ("retrieve", "-f", str(manifest), *WINDOW, "--store", store, "--target", str(target))
        assert said_json(*command)["totals"]["failed"] == 0
    kept = {str(one.relative_to(tmp_path / "copy" / name)): one.read_bytes() for one in files(tmp_path / "copy")}
    assert kept == archives(bucket, "raw")
    assert {one.read_bytes() for one in files(tmp_path / "copy")} <= {
        one.read_bytes() for one in files(tmp_path / "primary")
    }

    said("delete", "-f", str(manifest), "--to", "2026-03-28T01:00:00Z", "--yes")
    assert {key.split("/")[4] for of, prefix in ((bucket, "raw"), (far, "kept")) for key in archives(of, prefix)} == {
        "01"
    }
    assert verify(manifest)["ok"]


def files(directory: Path) -> list[Path]:
    return [one for one in directory.rglob("*") if one.is_file()]


def refused(capsys: pytest.CaptureFixture[str], *command: str) -> tuple[str, int]:
    """Return what a command says of an error, and its exit code."""
    capsys.readouterr()
    code = main([*command])
    return capsys.readouterr().err, code
