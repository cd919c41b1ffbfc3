"""What a reader of the documents ``current`` finds, who reads them as docs/replay.md says."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.chaos.looking import Looking

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Document = Mapping[str, Any]
NONE: Document = {"replays": {}, "partitions": {}}
_NAME = re.compile(r".*/(\d+)_(\d+)_(\d{20})\.[a-z.]+")

Place = tuple[str, str, str]
"""Topic, generation of a replay, and partition."""


def counts(document: Document, generation: int, partition: int, start: int) -> bool:
    """Whether an object counts."""
    for segment in document["partitions"].get(str(partition), []):
        if segment["start"] <= start < segment["end"]:
            return bool(segment["generation"] == generation)
    first, end = document["replays"].get(str(generation), {}).get(str(partition), (0, 0))
    return not first <= start < end


def document_of(client: "S3Client", bucket: str, group: str, topic: str) -> Document:
    """Return the document of a topic of a group whose prefix is its name."""
    try:
        answer = client.get_object(Bucket=bucket, Key=f"{group}/_logpersister/{group}/current/{topic}.json")
    except client.exceptions.NoSuchKey:
        return NONE
    found: Document = json.loads(answer["Body"].read())
    return found


class CurrentWatch(Looking):
    """Reads text which replays store again.

    Within the bounds of a replay there are as many records at each look, whichever generation counts.
    """

    def __init__(self, client: "S3Client", bucket: str, group: str, topics: Sequence[str]) -> None:
        super().__init__()
        self._client, self._bucket, self._group, self._topics = client, bucket, group, topics
        self._records: dict[str, int] = {}
        """Of the objects that were read, by key."""
        self._first: dict[Place, int] = {}
        """Records that the first look has found within the bounds of a replay."""
        self.broken: set[str] = set()
        """What a reader has seen that it must not see."""

    def look(self) -> None:
        """Read all that is stored again once; a topic whose document changes meanwhile is left for the next look."""
        for topic in self._topics:
            document = self._document(topic)
            objects = list(self._counting(topic, document)) if document["replays"] else []
            if document["replays"] and self._document(topic) == document:
                self._compare(topic, document, objects)

    def _compare(self, topic: str, document: Document, objects: Sequence[tuple[str, int, int]]) -> None:
        for generation, bounds in document["replays"].items():
            for partition, (first, end) in bounds.items():
                keys = [key for key, of, start in objects if of == int(partition) and first <= start < end]
                found, place = sum(map(self._number, keys)), (topic, generation, partition)
                wanted = self._first.setdefault(place, found)
                if found != wanted:
                    where = f"{topic}-{partition} [{first},{end})"
                    self.broken.add(f"a reader of the document has found {found} records in {where}, before {wanted}")

    def _counting(self, topic: str, document: Document) -> Iterator[tuple[str, int, int]]:
        """Yield key, partition and start of each object that counts."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{self._group}/{topic}/"
        )
        for key in (one["Key"] for page in pages for one in page.get("Contents", [])):
            name = _NAME.fullmatch(key)
            assert name is not None, key
            generation, partition, start = map(int, name.groups())
            if counts(document, generation, partition, start):
                yield key, partition, start

    def _number(self, key: str) -> int:
        if key not in self._records:
            content = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            self._records[key] = gzip.decompress(content).count(b"\n")
        return self._records[key]

    def _document(self, topic: str) -> Document:
        return document_of(self._client, self._bucket, self._group, topic)
