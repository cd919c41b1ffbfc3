"""``make bench ARGS=types``: what many types in one range cost, alone: CPU of split, rows, Parquet and facts.

A stream as Garmadon's: protobuf in frames, some types frequent and most sparse, days out of order. Each case runs in a
process of its own (`bench.one_range`).
"""

import argparse
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.one_range import Cost, in_rounds, print_cost, write
from bench.spread import Spread
from logpersister.manifest.spec import Spec
from logpersister.records.schema import RECORDS_WITH_HEADERS

DAY = 86_400_000
FIRST_DAY = 20_000
FIRST_TYPE = 1000
BATCH_ROWS = 2500
WIDTH = 100
PROTO = """message Event {{
  optional int64 id = 1; optional string user = 2; optional string path = 3;
  optional double value = 4; optional string note_{0} = 5;
}}"""
"""Each type has a schema of its own, as in life."""
FRAME = {"type": {"at": 0}, "timestamp": {"at": 4, "bytes": 8}, "header": {"lengthAt": 12}, "body": {"lengthAt": 16}}
HEADER = b"\x0a\x0bapplication\x12\x08attempt1"


def spec_of(types: int) -> Spec:
    """Return a spec that stores each type as Parquet by day."""
    entries = [
        {
            "names": [str(FIRST_TYPE + number)],
            "folder": f"event_{number}",
            "parser": {"type": "protobuf", "framing": "plain"},
            "schema": {"protobuf": PROTO.format(number)},
        }
        for number in range(types)
    ]
    return Spec.model_validate(
        {
            "kafka": {"bootstrapServers": "none:9092", "topics": ["events"]},
            "storage": {"bucket": "none"},
            "output": {"format": "parquet", "partitionBy": [{"date": {"granularity": "day"}}]},
            "types": {"frame": FRAME, "entries": entries},
        }
    )


def batches(types: int, days: int, megabytes: int) -> Iterator[pa.RecordBatch]:
    """Yield records; the same in every run. The first types are frequent, the last ones sparse."""
    chance = random.Random(types)
    offset = size = 0
    while size < megabytes * 10**6:
        rows: list[Mapping[str, Any]] = []
        for _ in range(BATCH_ROWS):
            type_ = FIRST_TYPE + int(types * chance.random() ** 2)
            milliseconds = (FIRST_DAY + chance.randrange(days)) * DAY + chance.randrange(DAY)
            body = _body(chance, offset)
            value = struct.pack(">iqii", type_, milliseconds, len(HEADER), len(body)) + HEADER + body
            rows.append({"offset": offset, "timestamp": milliseconds, "value": value, "headers": []})
            offset, size = offset + 1, size + len(value)
        yield pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)


def _body(chance: random.Random, number: int) -> bytes:
    user, path = b"user%d" % chance.randrange(5000), b"/data/table_%d/part-%05d" % divmod(chance.randrange(10**6), 4000)
    texts = {2: user, 3: path, 5: chance.randbytes(90).hex().encode()}
    fields = [bytes([field << 3 | 2, *_varint(len(text))]) + text for field, text in texts.items()]
    return bytes([8, *_varint(number)]) + b"".join(fields) + b"\x21" + struct.pack("<d", chance.random())


def _varint(number: int) -> bytes:
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table; with ``--case`` one case as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench types", description=__doc__)
    parser.add_argument("--types", type=int, default=200, help="how many, compared with one")
    parser.add_argument("--days", type=int, default=3, help="how many days their records are of")
    parser.add_argument("--megabytes", type=int, default=128, help="values of the range")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each case")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case is not None:
        print_cost(write(spec_of(options.case), list(batches(options.case, options.days, options.megabytes))))
        return
    print(machine.describe(), flush=True)
    sizes = ["--days", str(options.days), "--megabytes", str(options.megabytes)]
    results = in_rounds("types", (1, options.types), sizes, options.rounds)
    Console(width=WIDTH).print(table(results, options.days, options.megabytes))


def table(results: Mapping[int, Sequence[Cost]], days: int, megabytes: int) -> Table:
    """Return the median (least-most) of each case."""
    shown = Table(title="one range; median (least-most)", box=MARKDOWN)
    for column in ("types", "days", "objects", "passes", "CPU s per 100 MB", "memory MiB"):
        shown.add_column(column, no_wrap=True)
    for types, found in results.items():
        first, cpu = found[0], [one.cpu * 100 / megabytes for one in found]
        counts = (str(types), str(days), str(first.objects), str(first.passes))
        shown.add_row(*counts, Spread.of(cpu).text(2), Spread.of([float(one.memory) for one in found]).text())
    return shown
