"""Writes ranges in this process as a worker does, without Kafka and S3, and prints the most memory that each took.

``python -m tests.unit.pipeline.ranges_in_a_process SPEC RECORDS RANGES RECORDS_OF_A_RANGE``. SPEC is a file of JSON;
RECORDS is a file of Arrow's, whose batches are repeated for as long as a range is. They are in memory before it begins,
so they are not in the figures. Uploads have the store's threads and limits, and requests that take their time.
"""

import gc
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from logpersister.compiled.topic import CompiledTopic
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.spec import Spec
from logpersister.pipeline import daemon
from logpersister.pipeline.reader import ReadRequest
from logpersister.pipeline.room import Room
from logpersister.pipeline.task import Task, TaskResources
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.object_requests import ObjectRequest, Requests, SentPart, StoredObject
from logpersister.storage.parts import PartBody
from logpersister.storage.store import ObjectStore

_PARTITION: Final = TopicPartition("events", 0)
_SECONDS_A_PART: Final = 2.0
"""Longer than it takes to fill one, so that as many are on their way as may be."""
_RESET_PEAK: Final = "5"
"""What ``/proc/PID/clear_refs`` takes for that (proc(5))."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a range has taken."""

    growth: int
    """Bytes: the most memory of the process, above what it had before the first range."""
    passes: int
    objects: int
    largest: int
    """Bytes of the largest object."""


class Repeated:
    """A reader of ranges that have the same batches again and again."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = batches
        self.passes = 0

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[Any]:
        self.passes += 1
        for request in requests:
            yield _Read(request.range, self._batches)


class _Read:
    unexplained = 0

    def __init__(self, of: Range, batches: Sequence[pa.RecordBatch]) -> None:
        self.range, self._batches = of, batches

    def batches(self) -> Iterator[pa.RecordBatch]:
        offset = self.range.start
        for batch in cycle(self._batches):
            some = batch.slice(0, self.range.end - offset)
            if not some.num_rows:
                return
            offsets = pa.array(range(offset, offset + some.num_rows), pa.int64())
            yield some.set_column(0, "offset", offsets)
            offset += some.num_rows


class _Discarding(Requests):
    """Takes objects as S3 does, and keeps nothing of them."""

    def put(self, request: ObjectRequest, body: PartBody, facts: Mapping[str, str]) -> StoredObject:
        return StoredObject(request.key, len(body))

    def create(self, request: ObjectRequest) -> tuple[str, bool]:
        return "upload", False

    def send(self, key: str, upload: str, number: int, body: PartBody) -> SentPart:
        time.sleep(_SECONDS_A_PART)
        return SentPart(number, "tag", None)

    def complete(self, request: ObjectRequest, upload: str, parts: Sequence[SentPart], size: int) -> StoredObject:
        return StoredObject(request.key, size)


def store_of(spec: StorageSpec) -> ObjectStore:
    store = ObjectStore(spec, None)
    store._requests = _Discarding(store._connection)
    return store


def write(spec: Spec, batches: Sequence[pa.RecordBatch], ranges: int, records: int) -> Iterator[Taken]:
    """Write so many ranges, one after the other."""
    reader, store, topic = Repeated(batches), store_of(spec.storage), CompiledTopic(spec, lambda _: None)
    resources = TaskResources(
        reader,
        topic,
        lambda work, path: store.writer(f"{path}/{work.range.start}", {"group": "g"}, content_type="any"),
        Room.of(spec.storage.part_size, topic.formats.held_back),
    )
    gc.collect()
    at_rest = _memory("VmRSS")
    for number in range(ranges):
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
        reader.passes, start = 0, number * records
        work = RangeWork(Range(_PARTITION, start, start + records), None, 1, 0, start)
        (outcome,) = Task([work], resources).outcomes()
        assert outcome.error is None, outcome.error
        sizes = [one.bytes for one in outcome.objects]
        yield Taken(_memory("VmHWM") - at_rest, reader.passes, len(sizes), max(sizes))


def _memory(name: str) -> int:
    """Return a figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) << 10


def main() -> None:
    file, records, *counts = sys.argv[1:]
    daemon._keep_memory()
    with pa.ipc.open_file(pa.py_buffer(Path(records).read_bytes())) as opened:
        batches = [opened.get_batch(number) for number in range(opened.num_record_batches)]
    spec = Spec.model_validate_json(Path(file).read_text())
    json.dump([asdict(one) for one in write(spec, batches, *map(int, counts))], sys.stdout)


if __name__ == "__main__":
    main()
