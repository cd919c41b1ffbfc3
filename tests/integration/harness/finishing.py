"""A topic whose folders by hour are finished, and what stands in them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.harness.examples import example
from tests.integration.harness.scene import Scene
from tests.stack.topics import Record, produce

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

HOUR_MS = 3_600_000
MIDNIGHT_MS = int(datetime(2026, 3, 28, tzinfo=UTC).timestamp() * 1000)


def hour(number: int) -> str:
    """Return a folder, by the hours since midnight."""
    return f"dt=2026-03-{28 + number // 24}/hr={number % 24:02d}"


class Finishing:
    """A topic whose folders by hour are finished, by the manifests of the examples; ten minutes are allowed."""

    def __init__(self, scene: Scene, s3: "S3Client", bucket: str, topic: str) -> None:
        self.scene = scene
        self.topic = topic
        self._s3 = s3
        self.bucket = bucket

    def manifest(self, of: str = "finish", storage: Mapping[str, str] | None = None, **finish: Any) -> Path:
        """Write the manifest of an example; ``finish`` has changes."""
        return self.scene.manifest(kafka={"topics": [self.topic]}, storage=storage or {}, **example(of, finish=finish))

    def write(self, partition: int, hours: float, count: int = 1) -> None:
        """Write records of a time, in hours since midnight."""
        at = MIDNIGHT_MS + int(hours * HOUR_MS)
        self.scene.workload.write(self.topic, count, partitions=[partition], timestamp=lambda _: at)

    def write_events(self, partition: int, *hours: float) -> None:
        """Write records of now whose values have such times."""
        events = [{"at": MIDNIGHT_MS + int(at * HOUR_MS), "page": "/"} for at in hours]
        records = [Record(json.dumps(event).encode(), partition=partition) for event in events]
        produce(self.scene.kafka.bootstrap, self.topic, records)

    def keys(self) -> dict[str, set[str]]:
        """Return what is in each folder beside records, by folder."""
        listed = self._s3.list_objects_v2(Bucket=self.bucket, Prefix=f"raw/{self.topic}/").get("Contents", [])
        found: dict[str, set[str]] = {}
        for one in listed:
            folder, _, name = one["Key"].removeprefix(f"raw/{self.topic}/").rpartition("/")
            if name[0] in "_.":
                found.setdefault(folder, set()).add(name)
        return found

    def finished(self) -> set[str]:
        """Return the folders with a success file."""
        return {folder for folder, names in self.keys().items() if "_SUCCESS" in names}

    def content(self, folder: str) -> Mapping[str, Any]:
        """Return the manifest of a folder, after it was compared with what is there."""
        document = self.document(folder)
        there = [one for one in self.scene.bucket.objects(self.topic) if one.path == folder]
        assert {one["name"]: (one["records"], one["bytes"]) for one in document["objects"]} == {
            one.key.rpartition("/")[2]: (len(one.values), one.size) for one in there
        }
        assert document["records"] == sum(len(one.values) for one in there)
        return document

    def document(self, folder: str) -> Mapping[str, Any]:
        """Return the manifest of a folder, in which an object may be missing that has just come."""
        key = f"raw/{self.topic}/{folder}/_manifest.json"
        document: dict[str, Any] = json.loads(self._s3.get_object(Bucket=self.bucket, Key=key)["Body"].read())
        return document

    def arrivals(self) -> list[list[str]]:
        """Return the folders of each note of an arrival."""
        prefix = f"raw/_logpersister/{self.scene.group.name}/arrivals/"
        keys = [one["Key"] for one in self._s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix).get("Contents", [])]
        bodies = [self._s3.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in keys]
        return [json.loads(body)["folders"] for body in bodies]
