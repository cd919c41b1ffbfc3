"""Looks at the folders of a topic while members work: what is finished when, and what its manifest says."""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka.errors import KafkaError

from tests.chaos.check import Progress, TopicPartition
from tests.chaos.folders import Folders, Sighting, Success
from tests.chaos.looking import Looking

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_OBJECTS = (".parquet", ".jsonl.gz")
_MARKER = re.compile(r"(?P<folder>.+)/(?P<name>_SUCCESS|_manifest\.json|\.(?P<partition>\d+)\.done)")


class FolderWatch(Looking):
    """Takes in what is finished, and what manifests say."""

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        prefix: str,
        topic: str,
        lateness_ms: int,
        committed: Callable[[], Mapping[TopicPartition, Progress]],
    ) -> None:
        super().__init__()
        self.seen = Folders(topic, lateness_ms)
        self._client = client
        self._bucket = bucket
        self._prefix = f"{prefix}/{topic}/"
        self._committed = committed
        self._tags: dict[str, str] = {}
        """Of the manifests that were read, by key."""
        self._objects: dict[str, set[str]] = {}
        """By folder: names of the objects of records that were listed last."""
        self._in_manifests: dict[str, set[str]] = {}
        """By folder: names that its manifest has."""

    def look(self) -> None:
        """Note what is new. ``_SUCCESS`` is written last, so it is taken from the listing before manifests are read."""
        fresh: list[str] = []
        for key, tag in self._markers():
            found = _MARKER.fullmatch(key.removeprefix(self._prefix))
            if found is None:
                continue
            folder = found["folder"]
            if found["partition"]:
                self.seen.done.setdefault(folder, set()).add(int(found["partition"]))
            elif found["name"] == "_SUCCESS" and folder not in self.seen.successes:
                fresh.append(folder)
            elif found["name"] == "_manifest.json" and self._tags.get(key) != tag:
                self._read(key, folder)
        if fresh:
            at, committed = time.time() * 1000, self._ask()
            self.seen.successes |= {folder: Success(folder, at, committed) for folder in fresh}

    def _markers(self) -> list[tuple[str, str]]:
        """List the topic; return names and tags of what are no objects of records."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
        listed: list[Any] = [one for page in pages for one in page.get("Contents", [])]
        objects: dict[str, set[str]] = {}
        for one in listed:
            if one["Key"].endswith(_OBJECTS):
                folder, _, name = one["Key"].removeprefix(self._prefix).rpartition("/")
                objects.setdefault(folder, set()).add(name)
        self._objects = objects
        return [(one["Key"], one["ETag"]) for one in listed if not one["Key"].endswith(_OBJECTS)]

    def exists(self, folder: str) -> bool:
        """Whether a folder had an object of records when it was listed last."""
        return folder in self._objects

    def incomplete(self) -> list[str]:
        """Return finished folders that have objects which are in no manifest (yet)."""
        finished = sorted(self.seen.successes)
        return [one for one in finished if self._objects.get(one, set()) - self._in_manifests.get(one, set())]

    def _read(self, key: str, folder: str) -> None:
        answer = self._client.get_object(Bucket=self._bucket, Key=key)
        content = answer["Body"].read()
        self._tags[key] = answer["ETag"]
        try:
            sighting = Sighting(folder, json.loads(content))
            self._in_manifests[folder] = sighting.names
        except (ValueError, TypeError, LookupError) as error:
            self.seen.unreadable.append((folder, f"{error!r}: {content[:200]!r}"))
        else:
            self.seen.sightings.append(sighting)

    def _ask(self) -> dict[int, int]:
        try:
            return {of[1]: one.committed for of, one in self._committed().items()}
        except (KafkaError, OSError):
            return {}
