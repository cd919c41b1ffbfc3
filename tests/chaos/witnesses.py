"""What stands in the bucket and what Kafka holds, as boto3 and kafka-python's consumer see it."""

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import KafkaAdminClient

from tests.chaos.check import Progress, Row, Seen, Stored, TopicPartition, digest
from tests.readers import messagepack, sequencefile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NAME = re.compile(
    r"(?P<topic>[^/]+)/(?:(?P<path>.+)/)?(?P<generation>\d+)_(?P<partition>\d+)_(?P<start>\d{20})(?P<extension>\.[a-z.]+)"
)
_READ_SECONDS = 60
_OFFSET, _KEY, _TIMESTAMP = 1, 2, 3
"""Entries of MessagePack keys, docs/formats.md."""
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"\\": b"\\", b"n": b"\n"}

Read = Callable[[bytes], Sequence[Row]]


class UnreadableError(Exception):
    """An object cannot be read at all, or its name is none of ours."""


def stored(client: "S3Client", bucket: str, prefix: str, read: Read) -> Iterator[Stored]:
    """Yield every object of records below ``prefix``; raise `UnreadableError` for one that is none."""
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/"):
        for listed in page.get("Contents", []):
            key = listed["Key"].removeprefix(f"{prefix}/")
            if key.startswith("_logpersister/"):
                continue
            name = _NAME.fullmatch(key)
            if name is None:
                raise UnreadableError(f"{listed['Key']} is not a name by the rule")
            try:
                rows = read(client.get_object(Bucket=bucket, Key=listed["Key"])["Body"].read())
            except (ValueError, OSError, EOFError, IndexError, KeyError) as error:
                raise UnreadableError(f"{listed['Key']} cannot be read: {error!r}") from error
            yield Stored(
                name=listed["Key"],
                topic=unquote(name["topic"]),
                partition=int(name["partition"]),
                generation=int(name["generation"]),
                start=int(name["start"]),
                path=name["path"] or "",
                rows=rows,
            )


def escaped_gzip_lines(content: bytes) -> list[Row]:
    """Read ``text`` with ``gzip`` and ``delimiterInValue: escape``."""
    text = gzip.decompress(content)
    if text and not text.endswith(b"\n"):
        raise ValueError("does not end with a whole line")
    return [Row(digest(_ESCAPE.sub(_unescape, line))) for line in text.split(b"\n")[:-1]]


def _unescape(found: "re.Match[bytes]") -> bytes:
    return _ESCAPED[found[1]]


def messagepack_files(content: bytes) -> list[Row]:
    """Read ``sequencefile`` with ``key: messagepack``."""
    file = sequencefile.read(content)
    return [_row(key, value) for key, value in zip(file.keys, file.values, strict=True)]


def _row(key: int | bytes, value: bytes) -> Row:
    if not isinstance(key, bytes):
        raise ValueError(f"key {key} is no BytesWritable")
    entries = messagepack.decode_map(key)
    own = entries.get(_KEY)
    offset, timestamp = entries[_OFFSET], entries[_TIMESTAMP]
    if not isinstance(offset, int) or not isinstance(timestamp, int) or isinstance(own, int):
        raise ValueError(f"key {key!r} is not made of offset, timestamp and key")
    return Row(digest(value), offset, timestamp, digest(own) if own is not None else None)


def unfinished_uploads(client: "S3Client", bucket: str, keys: Sequence[str]) -> list[str]:
    """Return those of ``keys`` that have a multipart upload which nobody has completed or aborted.

    MinIO lists the uploads of one name at a time only.
    """
    return [key for key in keys if client.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads")]


def consumed(bootstrap: str, topics: Sequence[str]) -> dict[TopicPartition, list[Seen]]:
    """Return everything that a consumer with ``read_committed`` reads, up to the present end."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", enable_auto_commit=False, max_poll_records=5_000
    )
    try:
        partitions = [KafkaTopicPartition(topic, number) for topic in topics for number in _numbers(consumer, topic)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        found: dict[TopicPartition, list[Seen]] = {(one.topic, one.partition): [] for one in partitions}
        while behind := {one for one in partitions if consumer.position(one) < ends[one]}:
            polled = consumer.poll(timeout_ms=_READ_SECONDS * 1000)
            if not polled and all(consumer.position(one) < ends[one] for one in behind):
                raise TimeoutError(f"Kafka gave nothing of {sorted(behind)} within {_READ_SECONDS} s")
            for one, records in polled.items():
                found[one.topic, one.partition] += [_seen(record) for record in records]
        return found
    finally:
        consumer.close()


def _numbers(consumer: KafkaConsumer, topic: str) -> list[int]:
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise LookupError(f"topic {topic} does not exist")
    return sorted(numbers)


def _seen(record: Any) -> Seen:
    return Seen(
        record.offset,
        record.timestamp,
        digest(record.key) if record.key is not None else None,
        digest(record.value) if record.value is not None else None,
    )


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
