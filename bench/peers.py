"""``make bench ARGS=peers``: events from Kafka into files, by LogPersister, and beside it by Spark SQL and Flink SQL.

JSON events that are checked and stored as text; JSON events, and Avro events with a schema registry, into Parquet with
zstd, typed. MB are those of the events as JSON. All are hot, have two cores and the same broker, and take turns.
LogPersister stores into the S3 server, exactly once, and its CPU seconds are those of all its processes; Spark SQL and
Flink SQL run a batch query into a folder of the local disk, without checkpoints. All three write row groups of 128 MiB
with one level of zstd. Start-up, and a warm-up topic of such events, are left out.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow.compute as pc
import pyarrow.dataset as ds
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import child, machine
from bench.events import AVRO, SCHEMA, WRITER_ID
from bench.peer import columns
from bench.processes import watched
from bench.servers import Payload, Servers, fill, servers
from bench.spread import Spread
from bench.throughput import PARTITIONS, WIDTH
from logpersister.formats.parquet.write import ZSTD_LEVEL
from tests.stack.artifacts import flink_classpath, java
from tests.stack.registry import SchemaRegistry

FLINK_SOURCE = Path(columns.__file__).with_name("FlinkSql.java")
FLINK_JVM = ("-Xmx2g", "-XX:+UseParallelGC")
_OPENED = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time", "nio")]
"""What Flink's own scripts open for its serializers."""
_PARQUET: Mapping[str, Any] = {"parquet": {"compression": "zstd", "rowGroupBytes": "128Mi"}}
OWN = "LogPersister"
KINDS = {"text": "event", "json": "event", "avro": "avro"}
"""What is measured, and the content of its topics: JSON as text, JSON as Parquet, Avro as Parquet."""


def spark_sql(brokers: str, folder: Path, kind: str, _registry: str) -> list[str]:
    """Return the command of `bench.peer.spark_sql`."""
    return [sys.executable, "-m", "bench.peer.spark_sql", brokers, str(folder), kind, str(ZSTD_LEVEL)]


def flink_sql(brokers: str, folder: Path, kind: str, registry: str) -> list[str]:
    """Return the command of ``FlinkSql.java``."""
    options = {
        "json": {"json.timestamp-format.standard": "ISO-8601", "json.ignore-parse-errors": "true"},
        "avro-confluent": {"avro-confluent.url": registry, "avro-confluent.schema": json.dumps(AVRO)},
    }
    name = "avro-confluent" if kind == "avro" else "json"
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in {"format": name, **options[name]}.items())
    table = columns.FLINK_AVRO if kind == "avro" else columns.FLINK
    source = [str(FLINK_SOURCE), brokers, str(folder), table, shown, str(ZSTD_LEVEL)]
    return [java(), *FLINK_JVM, *_OPENED, "-cp", flink_classpath(), *source]


PEERS: Mapping[str, Callable[[str, Path, str, str], list[str]]] = {"Spark SQL": spark_sql, "Flink SQL": flink_sql}


@dataclass(frozen=True, slots=True)
class Case:
    """A program, what it stores, and the MB of JSON per CPU second of each round, and bytes stored by bytes of JSON."""

    program: str
    kind: str
    payload: Payload
    results: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def add(self, cpu_seconds: float, stored: int, megabytes: int) -> None:
        """Add a round."""
        size = megabytes * 10**6 // self.payload.record_bytes * self.payload.record_bytes
        self.results.append(size / cpu_seconds / 1e6)
        self.ratios.append(stored / size)


def measure(running: Servers, case: Case, number: int, megabytes: int, registry: str) -> None:
    """Add a round to a case."""
    if case.program in PEERS:
        case.add(*_measure_peer(running, case, megabytes, registry), megabytes)
        return
    specs: Mapping[str, Mapping[str, Any]] = {
        "text": {"output": {"text": {"compression": "none"}}, "value": {"json": {}}},
        "json": {"output": _PARQUET, "value": {"json": SCHEMA}},
        "avro": {"output": _PARQUET, "value": {"avro": {**SCHEMA, "registry": {"url": registry}}}},
    }
    found = child.measure(running, f"r{number}-{case.kind}-{case.payload.topic}", case.payload, dict(specs[case.kind]))
    _check_rows(case, found.records, megabytes)
    case.add(found.usage.cpu_seconds, found.stored_bytes, megabytes)


