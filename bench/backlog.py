"""``make bench ARGS=backlog``: the memory of a member against the size of its backlog, for data of several shapes.

The same member works off backlogs of different sizes, each in a process of its own; shown is the largest memory of all
its processes together, and of each kind.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import child, machine
from bench.events import SCHEMA
from bench.measure import Result
from bench.servers import Payload, fill, servers

PARTITIONS = 4
_ROWS: Mapping[str, Any] = {"value": {"json": SCHEMA}}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the records are, and how they are stored."""

    payload: Payload
    spec: Mapping[str, Any]
    partitions: int = PARTITIONS


SHAPES: Mapping[str, Shape] = {
    "letters": Shape(
        Payload("letters", 1000),
        {"output": {"text": {"compression": "gzip"}}, "upload": {"maxBytes": "256Mi"}},
    ),
    "folders": Shape(
        Payload("event", 400),
        {
            **_ROWS,
            "output": {"parquet": {}, "partitionBy": [{"bucket": {"field": "user", "count": 10_000}}]},
            "upload": {"maxBytes": "128Mi"},
        },
    ),
    "large-rows": Shape(
        Payload("nested", 1_000_000),
        {**_ROWS, "output": {"parquet": {}}, "upload": {"maxBytes": "256Mi"}},
    ),
    "large-files": Shape(
        Payload("event", 1000),
        {**_ROWS, "output": {"parquet": {}}, "upload": {"maxBytes": "256Mi"}},
        partitions=2,
    ),
}
"""``letters``: lines in large files. ``folders``: events into 10,000 folders. ``large-rows``: events of 1 MB, nearly
all of it a list of structs. ``large-files``: events in Parquet files of 256 MiB, of four times as much JSON."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each shape and size and print a line."""
    parser = argparse.ArgumentParser(prog="python -m bench backlog", description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=["letters"], choices=list(SHAPES), help="of the data")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1000, 10_000])
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    for name in options.shapes:
        for megabytes in options.megabytes:
            print(line(name, megabytes, _measured(SHAPES[name], name, megabytes)), flush=True)


def _measured(shape: Shape, name: str, megabytes: int) -> Result:
    with servers() as running:  # new ones for each: the disk need not hold all of them
        fill(running, child.warm_up_topic(shape.payload), shape.payload, 100, partitions=shape.partitions)
        fill(running, shape.payload.topic, shape.payload, megabytes, partitions=shape.partitions)
        return child.measure(running, f"{name}-{megabytes}", shape.payload, dict(shape.spec))


def line(name: str, megabytes: int, result: Result) -> str:
    """Return what is told of a measurement."""
    kinds = ", ".join(f"{kind} {size / 1e6:.0f}" for kind, size in sorted(result.usage.bytes_by_kind.items()))
    return (
        f"{name} {megabytes:6,} MB: at most {result.usage.peak_bytes / 1e6:.0f} MB ({kinds}), "
        f"{result.objects:,} objects, {result.megabytes_per_cpu_second:.0f} MB per CPU second"
    )
