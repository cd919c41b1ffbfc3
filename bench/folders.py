"""``make bench ARGS=folders``: what many folders in one range cost, alone: CPU of split, rows, format and facts.

JSON events that fall into so many folders at random. Each case runs in a process of its own (`bench.one_range`).
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.events import SCHEMA, event
from bench.one_range import Cost, in_rounds, print_cost, write
from bench.spread import Spread
from logpersister.manifest.spec import Spec
from logpersister.records.schema import RECORDS_WITH_HEADERS

BATCH_ROWS = 2500
WIDTH = 100


def spec_of(folders: int, output: str = "parquet", **storage: Any) -> dict[str, Any]:
    """Return a spec that stores events in so many folders."""
    levels = [{"bucket": {"field": "user", "count": folders}}] if folders > 1 else []
    return {
        "kafka": {"bootstrapServers": "none:9092", "topics": ["events"]},
        "storage": {"bucket": "none", **storage},
        "parser": {"type": "json"},
        "schema": dict(SCHEMA),
        "output": {"format": output, "partitionBy": levels},
    }


def batches(record_bytes: int, megabytes: int) -> Iterator[pa.RecordBatch]:
    """Yield events; the same in every run."""
    chance = random.Random(record_bytes)
    for first in range(0, megabytes * 10**6 // record_bytes, BATCH_ROWS):
        values = [event(chance, record_bytes).encode() for _ in range(BATCH_ROWS)]
        rows = [
            {"offset": first + number, "timestamp": 1_795_237_200_000, "value": value, "headers": []}
            for number, value in enumerate(values)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table; with ``--case`` one case as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench folders", description=__doc__)
    parser.add_argument("--folders", type=int, nargs="+", default=[1, 10, 100, 1000, 10_000])
    parser.add_argument("--output", default="parquet", choices=("parquet", "jsonl", "avro"))
    parser.add_argument("--record-bytes", type=int, default=400)
    parser.add_argument("--megabytes", type=int, default=64, help="values of the range")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each case")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case is not None:
        spec = Spec.model_validate(spec_of(options.case, options.output))
        print_cost(write(spec, list(batches(options.record_bytes, options.megabytes))))
        return
    print(machine.describe(), flush=True)
    same = ["--output", options.output]
    same += ["--record-bytes", str(options.record_bytes), "--megabytes", str(options.megabytes)]
    results = in_rounds("folders", options.folders, same, options.rounds)
    Console(width=WIDTH).print(table(results, options.megabytes))


def table(results: Mapping[int, Sequence[Cost]], megabytes: int) -> Table:
    """Return the median (least-most) of each case."""
    shown = Table(title="one range; median (least-most)", box=MARKDOWN)
    for column in ("folders", "objects", "passes", "CPU s per 100 MB", "memory MiB", "stored"):
        shown.add_column(column, no_wrap=True)
    for folders, found in results.items():
        first, cpu = found[0], [one.cpu * 100 / megabytes for one in found]
        counts = (f"{folders:,}", f"{first.objects:,}", str(first.passes))
        memory = Spread.of([float(one.memory) for one in found]).text()
        shown.add_row(*counts, Spread.of(cpu).text(2), memory, f"{first.stored / megabytes / 1e6:.0%}")
    return shown