def _measure_peer(running: Servers, case: Case, megabytes: int, registry: str) -> tuple[float, int]:
    """Return CPU seconds, and bytes stored."""
    payload, folder = case.payload, running.folder / "peer"
    folder.mkdir()
    command = PEERS[case.program](running.kafka.bootstrap, folder, case.kind, registry)
    with (running.folder / "peer.log").open("wb") as errors:
        process = psutil.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, bufsize=1
        )
    try:
        _await(process, "ready")
        _store(process, child.warm_up_topic(payload))
        with watched(process.pid) as usage:
            _store(process, payload.topic)
        stored = ds.dataset(folder / payload.topic, format="parquet", exclude_invalid_files=True)
        _check_rows(case, pc.count(stored.to_table(["id"]).column("id")).as_py(), megabytes)  # values that are there
        size = sum(Path(file).stat().st_size for file in stored.files)
    finally:
        process.stdin.close()
        process.wait(60)
        shutil.rmtree(folder)
    return usage.cpu_seconds, size


def _check_rows(case: Case, rows: int, megabytes: int) -> None:
    wanted = megabytes * 10**6 // case.payload.record_bytes
    if rows != wanted:
        raise RuntimeError(f"{case.program} stored {rows:,} rows of {wanted:,}; see what it printed above")


def _store(process: psutil.Popen, topic: str) -> None:
    process.stdin.write(f"{topic}\n")
    _await(process, topic)


def _await(process: psutil.Popen, line: str) -> None:
    """Read what a peer prints until it is this line; a peer that ends before raises."""
    for printed in process.stdout:
        if printed.strip() == line:
            return
        print(printed, end="")
    raise RuntimeError(f"ended with {process.wait(60)} before it printed {line!r}")


def table(cases: Sequence[Case]) -> Table:
    """Return the median (least-most) of each case, and how many times as much as it LogPersister does."""
    own = {(case.kind, case.payload): Spread.of(case.results).median for case in cases if case.program == OWN}
    shown = Table(title=f"MB of JSON per CPU second, zstd level {ZSTD_LEVEL}; median (least-most)", box=MARKDOWN)
    for column in ("events", "stored as", "record", "program", "MB/CPU s", "stored", f"{OWN} does"):
        shown.add_column(column, no_wrap=True)
    for case in cases:
        spread, size = Spread.of(case.results), f"{case.payload.record_bytes:,} B"
        ratio = (
            ""
            if case.program == OWN or not own
            else f"{own[case.kind, case.payload] / spread.median:.1f} times as much"
        )
        kinds = ("Avro" if case.kind == "avro" else "JSON", "text" if case.kind == "text" else "Parquet")
        shown.add_row(*kinds, size, case.program, spread.text(1), f"{case.ratios[0]:.1%}", ratio)
    return shown


@contextmanager
def _registry(kinds: Sequence[str], folder: Path, topics: Sequence[str]) -> Iterator[str]:
    """Run a registry with the schema of the events where one is needed; yield its address."""
    if "avro" not in kinds:
        yield ""
        return
    with SchemaRegistry(folder / "registry") as registry:
        found = {registry.register(f"{topic}-value", AVRO) for topic in topics}
        if found != {WRITER_ID}:
            raise RuntimeError(f"the registry gives the schema the ids {found}, and values have {WRITER_ID}")
        yield registry.url


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench peers", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 1000], help="of events as JSON, bytes")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS), help="of what is measured")
    parser.add_argument("--programs", nargs="+", default=[OWN, *PEERS], choices=[OWN, *PEERS], help="that take turns")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each program")
    parser.add_argument("--megabytes", type=int, default=1000, help="JSON of one measurement")
    parser.add_argument("--warm-up", type=int, default=300, help="megabytes before it that are not measured")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    cases = [
        Case(program, kind, Payload(KINDS[kind], size))
        for kind, size, program in itertools.product(options.kinds, options.sizes, options.programs)
        if program == OWN or kind != "text"
    ]
    payloads = list(dict.fromkeys(case.payload for case in cases))
    with servers() as running:
        for payload in payloads:
            fill(running, child.warm_up_topic(payload), payload, options.warm_up, partitions=PARTITIONS)
            fill(running, payload.topic, payload, options.megabytes, partitions=PARTITIONS)
        topics = [topic for payload in payloads for topic in (payload.topic, child.warm_up_topic(payload))]
        with _registry(options.kinds, running.folder, topics) as registry:
            for number, case in itertools.product(range(options.rounds), cases):
                measure(running, case, number, options.megabytes, registry)
                what = f"{case.program}, {case.kind}, {case.payload.record_bytes} B"
                print(f"{what}: {case.results[-1]:.1f} MB per CPU second", flush=True)
    Console(width=WIDTH).print(table(cases))
