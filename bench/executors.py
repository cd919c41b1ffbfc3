"""``make bench ARGS=executors``: the same work with tasks in the member's own process, and on executors.

Executors are processes of this machine (Spark's ``local-cluster``): the member's JVM starts a JVM for each, which
forks Python workers, as in a pod. What pods add is left out: scheduling, pulling an image, a network between nodes.
Both modes have the same number of cores; memory is that of all processes of the member, executors included.
"""

import argparse
import os
from collections.abc import Sequence

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.servers import Payload, servers
from bench.spread import Spread
from bench.throughput import OUTPUTS, Case, run

WIDTH = 180
"""Columns of the table, also where output is not a terminal."""


def table(cases: Sequence[Case]) -> Table:
    """Return a line for each mode and output: median (least-most) of the rounds."""
    shown = Table(title="Tasks in the member, and on executors; median (least-most)", box=MARKDOWN)
    for column in ("tasks run", "output"):
        shown.add_column(column, no_wrap=True)
    for column in ("start, s", "start, CPU s", "MB/CPU s", "MB/s", "peak MB", "of it JVMs", "workers"):
        shown.add_column(column, justify="right", no_wrap=True)
    for case in cases:
        usages = [result.usage for result in case.results]
        shown.add_row(
            f"on {case.executors} executors" if case.executors else "in the member",
            case.output,
            Spread.of(result.start_seconds for result in case.results).text(1),
            Spread.of(sum(result.start_cpu.values()) for result in case.results).text(1),
            Spread.of(result.megabytes_per_cpu_second for result in case.results).text(),
            Spread.of(result.megabytes_per_second for result in case.results).text(),
            Spread.of(usage.peak_bytes / 1e6 for usage in usages).text(),
            *(
                Spread.of(usage.bytes_by_kind.get(kind, 0) / 1e6 for usage in usages).text()
                for kind in ("jvm", "workers")
            ),
        )
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both modes in turn and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench executors", description=__doc__)
    parser.add_argument("--executors", type=int, default=os.cpu_count() or 1, help="of one core each")
    parser.add_argument("--outputs", nargs="+", default=["text-gzip", "parquet"], choices=list(OUTPUTS))
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each configuration")
    parser.add_argument("--megabytes", type=int, default=500, help="payload of one measurement")
    parser.add_argument("--warm-up", type=int, default=100, help="megabytes before it that are not measured")
    options = parser.parse_args(arguments)
    payload = Payload("event", 1000)
    cases = [
        Case(payload, output, "schema" if output.startswith("parquet") else "bytes", executors)
        for output in options.outputs
        for executors in (0, options.executors)
    ]
    print(machine.describe(), flush=True)
    with servers() as running:
        for case in run(running, cases, rounds=options.rounds, megabytes=options.megabytes, warm_up=options.warm_up):
            print(f"{case.name}: {case.results[-1].megabytes_per_cpu_second:.0f} MB per CPU second", flush=True)
    Console(width=WIDTH).print(table(cases))
