"""``make bench ARGS=parsers``: what it costs to look at values, alone: MB of values per CPU second.

Where no value is bad it is the check and nothing else; where some are, rows are spread over two paths besides, which
copies the batch once. *rows* makes columns of values, which are mostly items of a list, or entries of a map.

To compare two builds of the decoder, unpack the wheel of the other one and run this with it as PYTHONPATH, in turn.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.spread import Spread
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.quarantine import layout_of
from logpersister.records.schema import RECORDS

BATCH_BYTES = 4 << 20
WORDS = ("user", "order", "item", "cache", "shard", "gr\u00fcn")
WIDTH = 100


def event(chance: random.Random, size: int) -> bytes:
    """Return a document of about this size that is mostly names, numbers and short texts."""
    document = {"id": chance.getrandbits(40), "at": 1_790_000_000 + round(chance.random(), 6), "ok": True}
    items: list[object] = []
    text = ""
    while len(text) < size - 20:
        text = json.dumps({**document, "items": items}, ensure_ascii=False, separators=(",", ":"))
        items.append({"name": chance.choice(WORDS), "price": round(chance.random() * 100, 2)} if size > SHORT else 17)
    return text.encode()


def message(chance: random.Random, size: int) -> bytes:
    """Return a document of about this size that is mostly one long text."""
    head = {"level": "info", "trace": f"{chance.getrandbits(64):016x}"}
    words: list[str] = []
    while sum(map(len, words)) < size - 70:
        words.append(f"{chance.choice(WORDS)}={chance.randrange(100_000)} ")
    return json.dumps({**head, "message": "".join(words)}, ensure_ascii=False).encode()


def counters(chance: random.Random, size: int) -> bytes:
    """Return a document of about this size that is mostly one map of short entries."""
    entries = {f"{chance.choice(WORDS)}{number}": chance.randrange(100) for number in range(max(1, size // 12))}
    return json.dumps({"id": chance.getrandbits(40), "counters": entries}, separators=(",", ":")).encode()


CONTENTS: Mapping[str, Callable[[random.Random, int], bytes]] = {
    "event": event,
    "message": message,
    "counters": counters,
}

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "event": {"id": "int64", "at": "float64", "ok": "bool", "items": "list<struct<name: string, price: float64>>"},
    "counters": {"id": "int64", "counters": "map<string, int16>"},
}
"""Columns of contents as rows."""
SHORT: Final = 150
"""Items of shorter events are numbers, which are no structs."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is looked at, and the MB per CPU second of each round."""

    content: str
    size: int
    bad: float
    """Share of the values that are cut off."""
    as_rows: bool = False
    results: list[float] = field(default_factory=list)


def sample(case: Case) -> pa.RecordBatch:
    """Return a batch of the case; the same in every run."""
    chance = random.Random(case.size)
    values = [CONTENTS[case.content](chance, case.size) for _ in range(BATCH_BYTES // case.size)]
    values = [value[:-1] if chance.random() < case.bad else value for value in values]
    rows = len(values)
    columns: list[pa.Array[Any]] = [
        pa.array(np.arange(rows)),
        pa.array(np.zeros(rows, np.int64)),
        pa.nulls(rows, pa.binary()),
        pa.array(values, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS)


def measure(case: Case, batch: pa.RecordBatch, megabytes: int) -> float:
    """Look at a batch until it is so much payload; return MB of values per CPU second of this process."""
    columns = COLUMNS[case.content].items() if case.as_rows else ()
    fields = [{"name": name, "type": of} for name, of in columns]
    layout = layout_of(
        OutputSpec(), ParserSpec(type="json"), SchemaSpec.model_validate({"fields": fields}) if fields else None
    )
    payload = sum(len(value) for value in batch.column("value").to_pylist() if value is not None)
    times = max(1, megabytes * 10**6 // payload)
    began = time.process_time()
    for _ in range(times):
        for _path, _rows in by_path(batch, layout):
            pass
    return payload * times / (time.process_time() - began) / 1e6


def table(cases: Sequence[Case]) -> Table:
    """Return the median (least-most) of each case."""
    shown = Table(title="parser json: MB of values per CPU second; median (least-most)", box=MARKDOWN)
    for column in ("content", "value", "bad", "as", "MB/CPU s"):
        shown.add_column(column, no_wrap=True)
    for case in cases:
        bad = f"{case.bad:.0%}" if case.bad else "none"
        shown.add_row(
            case.content, f"{case.size:,} B", bad, "rows" if case.as_rows else "text", Spread.of(case.results).text()
        )
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench parsers", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000], help="of values, bytes")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each configuration")
    parser.add_argument("--megabytes", type=int, default=200, help="values of one measurement")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    cases = [Case(content, size, bad) for content in CONTENTS for size in options.sizes for bad in (0.0, 0.01)]
    cases += [Case(content, size, 0.0, as_rows=True) for content in COLUMNS for size in options.sizes if size > SHORT]
    samples = [sample(case) for case in cases]
    for _ in range(options.rounds):
        for case, batch in zip(cases, samples, strict=True):
            case.results.append(measure(case, batch, options.megabytes))
    Console(width=WIDTH).print(table(cases))
