"""A format, a layout and a bucket that show what they were given."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from logpersister.formats.base import Bytes, Encoders, ObjectIdentity
from logpersister.pipeline.reader import ReadRequest
from logpersister.pipeline.room import Room
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Range, TopicPartition
from logpersister.records.late import Places
from logpersister.records.paths import Assignment
from logpersister.records.topic_layout import TopicLayout
from logpersister.storage.errors import StorageError
from logpersister.storage.object_requests import StoredObject
from tests.unit.records.batches import batch_of

CLICKS = TopicPartition("clicks", 0)
ROOM = Room(total=400, streamed=60)
"""For a dozen records that are held, and more that are streamed."""


def work(start: int = 0, end: int = 100, *, read_from: int | None = None) -> RangeWork:
    return RangeWork(Range(CLICKS, start, end), "id", 1, 1000, start if read_from is None else read_from)


def records(offsets: Sequence[int]) -> pa.RecordBatch:
    """Records whose value is their offset; every tenth is a tombstone."""
    values = [None if offset % 10 == 9 else str(offset).encode() for offset in offsets]
    return batch_of([0] * len(offsets), offsets, values=values)


class Lines:
    """A format: one line a record."""

    extension, content_type, wants_headers, held_back = ".txt", "text/plain", False, 0

    def encoder(self, identity: ObjectIdentity) -> "LinesEncoder":
        return LinesEncoder(identity)


class LinesEncoder:
    def __init__(self, identity: ObjectIdentity) -> None:
        self._identity = identity

    def encode(self, batch: pa.RecordBatch) -> Iterable[Bytes]:
        for value in batch.column("value").to_pylist():
            if value == b"1013":
                raise ValueError("1013 cannot be written")
            yield (value or b"-") + b"\n"

    def finish(self) -> Iterable[Bytes]:
        yield f"end of {self._identity.path}".encode()


@dataclass(frozen=True)
class FakeTopic:
    """`compiled.topic.CompiledTopic`, as far as a task needs it."""

    layout: TopicLayout
    formats: Encoders = Lines()  # noqa: RUF009 - it has no state
    is_verbatim: bool = False
    lateness: Callable[[int | None], Places | None] = lambda _: None

    def layout_at(self, horizon: int | None) -> TopicLayout:
        return self.layout.with_lateness(self.lateness(horizon))


class Modulo:
    """A layout: offsets modulo a number; one folder has no path segments at all."""

    def __init__(self, folders: int) -> None:
        self._folders = folders

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        found, indices = np.unique(batch.column("offset").to_numpy() % self._folders, return_inverse=True)
        paths = [f"m={folder}" if self._folders > 1 else "" for folder in found]
        return Assignment(paths, indices.astype(np.int32))


class FakeBucket:
    """Opens uploads, and knows how many were open at once."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.facts: dict[str, Mapping[str, str]] = {}
        self.aborted: list[str] = []
        self.open = self.most_open = 0
        self.failing: set[str] = set()
        self.waiting: list[tuple[Future[StoredObject], StoredObject]] | None = None
        """When a list: finished uploads wait in it until a test lets them become durable."""

    def open_upload(self, item: RangeWork, path: str) -> "FakeUpload":
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        return FakeUpload(self, f"{path}/{item.range.start}")


class FakeUpload:
    def __init__(self, bucket: FakeBucket, key: str) -> None:
        self._bucket, self._key = bucket, key
        self._data = b""

    def write(self, data: Bytes) -> None:
        self._data += bytes(data)

    def finish_async(self, facts: Mapping[str, str]) -> Future[StoredObject]:
        bucket = self._bucket
        bucket.open -= 1
        future: Future[StoredObject] = Future()
        if self._key in bucket.failing:
            future.set_exception(StorageError("throttled", "SlowDown"))
            return future
        bucket.objects[self._key], bucket.facts[self._key] = self._data, facts
        stored = StoredObject(self._key, len(self._data))
        if bucket.waiting is None:
            future.set_result(stored)
        else:
            bucket.waiting.append((future, stored))
        return future

    def abort(self) -> None:
        self._bucket.open -= 1
        self._bucket.aborted.append(self._key)


class FakeRead:
    """What a reader has of a range: some records, and perhaps an error behind them."""

    def __init__(
        self, range_: Range, batches: Sequence[pa.RecordBatch], error: Exception | None = None, unexplained: int = 0
    ) -> None:
        self.range = range_
        self.unexplained = unexplained
        self._batches, self._error = batches, error

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches
        if self._error is not None:
            raise self._error


class FakeReader:
    """Every offset of a range is a record, but for silent ones at its end; batches of seven, in an order of its own."""

    def __init__(self) -> None:
        self.errors: dict[int, Exception] = {}
        """By start of the range; raised after its first batch."""
        self.silent: dict[int, int] = {}
        """By start of the range: how many offsets at its end are not explained."""
        self.broken: Exception | None = None
        self.requests: list[list[ReadRequest]] = []

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[Any]:
        self.requests.append(list(requests))
        for request in reversed(requests):
            if self.broken is not None:
                raise self.broken
            silent = self.silent.get(request.range.start, 0)
            offsets = range(request.range.start, request.range.end - silent)
            batches = [records(offsets[index : index + 7]) for index in range(0, len(offsets), 7)]
            error = self.errors.get(request.range.start)
            yield FakeRead(request.range, batches[:1] if error else batches, error, silent)
