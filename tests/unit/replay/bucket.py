"""A bucket in memory, whose every request may be the last one of the process that sends it."""

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.base import Bytes
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.revisions.revision import revision_of
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.rules import rules_of
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.replay.execution import Replayer, TopicOutput
from logpersister.storage import names
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import LEFT_OUT, VALUES, ObjectFacts, parse_facts
from logpersister.storage.imprint import Imprint
from logpersister.storage.names import ObjectName
from logpersister.storage.object_requests import StoredObject
from logpersister.storage.store import ListedObject, ObjectStore
from tests.unit.formats.samples import Record, batch, with_headers

GROUP = "clicks-backup"
CLICKS = TopicPartition("clicks", 0)
RANGE = Range(CLICKS, 100, 200)


class KilledError(BaseException):
    """The process is gone: nothing catches it."""


@dataclass
class Bucket:
    """Objects with their metadata, and documents."""

    objects: dict[str, tuple[bytes, Mapping[str, str]]] = field(default_factory=dict)
    requests: int = 0
    dies_at: tuple[int, bool] | None = None
    """At which request the process dies, and whether the bucket has still done what it asked for."""
    prefix: str = "raw"
    name: str = "logs"
    before_request: Callable[[], None] = lambda: None
    """A test may let something happen, or fail, before a request."""
    before_finish: Callable[[], None] = lambda: None
    """A test may let something happen before an object becomes visible."""

    @property
    def storage(self) -> StorageSpec:
        return StorageSpec(bucket=self.name, prefix=self.prefix)

    @property
    def store(self) -> ObjectStore:
        return cast("ObjectStore", self)

    def _request(self, *, done: bool) -> None:
        self.requests += not done
        if not done:
            self.before_request()
        if self.dies_at == (self.requests, done):
            raise KilledError

    def put(self, key: str, content: bytes, metadata: Mapping[str, str], *, if_absent: bool = False) -> None:
        self._request(done=False)
        if not (if_absent and key in self.objects):
            self.objects[key] = content, metadata
        self._request(done=True)

    def put_json(self, key: str, document: Mapping[str, Any], *, if_absent: bool = False) -> None:
        self.put(key, json.dumps(document, sort_keys=True).encode(), {}, if_absent=if_absent)

    def put_marker(self, key: str) -> None:
        self.put(key, b"", {})

    def get_json(self, key: str) -> dict[str, Any] | None:
        self._request(done=False)
        document: dict[str, Any] | None = json.loads(self.objects[key][0]) if key in self.objects else None
        return document

    def get_tagged(self, key: str) -> tuple[dict[str, Any], str] | None:
        document = self.get_json(key)
        return None if document is None else (document, str(hash(self.objects[key][0])))

    def replace_json(self, key: str, document: Mapping[str, Any], tag: str | None) -> bool:
        found = self.get_tagged(key)
        if tag != (None if found is None else found[1]):
            return False
        self.put_json(key, document)
        return True

    def delete_all(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.delete(key)

    def delete(self, key: str) -> None:
        self._request(done=False)
        self.objects.pop(key, None)
        self._request(done=True)

    def metadata(self, key: str) -> Mapping[str, str] | None:
        self._request(done=False)
        return self.objects[key][1] if key in self.objects else None

    def facts(self, key: str) -> ObjectFacts | None:
        metadata = self.metadata(key)
        return None if metadata is None else parse_facts(key, metadata, None)

    def read(self, key: str) -> Generator[bytes, None, None]:
        self._request(done=False)
        if key not in self.objects:
            raise StorageError("rejected", f"object {key!r} is gone", code="NoSuchKey")
        yield self.objects[key][0]

    def read_piece(self, key: str, start: int, length: int) -> bytes:
        return self.objects[key][0][start : start + length]

    def size(self, key: str) -> int:
        return len(self.objects[key][0])

    def imprint(self, key: str) -> Imprint | None:
        self.before_request()
        found = self.objects.get(key)
        if found is None:
            return None
        crc32 = base64.b64encode(zlib.crc32(found[0]).to_bytes(4, "big")).decode()
        return Imprint(found[1], len(found[0]), hashlib.sha256(repr(found).encode()).hexdigest(), crc32)

    def writer(self, key: str, metadata: Mapping[str, str], **options: Any) -> "Upload":
        return Upload(self, key, metadata, options)

    def list_objects(self, prefix: str) -> Iterator[ListedObject]:
        self.before_request()
        for key, (content, _) in sorted(self.objects.items()):
            if key.startswith(prefix):
                yield ListedObject(key, len(content), datetime(2026, 11, 24, tzinfo=UTC))

    def folders(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        inside = (key.removeprefix(prefix) for key in self.objects if key.startswith(prefix))
        yield from sorted({f"{prefix}{key.split('/')[0]}/" for key in inside if "/" in key and key >= behind})

    def first_keys(self, prefix: str, *, start_after: str, most: int) -> list[str]:
        return [key for key in sorted(self.objects) if key.startswith(prefix) and key > start_after][:most]

    def inventory(self, topic: str) -> Iterator[tuple[ObjectName, ListedObject]]:
        for listed in self.list_objects(names.topic_prefix(self.prefix, topic)):
            name = names.parse_object_key(self.prefix, listed.key)
            if name is not None:
                yield name, listed

    def quarantined(self) -> list[tuple[str, ObjectName]]:
        return [(listed.key, name) for name, listed in self.inventory("clicks") if name.path == QUARANTINE]


@dataclass
class Upload:
    bucket: Bucket
    key: str
    metadata: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    content: bytearray = field(default_factory=bytearray)

    def write(self, data: Bytes) -> None:
        self.content += memoryview(data)

    def finish(self, facts: Mapping[str, str]) -> StoredObject:
        self.bucket.before_finish()
        there = self.bucket.imprint(self.key)
        tag = None if there is None else f'"{there.tag}"'
        if self.options.get("replaces", tag) != tag:
            return StoredObject(self.key, len(self.content), existing=True)
        self.bucket.put(self.key, bytes(self.content), {**self.metadata, **facts})
        return StoredObject(self.key, len(self.content))

    def finish_async(self, facts: Mapping[str, str]) -> Future[StoredObject]:
        future: Future[StoredObject] = Future()
        future.set_result(self.finish(facts))
        return future

    def abort(self) -> None:
        """Leave nothing behind."""


def output_of(resource: LogPersister) -> TopicOutput:
    return TopicOutput(revision_of(resource, "1", rules_of(resource)), CompiledTopic(resource.spec, lambda _: None))


def store_range(
    bucket: Bucket,
    resource: LogPersister,
    records: list[Record],
    *,
    horizon: int | None = None,
    with_trace: int | None = None,
) -> RangeWriter:
    """Store a range as a member does, by a promise with a horizon; return what has written it.

    `with_trace`: so many of the first records have a header, where headers are wanted; None: all.
    """
    output, spec = output_of(resource), resource.spec
    revision, topic = output.revision, output.topic
    bucket.objects[names.revision_key("raw", GROUP, revision.hash)] = json.dumps(revision.document).encode(), {}
    metadata = {
        "group": GROUP,
        "generation": "1",
        "revision": revision.hash,
        "topic": "clicks",
        "topic-id": "id",
        "partition": "0",
        "start": str(RANGE.start),
        "end": str(RANGE.end),
    }
    metadata |= {"parser": spec.parser.type} if spec.parser.has_quarantine else {}
    metadata |= {} if topic.lateness_at(horizon) is None else {"horizon": str(horizon)}
    made, room = topic.formats, Room.of(spec.storage.part_size, topic.formats.held_back)

    def opened(_: RangeWork, path: str) -> Upload:
        extension = made.at(path).extension
        left_out = {} if spec.keeps_refused_values or path != QUARANTINE else {VALUES: LEFT_OUT}
        return Upload(
            bucket, names.object_key("raw", "clicks", path, 1, 0, RANGE.start, extension), metadata | left_out
        )

    work = RangeWork(RANGE, "id", 1, 0, RANGE.start, horizon=horizon)
    writer = RangeWriter(work, topic.layout_at(horizon), made, opened, room)
    rows = batch(records)
    traced = rows.num_rows if with_trace is None else with_trace
    writer.write(with_headers(rows, [[(b"trace", b"1")]] * traced) if made.wants_headers else rows)
    assert not writer.end_pass()
    return writer


def bucket_with(resource: LogPersister, records: list[Record], **stored: Any) -> Bucket:
    """Return a bucket in which a range is stored (`store_range`)."""
    bucket = Bucket()
    store_range(bucket, resource, records, **stored)
    return bucket


def replayer(
    bucket: Bucket, *resources: LogPersister, horizon: int | None = None, leaves_out: bool = False
) -> Replayer:
    """Return a replayer under the first resource, which can go on under all of them.

    `horizon`: up to when folders are finished now.
    """
    outputs = {output.revision.hash: output for output in map(output_of, resources)}
    now = output_of(resources[0])
    put = _put_revision(bucket)

    def horizon_of(_topic: str, _generation: int) -> int | None:
        return horizon

    return Replayer(bucket.store, GROUP, lambda _: now, outputs.__getitem__, put, horizon_of, leaves_out=leaves_out)


def _put_revision(bucket: Bucket) -> Any:
    return lambda revision, document: bucket.put_json(names.revision_key("raw", GROUP, revision), document)
