"""Writes one range in this process, from records to the bytes of objects; uploads go nowhere.

Passes over the range read records from memory, so what a further pass costs in Kafka is not in the figures. The most
memory includes the records, so cases of one range size compare.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass

import pyarrow as pa
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.spread import Spread
from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.base import Bytes
from logpersister.manifest.spec import Spec
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.task import gathered
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.object_requests import StoredObject

WIDTH = 120


@dataclass(frozen=True, slots=True)
class Cost:
    """What a range has taken."""

    records: int
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
    topic = CompiledTopic(spec, lambda _: None)
    layout, formats = topic.layout, topic.formats
    room = Room.of(spec.storage.part_size, formats.held_back)
    began, passes = time.process_time(), 1
    writer = RangeWriter(work, layout, formats, lambda _, path: Nowhere(path), room)
    while True:
        for batch in gathered(iter(records)):
            writer.write(batch)
        if not writer.end_pass():
            break
        passes += 1
    objects = writer.objects()
    cpu = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    number = sum(batch.num_rows for batch in records)
    return Cost(number, len(objects), passes, cpu, memory, sum(one.bytes for one in objects))


def compare(
    name: str,
    about: str | None,
    cases: Mapping[str, Spec],
    batches: Callable[[str, int, int], Iterator[pa.RecordBatch]],
    arguments: Sequence[str] | None = None,
) -> None:
    """Measure the cases of a bench and print the table; with ``--case`` print what one of them has taken, as JSON.

    Args:
        name: of the bench.
        about: what it measures.
        cases: specs by what they are called.
        batches: returns the records of a case, of so many bytes each, and so many megabytes.
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog=f"python -m bench {name}", description=about)
    parser.add_argument("--cases", nargs="+", default=list(cases), choices=list(cases))
    parser.add_argument("--record-bytes", type=int, default=400, help="of a value, unless the bench has its own")
    parser.add_argument("--megabytes", type=int, default=64, help="values of the range")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each case")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case is not None:
        records = list(batches(options.case, options.record_bytes, options.megabytes))
        print(json.dumps(asdict(write(cases[options.case], records))))
        return
    print(machine.describe(), flush=True)
    same = ["--record-bytes", str(options.record_bytes), "--megabytes", str(options.megabytes)]
    results: dict[str, list[Cost]] = {case: [] for case in options.cases}
    for _ in range(options.rounds):  # over all cases, as in `bench.throughput`
        for case, found in results.items():
            command = [sys.executable, "-m", "bench", name, "--case", case, *same]
            found.append(Cost(**json.loads(subprocess.check_output(command))))  # so that its memory is its own
    Console(width=WIDTH).print(_table(results, options.megabytes))


def _table(results: Mapping[str, Sequence[Cost]], megabytes: int) -> Table:
    shown = Table(title="one range; median (least-most)", box=MARKDOWN)
    for column in ("case", "objects", "passes", "CPU s per 100 MB", "ns per record", "memory MiB", "stored"):
        shown.add_column(column, no_wrap=True)
    for case, found in results.items():
        first = found[0]
        shown.add_row(
            case,
            f"{first.objects:,}",
            str(first.passes),
            Spread.of(one.cpu * 100 / megabytes for one in found).text(2),
            Spread.of(one.cpu * 1e9 / one.records for one in found).text(),
            Spread.of(float(one.memory) for one in found).text(),
            f"{first.stored / megabytes / 1e6:.0%}",
        )
    return shown
