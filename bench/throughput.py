"""``make bench``: what a megabyte costs, hot, and what a start costs.

Each configuration runs several times, each time in a process of its own; rounds go over all configurations, so that a
noisy minute of the machine does not hit only one of them. Payload is keys and values as consumers see them. CPU is
that of member, JVM and Python workers together; broker and S3 server are shown apart.
"""

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import child, machine
from bench.events import SCHEMA
from bench.measure import Result
from bench.servers import Payload, Servers, fill, servers
from bench.spread import Spread

PARTITIONS = 4
WIDTH = 140
"""Columns of tables, also where output is not a terminal."""
OUTPUTS: Mapping[str, Mapping[str, Any]] = {
    "text": {"text": {"compression": "none"}},
    "text-gzip": {"text": {"compression": "gzip"}},
    "text-zstd": {"text": {"compression": "zstd"}},
    "sequencefile": {"sequencefile": {"compression": "none"}},
    "jsonl": {"jsonl": {"compression": "gzip"}},
    "parquet": {"parquet": {"compression": "zstd"}},
    "parquet-snappy": {"parquet": {"compression": "snappy"}},
    "kafka": {"kafka": {}},
}
PARSERS: Mapping[str, Mapping[str, Any]] = {
    "bytes": {"value": {"bytes": {}}},
    "json": {"value": {"json": {}}},
    "schema": {"value": {"json": SCHEMA}},
}
"""``schema`` makes rows of the content ``event``; all other content would be refused."""


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration and its results so far."""

    payload: Payload
    output: str
    parser: str
    executors: int = 0
    """Of one core each; 0: tasks run in the member, on all cores."""
    max_bytes: str = "64Mi"
    """Of objects."""
    results: list[Result] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.payload.topic}-{self.output}-{self.parser}-{self.executors}"


def run(running: Servers, cases: Sequence[Case], *, rounds: int, megabytes: int, warm_up: int) -> Iterator[Case]:
    """Measure all cases in rounds; yield each case after each of its measurements."""
    for payload in dict.fromkeys(case.payload for case in cases):
        fill(running, child.warm_up_topic(payload), payload, warm_up, partitions=PARTITIONS)
        fill(running, payload.topic, payload, megabytes, partitions=PARTITIONS)
    for number, case in itertools.product(range(rounds), cases):
        spec = {
            "output": dict(OUTPUTS[case.output]),
            **PARSERS[case.parser],
            "upload": {"maxBytes": case.max_bytes},
            "spark": {"executors": case.executors},
        }
        measured = child.measure(running, f"r{number}-{case.name}", case.payload, spec)
        if case.output == "kafka":  # what is in its batches is not counted
            measured = replace(measured, payload_bytes=measured.records * case.payload.record_bytes)
        case.results.append(measured)
        yield case


def per_megabyte(cases: Sequence[Case]) -> Table:
    """Return the table of marginal costs: median (least-most) of the rounds."""
    table = Table(title="Marginal: a hot member, MB of payload per CPU second; median (least-most)", box=MARKDOWN)
    for column in ("record", "topic", "output", "parser"):
        table.add_column(column, no_wrap=True)
    for column in ("MB/CPU s", "stored MB/CPU s", "MB/s", "broker CPU s/GB", "S3 CPU s/GB", "peak MB", "stored"):
        table.add_column(column, justify="right", no_wrap=True)
    for case in cases:
        results = case.results
        gigabytes = results[0].payload_bytes / 1e9
        table.add_row(
            f"{case.payload.record_bytes:,} B {case.payload.content}",
            case.payload.compression,
            case.output,
            case.parser,
            Spread.of(result.megabytes_per_cpu_second for result in results).text(),
            Spread.of(result.stored_bytes / result.usage.cpu_seconds / 1e6 for result in results).text(),
            Spread.of(result.megabytes_per_second for result in results).text(),
            *(
                Spread.of(result.usage.cpu_of_others[other] / gigabytes for result in results).text(1)
                for other in ("broker", "S3 server")
            ),
            Spread.of(result.usage.peak_bytes / 1e6 for result in results).text(),
            f"{results[0].stored_bytes / results[0].payload_bytes:.0%}",
        )
    return table


def per_start(results: Sequence[Result], warm_up: int) -> Table:
    """Return the table of fixed costs."""
    title = f"Fixed: a start until the group is joined, over all {len(results)} runs; median (least-most)"
    table = Table(title=title, box=MARKDOWN)
    for column in ("seconds", "CPU s", "member", "jvm", "workers", f"CPU s of the first {warm_up} MB, cold"):
        table.add_column(column, justify="right")
    table.add_row(
        Spread.of(result.start_seconds for result in results).text(1),
        Spread.of(sum(result.start_cpu.values()) for result in results).text(1),
        *(
            Spread.of(result.start_cpu.get(kind, 0.0) for result in results).text(1)
            for kind in ("member", "jvm", "workers")
        ),
        Spread.of(result.warm_up_cpu for result in results).text(1),
    )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all that was asked for and print tables."""
    parser = argparse.ArgumentParser(prog="python -m bench throughput", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000], help="record sizes, bytes")
    contents = ["letters", "log", "event"]
    parser.add_argument("--content", nargs="+", default=["letters"], choices=contents, help="of records")
    parser.add_argument("--topics", nargs="+", default=["none"], help="compression by the producer: none lz4 zstd …")
    parser.add_argument("--outputs", nargs="+", default=list(OUTPUTS), choices=list(OUTPUTS))
    parser.add_argument("--parsers", nargs="+", default=["bytes"], choices=list(PARSERS), help="of values")
    parser.add_argument("--max-bytes", default="64Mi", help="of objects (default: 64Mi)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each configuration")
    parser.add_argument("--megabytes", type=int, default=1000, help="payload of one measurement")
    parser.add_argument("--warm-up", type=int, default=100, help="megabytes before it that are not measured")
    options = parser.parse_args(arguments)
    cases = [
        Case(Payload(content, size, compression), output, checks, max_bytes=options.max_bytes)
        for content, size, compression, output, checks in itertools.product(
            options.content, options.sizes, options.topics, options.outputs, options.parsers
        )
    ]
    print(machine.describe(), flush=True)
    with servers() as running:
        rounds = run(running, cases, rounds=options.rounds, megabytes=options.megabytes, warm_up=options.warm_up)
        for case in rounds:
            print(f"{case.name}: {case.results[-1].megabytes_per_cpu_second:.0f} MB per CPU second", flush=True)
    console = Console(width=WIDTH)
    console.print(per_megabyte(cases))
    console.print(per_start([result for case in cases for result in case.results], options.warm_up))
