"""``make bench ARGS=peers``: JSON from Kafka into Parquet with zstd, by LogPersister, Spark SQL and Flink SQL.

All are hot, have two cores and the same broker, and take turns. LogPersister stores into the S3 server, exactly once,
and its CPU seconds are those of all its processes; Spark SQL and Flink SQL run a batch query into a folder of the local
disk, without checkpoints. Start-up, and a warm-up topic of the same records, are left out.
"""

import argparse
import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
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
from bench.peer import columns
from bench.processes import watched
from bench.servers import Payload, Servers, fill, servers
from bench.spread import Spread
from bench.throughput import OUTPUTS, PARSERS, PARTITIONS, WIDTH
from tests.stack.artifacts import flink_classpath, java

FLINK_SOURCE = Path(columns.__file__).with_name("FlinkSql.java")
FLINK_HEAP = "-Xmx2g"
_OPENED = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time", "nio")]
"""What Flink's own scripts open for its serializers."""


def spark_sql(brokers: str, folder: Path) -> list[str]:
    """Return the command of `bench.peer.spark_sql`."""
    return [sys.executable, "-m", "bench.peer.spark_sql", brokers, str(folder)]


def flink_sql(brokers: str, folder: Path) -> list[str]:
    """Return the command of ``FlinkSql.java``."""
    source = [str(FLINK_SOURCE), brokers, str(folder), columns.FLINK]
    return [java(), FLINK_HEAP, *_OPENED, "-cp", flink_classpath(), *source]


PEERS: Mapping[str, Callable[[str, Path], list[str]]] = {"Spark SQL": spark_sql, "Flink SQL": flink_sql}


@dataclass(frozen=True, slots=True)
class Case:
    """A program and a payload, and the MB of JSON per CPU second of each round."""

    program: str
    payload: Payload
    results: list[float] = field(default_factory=list)


def measure(running: Servers, case: Case, number: int, megabytes: int) -> float:
    """Return MB of JSON per CPU second."""
    if case.program in PEERS:
        return _measure_peer(running, case, megabytes)
    spec: dict[str, Any] = {"output": dict(OUTPUTS["parquet"]), **PARSERS["schema"], "upload": {"maxBytes": "64Mi"}}
    return child.measure(running, f"r{number}-{case.payload.topic}", case.payload, spec).megabytes_per_cpu_second


def _measure_peer(running: Servers, case: Case, megabytes: int) -> float:
    payload, folder = case.payload, running.folder / "peer"
    folder.mkdir()
    command = PEERS[case.program](running.kafka.bootstrap, folder)
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
        rows = pc.count(stored.to_table(["id"]).column("id")).as_py()  # values that are there
    finally:
        process.stdin.close()
        process.wait(60)
        shutil.rmtree(folder)
    wanted = megabytes * 10**6 // payload.record_bytes
    if rows != wanted:
        raise RuntimeError(f"{case.program} stored {rows:,} rows of {wanted:,}; see what it printed above")
    return wanted * payload.record_bytes / usage.cpu_seconds / 1e6


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
    own = {case.payload: Spread.of(case.results).median for case in cases if case.program not in PEERS}
    shown = Table(title="JSON into Parquet zstd: MB of JSON per CPU second; median (least-most)", box=MARKDOWN)
    for column in ("program", "record", "MB/CPU s", "LogPersister does"):
        shown.add_column(column, no_wrap=True)
    for case in cases:
        spread = Spread.of(case.results)
        ratio = f"{own[case.payload] / spread.median:.1f} times as much" if case.program in PEERS else ""
        shown.add_row(case.program, f"{case.payload.record_bytes:,} B", spread.text(1), ratio)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench peers", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 1000], help="of events, bytes")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each program")
    parser.add_argument("--megabytes", type=int, default=400, help="JSON of one measurement")
    parser.add_argument("--warm-up", type=int, default=100, help="megabytes before it that are not measured")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    payloads = [Payload("event", size) for size in options.sizes]
    cases = [Case(program, payload) for payload in payloads for program in ("LogPersister", *PEERS)]
    with servers() as running:
        for payload in payloads:
            fill(running, child.warm_up_topic(payload), payload, options.warm_up, partitions=PARTITIONS)
            fill(running, payload.topic, payload, options.megabytes, partitions=PARTITIONS)
        for number, case in itertools.product(range(options.rounds), cases):
            case.results.append(measure(running, case, number, options.megabytes))
            print(
                f"{case.program}, {case.payload.record_bytes} B: {case.results[-1]:.1f} MB per CPU second", flush=True
            )
    Console(width=WIDTH).print(table(cases))
