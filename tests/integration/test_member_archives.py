"""Archives of feeds: what two replicas saw, an archive for each hour, late downloads, SIGKILL; read by tar."""

import io
import json
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.harness.examples import example
from tests.integration.harness.finishing import HOUR_MS, MIDNIGHT_MS
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify, said, said_json
from tests.stack.topics import Record, produce

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PERIOD_MS = 5000
HOURS = ("prices/2026/03/28/00", "prices/2026/03/28/01")


class Feed:
    """What two replicas see of a feed whose content changes every other period; they send it one after the other."""

    def __init__(self, scene: Scene, topic: str, name: str) -> None:
        self._scene, self._topic, self._name = scene, topic, name
        self.contents: dict[int, dict[int, bytes]] = {}
        """Changes of content by hour, by when the first replica has seen them."""

    def seen(self, hour: int, first: int, count: int) -> None:
        """Send what both see in some periods of an hour: `count` from `first` on."""
        changes: list[tuple[int, bytes]] = []
        for period in range(first, first + count):
            at = MIDNIGHT_MS + hour * HOUR_MS + period * PERIOD_MS
            content = json.dumps({"feed": self._name, "n": hour * 1000 + period // 2, "pad": "x" * 2000}).encode()
            if not changes or changes[-1][1] != content:
                changes.append((at, content))
        self.contents.setdefault(hour, {}).update(changes)
        for replica, later in (("a", 0), ("b", PERIOD_MS // 2)):
            self.send(replica, [(at + later, content) for at, content in changes])

    def send(self, replica: str, downloads: Sequence[tuple[int, bytes]]) -> None:
        headers = (("replica", replica.encode()), ("postfix", b".json"))
        records = [Record(content, self._name.encode(), 0, at, headers) for at, content in downloads]
        produce(self._scene.kafka.bootstrap, self._topic, records)


class Archives:
    """Archives of hours in a bucket."""

    def __init__(self, s3: "S3Client", bucket: str, topic: str) -> None:
        self._s3, self._bucket, self._topic = s3, bucket, topic

    def _root(self, hour: str) -> str:
        return f"raw/{self._topic}/_archives/{hour}/"

    def names(self, hour: str) -> list[str]:
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=self._root(hour)).get("Contents", [])
        return [one["Key"].rpartition("/")[2] for one in found]

    def content(self, hour: str) -> bytes:
        (name,) = self.names(hour)
        return self._s3.get_object(Bucket=self._bucket, Key=self._root(hour) + name)["Body"].read()

    def files(self, hour: str) -> dict[str, bytes]:
        with tarfile.open(fileobj=io.BytesIO(self.content(hour))) as archive:
            opened = [(one.name, archive.extractfile(one)) for one in archive]
            return {name: b"" if file is None else file.read() for name, file in opened}

    def manifest(self, hour: str) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads(self.files(hour)[".manifest.json"])
        return document

    def is_of(self, hour: str, number: int) -> bool:
        return bool(self.names(hour)) and self.manifest(hour)["number"] == number


def in_order(files: Mapping[str, bytes]) -> list[bytes]:
    """Return the contents of files by their names, so by their times."""
    return [files[name] for name in sorted(files) if name != ".manifest.json"]


def in_time(contents: Mapping[int, bytes]) -> list[bytes]:
    return [contents[at] for at in sorted(contents)]


def by_tar(content: bytes, directory: Path) -> dict[str, bytes]:
    """Return the files of an archive as tar unpacks it."""
    directory.mkdir()
    done = subprocess.run(["tar", "-xz", "-C", str(directory)], input=content, capture_output=True, check=True)
    assert done.stderr == b""
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def test_each_content_that_a_replica_saw_is_in_the_archive_of_its_hour(
    scene: Scene, s3: "S3Client", bucket: str, topic: Callable[..., str], verify: Verify, tmp_path: Path
) -> None:
    name = topic(1)
    of_feeds = example("archive", finish={"allowedLateness": "0s"})
    manifest = scene.manifest(kafka={"topics": [name]}, **of_feeds)
    prices, weather, archives = Feed(scene, name, "prices"), Feed(scene, name, "weather"), Archives(s3, bucket, name)

    member = scene.member(manifest)
    for first in (0, 200):  # several ranges
        prices.seen(0, first, 200)
        weather.seen(0, first, 200)
        scene.group.wait_current(name, explain=member.tail)
    member.kill()
    member.wait_gone()
    prices.seen(1, 0, 50)
    after = scene.member(manifest)
    after.wait("the first hour has its archive", lambda: archives.is_of(HOURS[0], 1))
    first_version = archives.files(HOURS[0])
    assert in_order(first_version) == in_time(prices.contents[0])
    assert archives.names(HOURS[1]) == []
    told = archives.manifest(HOURS[0])
    assert {replica: one["records"] for replica, one in told["replicas"].items()} == {"a": 200, "b": 200}
    assert (told["files"], told["missing"], len(told["sources"]) > 1) == (200, [], True)
    assert archives.names(HOURS[0]) == ["prices_20260328T00Z.tar.gz"]

    at = min(prices.contents[0]) + 7000  # between the first and the second content
    prices.contents[0] |= {
        at: b"only the slow one saw it",
        at + PERIOD_MS // 2: prices.contents[0][min(prices.contents[0])],
    }
    prices.send(
        "c", [(at, b"only the slow one saw it"), (at + PERIOD_MS // 2, prices.contents[0][at + PERIOD_MS // 2])]
    )
    after.wait("late downloads are in a new version", lambda: archives.is_of(HOURS[0], 2))
    assert len(archives.names(HOURS[0])) == 1
    assert in_order(archives.files(HOURS[0])) == in_time(prices.contents[0])
    assert (
        archives.files(HOURS[0]).items() >= {one: first_version[one] for one in first_version if one[0] != "."}.items()
    )
    assert by_tar(archives.content(HOURS[0]), tmp_path / "by-tar") == archives.files(HOURS[0])
    scene.group.wait_current(name, explain=after.tail)
    verify(manifest, "--deep", finds={})
    assert_retrieved(manifest, archives, name, tmp_path / "files", [prices, weather])
    said("delete", "-f", str(manifest), "--to", "2026-03-28T01:00:00Z", "--yes")
    assert verify(manifest)["ok"]
    assert archives.names(HOURS[0].replace("prices", "weather")) == [], "its folder is empty"
    later = max(prices.contents[0]) + PERIOD_MS
    prices.contents[0][later] = b"after the objects of ranges were deleted"
    prices.send("c", [(later, prices.contents[0][later])])
    after.wait("a version with all of the one before", lambda: archives.is_of(HOURS[0], 3))
    assert in_order(archives.files(HOURS[0])) == in_time(prices.contents[0])
    assert after.events("duty.failed") == []


def assert_retrieved(manifest: Path, archives: Archives, topic: str, target: Path, feeds: Sequence[Feed]) -> None:
    """The first hour comes as an archive, the second one as what it will be made of; both byte for byte."""
    command = ("retrieve", "-f", str(manifest), "--target", str(target), "--unpack")
    document = said_json(*command, "--folders", "prices")
    assert document["totals"]["failed"] == 0
    assert sorted(one.name for one in (target / topic).iterdir()) == ["prices"]
    prices, weather = feeds
    packed = [file for file in (target / topic / HOURS[0]).iterdir() if file.name.endswith(".tar.gz")]
    assert [file.name for file in packed] == archives.names(HOURS[0])
    assert packed[0].read_bytes() == archives.content(HOURS[0])
    assert in_order(unpacked(target / topic / HOURS[0])) == in_time(prices.contents[0])
    assert set(unpacked(target / topic / HOURS[1]).values()) == set(prices.contents[1].values())
    again = said_json(*command)
    assert again["totals"]["had"] == document["totals"]["fetched"]
    assert in_order(unpacked(target / topic / HOURS[0].replace("prices", "weather"))) == in_time(weather.contents[0])


def unpacked(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.suffix == ".json" or not file.suffix}
