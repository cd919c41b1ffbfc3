"""What stands in the bucket and what Kafka holds, as boto3 and kafka-python's consumer see it."""

import gzip
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import KafkaAdminClient
from kafka.record import MemoryRecords

from tests.chaos.check import EMPTY, Progress, Row, Seen, Stored, TopicPartition, digest, seen_as
from tests.readers import messagepack, sequencefile
from tests.stack.topics import read_as

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NAME = re.compile(
    r"(?P<topic>[^/]+)/(?:(?P<path>.+)/)?(?P<generation>\d+)_(?P<partition>\d+)_(?P<start>\d{20})"
    r"(?:\.r(?P<replay>[0-9a-f]{12}))?(?P<extension>\.[a-z.]+)"
)
_OFFSET, _KEY, _TIMESTAMP = 1, 2, 3
"""Entries of MessagePack keys, docs/formats.md."""
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"\\": b"\\", b"n": b"\n"}

_AT_ONCE = 8
"""Objects that are read side by side."""
READABLE = (ValueError, OSError, EOFError, IndexError, KeyError, AssertionError)
"""What a reader raises when an object is broken."""


class Content(NamedTuple):
    """What is in an object."""

    rows: Sequence[Row]
    version: int = 0
    """Of the schema whose columns it has; 0: none."""


Read = Callable[[str, str, bytes], Content]
"""Gets topic, folder and the bytes of an object."""


class UnreadableError(Exception):
    """An object cannot be read at all, or its name is none of ours."""


def keys_of(client: "S3Client", bucket: str, prefix: str) -> Iterator[str]:
    """Yield the names of all objects below ``prefix``, but for what the group notes for itself."""
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/"):
        for listed in page.get("Contents", []):
            if not listed["Key"].startswith(f"{prefix}/_logpersister/"):
                yield listed["Key"]


def stored(
    client: "S3Client", bucket: str, prefix: str, read: Read, *, markers: "re.Pattern[str] | None" = None
) -> Iterator[Stored]:
    """Yield every object of records below ``prefix``; raise `UnreadableError` for one that is none.

    Args:
        client: of the bucket.
        bucket: its name.
        prefix: of the group.
        read: what makes rows of an object.
        markers: names of files that are no objects of records, without their folders.
    """

    def look(key: str) -> Stored:
        name = _NAME.fullmatch(key.removeprefix(f"{prefix}/"))
        if name is None:
            raise UnreadableError(f"{key} is not a name by the rule")
        topic, path = unquote(name["topic"]), name["path"] or ""
        try:
            content = read(topic, path, client.get_object(Bucket=bucket, Key=key)["Body"].read())
        except READABLE as error:
            raise UnreadableError(f"{key} cannot be read: {error!r}") from error
        place = int(name["partition"]), int(name["generation"]), int(name["start"])
        return Stored(key, topic, *place, path, content.rows, name["replay"] or "", content.version)

    keys = keys_of(client, bucket, prefix)
    wanted = (key for key in keys if markers is None or not markers.fullmatch(key.rpartition("/")[2]))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(look, wanted)


def escaped_gzip_lines(_topic: str, _path: str, content: bytes) -> Content:
    """Read ``text`` with ``gzip`` and ``delimiterInValue: escape``."""
    text = gzip.decompress(content)
    if text and not text.endswith(b"\n"):
        raise ValueError("does not end with a whole line")
    return Content([Row(digest(_ESCAPE.sub(_unescape, line))) for line in text.split(b"\n")[:-1]])


def _unescape(found: "re.Match[bytes]") -> bytes:
    return _ESCAPED[found[1]]


def messagepack_files(_topic: str, _path: str, content: bytes) -> Content:
    """Read ``sequencefile`` with ``key: messagepack``."""
    file = sequencefile.read(content)
    return Content([_row(key, value) for key, value in zip(file.keys, file.values, strict=True)])


def _row(key: int | bytes, value: bytes) -> Row:
    if not isinstance(key, bytes):
        raise ValueError(f"key {key} is no BytesWritable")
    entries = messagepack.decode_map(key)
    own = entries.get(_KEY)
    offset, timestamp = entries[_OFFSET], entries[_TIMESTAMP]
    if not isinstance(offset, int) or not isinstance(timestamp, int) or isinstance(own, int):
        raise ValueError(f"key {key!r} is not made of offset, timestamp and key")
    return Row(digest(value), offset, timestamp, digest(own) if own is not None else None)


def record_batches(_topic: str, _path: str, content: bytes) -> Content:
    """Read ``kafka``. Batches are whole, also where a part of one is of the range before or behind (`within`)."""
    batches = MemoryRecords(content)
    rows = [_row_of(record) for batch in batches for record in batch]
    if batches.valid_bytes() != len(content):
        raise ValueError("does not end with a whole batch")
    return Content(rows)


def _row_of(record: Any) -> Row:
    value = EMPTY if record.value is None else digest(record.value)
    return Row(value, record.offset, record.timestamp, None if record.key is None else digest(record.key))


def within(objects: Sequence[Stored]) -> Iterator[Stored]:
    """Yield objects of record batches with the records of their range only, which ends where the next one begins."""
    starts: dict[TopicPartition, list[int]] = {}
    for one in sorted(objects, key=lambda one: one.start):
        starts.setdefault(one.of, []).append(one.start)
    ends = {(of, start): end for of, of_it in starts.items() for start, end in pairwise(of_it)}
    for one in objects:
        end = ends.get((one.of, one.start))
        rows = [it for it in one.rows if it.offset is not None and one.start <= it.offset < (end or it.offset + 1)]
        yield replace(one, rows=rows)


def unfinished_uploads(client: "S3Client", bucket: str, keys: Sequence[str]) -> list[str]:
    """Return those of ``keys`` that have a multipart upload which nobody has completed or aborted.

    MinIO lists the uploads of one name at a time only.
    """
    return [key for key in keys if client.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads")]


def consumed(
    bootstrap: str, topics: Sequence[str], judges: Mapping[str, Callable[[Any], Seen]]
) -> dict[TopicPartition, list[Seen]]:
    """Return everything that a consumer with ``read_committed`` reads, up to the present end.

    Args:
        bootstrap: address of the brokers.
        topics: which ones.
        judges: say of records of some topics what their rows should be.
    """
    return {
        (topic, number): records
        for topic in topics
        for number, records in read_as(judges.get(topic, seen_as), bootstrap, topic, max_poll_records=5_000).items()
    }


def progress(admin: KafkaAdminClient, group: str, topics: Sequence[str]) -> dict[TopicPartition, Progress]:
    """Return where a group stands: committed, promised, and Kafka's last stable offset."""
    partitions = [
        KafkaTopicPartition(topic["name"], part["partition_index"])
        for topic in admin.describe_topics(list(topics))
        for part in topic["partitions"]
    ]
    committed = admin.list_group_offsets({group: partitions})[group]
    ends = admin.list_partition_offsets(dict.fromkeys(partitions, _LATEST), isolation_level=_READ_COMMITTED)
    return {
        (one.topic, one.partition): Progress(
            max(committed[one].offset, 0), _pending(committed[one].metadata or ""), ends[one].offset
        )
        for one in partitions
    }


_LATEST = -1
_READ_COMMITTED = 1


def _pending(mark: str) -> tuple[int, ...]:
    """Return the ends in the string beside a committed offset, docs/design/intents.md."""
    fields = dict(field.partition("=")[::2] for field in mark.split(";"))
    return tuple(int(end) for end in fields.get("ends", "").split(",") if end)
