"""Writes one range in this process, from records to the bytes of objects; uploads go nowhere.

Passes over the range read records from memory, so what a further pass costs in Kafka is not in the figures. The most
memory includes the records, so cases of one range size compare.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass

import pyarrow as pa

from logpersister.formats.base import Bytes
from logpersister.formats.registry import format_of
from logpersister.manifest.spec import Spec
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.task import gathered
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Range, TopicPartition
from logpersister.records.typed import layout_for
from logpersister.storage.object_requests import StoredObject


@dataclass(frozen=True, slots=True)
class Cost:
    """What a range has taken."""

    objects: int
    passes: int
    cpu: float
    """Seconds."""
    memory: int
    """MiB, the most of the process."""
    stored: int
    """Bytes of all objects."""


class Nowhere:
    """An upload of bytes that are counted."""

    def __init__(self, key: str) -> None:
        self._key, self._size = key, 0

    def write(self, data: Bytes) -> None:
        self._size += memoryview(data).nbytes

    def finish_async(self, facts: Mapping[str, str]) -> Future[StoredObject]:  # noqa: ARG002 - as a store's
        done: Future[StoredObject] = Future()
        done.set_result(StoredObject(self._key, self._size))
        return done

    def abort(self) -> None:
        """Do nothing."""


def write(spec: Spec, records: Sequence[pa.RecordBatch]) -> Cost:
    """Write a range of these records, as a task does."""
    end = records[-1].column("offset")[-1].as_py() + 1
    work = RangeWork(Range(TopicPartition("events", 0), 0, end), None, 1, 0, 0)
    layout, file_format = layout_for(spec, lambda _: None), format_of(spec)
    room = Room.of(spec.storage.part_size, file_format.held_back)
    began, passes = time.process_time(), 1
    writer = RangeWriter(work, layout, file_format, lambda _, path: Nowhere(path), room)
    while True:
        for batch in gathered(iter(records)):
            writer.write(batch)
        if not writer.end_pass():
            break
        passes += 1
    objects = writer.objects()
    cpu = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return Cost(len(objects), passes, cpu, memory, sum(one.bytes for one in objects))


def print_cost(cost: Cost) -> None:
    """Print what `in_rounds` reads."""
    print(json.dumps(asdict(cost)))


def in_rounds(command: str, cases: Iterable[int], options: Sequence[str], rounds: int) -> dict[int, list[Cost]]:
    """Return the costs of each case; rounds go over all cases, as in `bench.throughput`."""
    results: dict[int, list[Cost]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case, found in results.items():
            found.append(_in_a_process(command, "--case", str(case), *options))
    return results


def _in_a_process(command: str, *options: str) -> Cost:
    """Return what ``python -m bench COMMAND OPTIONS`` prints by `print_cost`, so that its memory is its own."""
    return Cost(**json.loads(subprocess.check_output([sys.executable, "-m", "bench", command, *options])))
