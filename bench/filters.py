"""``make bench ARGS=filters``: what conditions on records cost and save, alone: CPU of rows, Parquet and facts.

JSON events of one range. Each case runs in a process of its own (`bench.one_range`).
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.events import COUNTRIES, SCHEMA
from bench.folders import batches
from bench.one_range import Cost, in_rounds, print_cost, write
from bench.spread import Spread
from logpersister.manifest.spec import Spec

WIDTH = 100
_ALL: Final[Sequence[Mapping[str, Any]]] = (
    {"field": "geo.country", "in": list(COUNTRIES)},
    {"field": "amount", "atLeast": 0, "below": 1000},
    {"field": "at", "atLeast": "2026-11-21T00:00:00Z"},
    {"field": "user", "matches": "^[0-9a-f]{32}$"},
)
CASES: Final[Sequence[tuple[str, Sequence[Mapping[str, Any]]]]] = (
    ("no conditions", ()),
    ("in, of 4 texts: all kept", _ALL[:1]),
    ("matches: all kept", _ALL[3:]),
    ("four conditions: all kept", _ALL),
    ("in: half kept", ({"field": "geo.country", "in": ["DE", "FR"]},)),
    ("below: 1 in 100 kept", ({"field": "amount", "below": 10},)),
)


def spec_of(keep: Sequence[Mapping[str, Any]]) -> Spec:
    """Return a spec that stores events as Parquet."""
    return Spec.model_validate(
        {
            "kafka": {"bootstrapServers": "none:9092", "topics": ["events"]},
            "storage": {"bucket": "none"},
            "parser": {"type": "json"},
            "schema": dict(SCHEMA),
            "output": {"format": "parquet"},
            "keep": [dict(one) for one in keep],
        }
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table; with ``--case`` one case as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench filters", description=__doc__)
    parser.add_argument("--record-bytes", type=int, default=400)
    parser.add_argument("--megabytes", type=int, default=128, help="values of the range")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each case")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case is not None:
        print_cost(write(spec_of(CASES[options.case][1]), list(batches(options.record_bytes, options.megabytes))))
        return
    print(machine.describe(), flush=True)
    same = ["--record-bytes", str(options.record_bytes), "--megabytes", str(options.megabytes)]
    results = in_rounds("filters", range(len(CASES)), same, options.rounds)
    Console(width=WIDTH).print(table(results, options.megabytes, options.record_bytes))


def table(results: Mapping[int, Sequence[Cost]], megabytes: int, record_bytes: int) -> Table:
    """Return the median (least-most) of each case."""
    shown = Table(title="one range; median (least-most)", box=MARKDOWN)
    for column in ("conditions", "CPU s per 100 MB", "ns per record", "memory MiB"):
        shown.add_column(column, no_wrap=True)
    records = megabytes * 10**6 // record_bytes
    for case, found in results.items():
        cpu = Spread.of([one.cpu * 100 / megabytes for one in found]).text(2)
        each = Spread.of([one.cpu * 1e9 / records for one in found]).text()
        memory = Spread.of([float(one.memory) for one in found]).text()
        shown.add_row(CASES[case][0], cpu, each, memory)
    return shown
