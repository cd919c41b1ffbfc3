"""What stands in the bucket, read by nobody's relative: names by the design's rule, content by the standard library.

Shares no code with the writer. The promise is checked from here: each record in exactly one object.
"""

import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import zstandard
from pyarrow import orc

from tests.readers import sequencefile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TopicPartition = tuple[str, int]

_NAME = re.compile(
    r"(?P<topic>[^/]+)/(?:(?P<path>.+)/)?"
    r"(?P<generation>\d+)_(?P<partition>\d+)_(?P<start>\d{20})(?:\.r[0-9a-f]{12})?(?P<extension>(?:\.\w+)*)"
)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of records."""

    key: str
    topic: str
    path: str
    generation: int
    partition: int
    start: int
    """Where its range begins."""
    extension: str
    size: int
    """Bytes, as stored."""
    encryption: str | None
    """Server-side encryption: ``AES256``, ``aws:kms`` or none."""
    metadata: Mapping[str, str]
    """User metadata, decoded."""
    values: tuple[bytes, ...]
    """Rows of columns as JSON."""

    @property
    def of(self) -> TopicPartition:
        return self.topic, self.partition

    @property
    def end(self) -> int:
        """Where its range ends."""
        return int(self.metadata["end"])


class Bucket:
    """One prefix of a bucket."""

    def __init__(self, client: "S3Client", name: str, prefix: str) -> None:
        self.client = client
        self.name = name
        self._head = f"{prefix}/" if prefix else ""

    def objects(self, topic: str | None = None) -> list[StoredObject]:
        """Return all objects of records (of ``topic``), by topic, partition, generation, start and path."""
        found = []
        for listed in self._list(self._head):
            if listed["Key"].startswith(f"{self._head}_logpersister/"):
                continue
            if listed["Key"].rpartition("/")[2][0] in "_.":
                continue  # what tells readers that a folder is finished
            name = _NAME.fullmatch(listed["Key"].removeprefix(self._head))
            assert name is not None, f"{listed['Key']} is not a name by the design's rule"
            if topic in (None, unquote(name["topic"])):
                found.append(self._read(listed, name))
        return sorted(found, key=lambda one: (one.topic, one.partition, one.generation, one.start, one.path))

    def names(self, topic: str) -> list[str]:
        """Return the names of the objects of a topic, without reading them."""
        return sorted(listed["Key"] for listed in self._list(f"{self._head}{topic}/"))

    def content(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def metadata(self, key: str) -> Mapping[str, str]:
        """Return what an object says of itself."""
        return self.client.head_object(Bucket=self.name, Key=key)["Metadata"]

    def rows(self, key: str) -> list[dict[str, Any]]:
        """Return the rows of an object in Parquet, ORC or JSON lines."""
        content = self.content(key)
        if ".orc" in key:
            return orc.read_table(io.BytesIO(content)).to_pylist()
        if ".parquet" in key:
            return pq.read_table(io.BytesIO(content)).to_pylist()
        return [json.loads(line) for line in _zstd(content).splitlines()]

    def rows_and_reasons(self, topic: str) -> tuple[list[dict[str, Any]], Counter[str]]:
        """Return all rows of a topic, by partition and offset where they name these, and the reasons of quarantine."""
        rows: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()
        for key in self.names(topic):
            if "/_quarantine/" in key:
                reasons.update(one["reason"] for one in self.rows(key))
            else:
                rows += self.rows(key)
        return sorted(rows, key=lambda one: (one.get("kafka_partition", 0), one.get("kafka_offset", 0))), reasons

    def losses(self) -> list[Mapping[str, Any]]:
        """Return what the groups have recorded as lost or skipped."""
        return [json.loads(content) for key, content in self.documents().items() if "/losses/" in key]

    def documents(self) -> dict[str, bytes]:
        """Return what the groups have noted for themselves (revisions, facts, losses), by name."""
        keys = [listed["Key"] for listed in self._list(f"{self._head}_logpersister/")]
        return {key: self.content(key) for key in keys}

    def parts(self, one: StoredObject) -> int:
        """Return in how many parts an object was uploaded; 1 for a single put."""
        return self.client.head_object(Bucket=self.name, Key=one.key, PartNumber=1).get("PartsCount", 1)

    def unfinished_uploads(self) -> list[str]:
        """Return the keys of multipart uploads that nobody has completed."""
        return [upload["Key"] for upload in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])]

    def _list(self, prefix: str) -> "Iterator[Any]":
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix):
            yield from page.get("Contents", [])

    def _read(self, listed: Mapping[str, Any], name: re.Match[str]) -> StoredObject:
        key = listed["Key"]
        answer = self.client.get_object(Bucket=self.name, Key=key)
        return StoredObject(
            key=key,
            topic=unquote(name["topic"]),
            path=name["path"] or "",
            generation=int(name["generation"]),
            partition=int(name["partition"]),
            start=int(name["start"]),
            extension=name["extension"],
            size=listed["Size"],
            encryption=answer.get("ServerSideEncryption"),
            metadata={field: unquote(value) for field, value in answer["Metadata"].items()},
            values=_records(name["extension"], answer["Body"].read()),
        )


def _records(extension: str, content: bytes) -> tuple[bytes, ...]:
    if extension == ".seq":
        return tuple(sequencefile.read(content).values)
    if extension == ".parquet":
        table = pq.read_table(io.BytesIO(content))
        if "value" not in table.column_names:
            return tuple(json.dumps(row, default=str).encode() for row in table.to_pylist())
        values: list[Any] = table.column("value").to_pylist()
        return tuple(values)
    if extension == ".kafka":
        return ()  # Kafka's own tool reads it
    if extension == ".jsonl.gz":
        return tuple((json.loads(line)["value"] or "").encode() for line in gzip.decompress(content).splitlines())
    text = {".txt": _plain, ".txt.gz": gzip.decompress, ".txt.zst": _zstd}[extension](content)
    assert text.endswith(b"\n"), "a text object does not end with a whole line"
    return tuple(text.removesuffix(b"\n").split(b"\n"))


def _plain(content: bytes) -> bytes:
    return content


def _zstd(content: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content), read_across_frames=True) as stream:
        return stream.read()


def assert_exactly_once(objects: Iterable[StoredObject], produced: Mapping[TopicPartition, Iterable[bytes]]) -> None:
    """Check that each produced record is in exactly one object, in order within it, and nothing else is.

    Values must differ within a partition, and be produced in the order of ``produced``.
    """
    stored: dict[TopicPartition, list[StoredObject]] = {}
    for one in objects:
        stored.setdefault(one.of, []).append(one)
    problems = [f"{key}: nothing was produced there" for key in stored.keys() - produced.keys()]
    for of, values in produced.items():
        problems += _problems(of, stored.get(of, []), list(values))
    assert not problems, "\n".join(problems)


def _problems(of: TopicPartition, objects: list[StoredObject], produced: list[bytes]) -> Iterator[str]:
    places = {value: place for place, value in enumerate(produced)}
    assert len(places) == len(produced), f"values of {of} are not unique: this check needs that"
    counts = Counter(value for one in objects for value in one.values)
    missing = [value for value in produced if value not in counts]
    twice = [value for value, count in counts.items() if count > 1]
    unknown = [value for value in counts if value not in places]
    for what, values in (("missing", missing), ("more than once", twice), ("never produced", unknown)):
        if values:
            yield f"{of}: {len(values)} of {len(produced)} {what}, such as {values[0][:80]!r} and {values[-1][:80]!r}"
            where = [one.key for one in objects if values[0] in one.values]
            yield f"    {where or [one.key for one in objects]}"
    for one in objects:
        order = [places.get(value, -1) for value in one.values]
        if order != sorted(order):
            yield f"{one.key}: records are not in their order"
