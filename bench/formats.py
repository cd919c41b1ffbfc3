"""``make bench ARGS=formats``: what formats cost, alone: MB of values per CPU second, from records to bytes.

Values are JSON events. Cases with a schema have its parser in them; the others take values as they are. Avro and
protobuf values are the same events, and counted as their JSON, and so are those of MessagePack; lines of text have no
lists and maps, but as many bytes.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.events import (
    AVRO,
    CSV_LINE,
    FLAT,
    LOG_LINE,
    PATTERN,
    PROTOBUF,
    SCHEMA,
    avro_event,
    event,
    line_of,
    messagepack_event,
    protobuf_event,
)
from bench.spread import Spread
from logpersister.formats.base import ObjectIdentity
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Range, TopicPartition
from logpersister.records.schema import HEADERS, RECORDS_WITH_HEADERS
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.values.reading.writers import WriterSchema
from logpersister.values.value import ValueSpec

BATCH_BYTES = 4 << 20
WIDTH = 100
VALUES, CHECKED, ROWS = "values", "checked JSON", "rows"
AVRO_ROWS, MESSAGEPACK_ROWS = "Avro rows", "MessagePack rows"
PROTOBUF_ROWS, CSV_ROWS, PATTERN_ROWS = "protobuf rows", "CSV rows", "rows by a pattern"
REGISTRY = {"registry": {"url": "http://none:8081"}}
KINDS: Mapping[str, Mapping[str, Any]] = {
    VALUES: {"bytes": {}},
    CHECKED: {"json": {}},
    ROWS: {"json": SCHEMA},
    AVRO_ROWS: {"avro": {**SCHEMA, **REGISTRY}},
    MESSAGEPACK_ROWS: {"messagepack": SCHEMA},
    PROTOBUF_ROWS: {"protobuf": {**SCHEMA, **REGISTRY}},
    CSV_ROWS: {"csv": FLAT},
    PATTERN_ROWS: {"regex": {**FLAT, "pattern": PATTERN}},
}
WRITTEN: Mapping[str, Callable[[str], bytes]] = {
    AVRO_ROWS: avro_event,
    PROTOBUF_ROWS: protobuf_event,
    MESSAGEPACK_ROWS: messagepack_event,
    CSV_ROWS: lambda text: line_of(text, CSV_LINE),
    PATTERN_ROWS: lambda text: line_of(text, LOG_LINE),
}
"""How an event is written where it is not JSON."""
SORTED_BY = [{"field": "geo.city"}, {"field": "user"}, {"field": "at", "order": "descending"}]
OUTPUTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "text, none": (VALUES, {"text": {"compression": "none"}}),
    "text, none, of JSON that is checked": (CHECKED, {"text": {"compression": "none"}}),
    "text, gzip": (VALUES, {"text": {"compression": "gzip"}}),
    "text, zstd": (VALUES, {"text": {"compression": "zstd"}}),
    "sequencefile messagepack, block": (VALUES, {"sequencefile": {"key": "messagepack"}}),
    "parquet zstd, `value` only": (VALUES, {"parquet": {}}),
    "parquet zstd, rows": (ROWS, {"parquet": {}}),
    "parquet zstd, sorted rows": (ROWS, {"parquet": {"sortBy": SORTED_BY}}),
    "parquet zstd, rows of Avro": (AVRO_ROWS, {"parquet": {}}),
    "parquet zstd, rows of protobuf": (PROTOBUF_ROWS, {"parquet": {}}),
    "parquet zstd, rows of MessagePack": (MESSAGEPACK_ROWS, {"parquet": {}}),
    "parquet zstd, rows of CSV": (CSV_ROWS, {"parquet": {}}),
    "parquet zstd, rows by a pattern": (PATTERN_ROWS, {"parquet": {}}),
    "parquet snappy, rows": (ROWS, {"parquet": {"compression": "snappy"}}),
    "orc zstd, `value` only": (VALUES, {"orc": {}}),
    "orc zstd, rows": (ROWS, {"orc": {}}),
    "orc snappy, rows": (ROWS, {"orc": {"compression": "snappy"}}),
    "orc zlib, rows": (ROWS, {"orc": {"compression": "zlib"}}),
    "avro deflate, `value` only": (VALUES, {"avro": {}}),
    "avro none, rows": (ROWS, {"avro": {"compression": "none"}}),
    "avro deflate, rows": (ROWS, {"avro": {}}),
    "avro zstd, rows": (ROWS, {"avro": {"compression": "zstd"}}),
    "avro snappy, rows": (ROWS, {"avro": {"compression": "snappy"}}),
    "jsonl, none, envelope": (VALUES, {"jsonl": {"compression": "none"}}),
    "jsonl, gzip, envelope": (VALUES, {"jsonl": {}}),
    "jsonl, none, rows": (ROWS, {"jsonl": {"compression": "none"}}),
    "jsonl, gzip, rows": (ROWS, {"jsonl": {}}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A format and a size, the MB per CPU second of each round, and bytes of objects by bytes of values."""

    output: str
    size: int
    results: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)


def sample(size: int, megabytes: int) -> list[pa.RecordBatch]:
    """Return batches of events, none of which comes twice; the same in every run."""
    chance = random.Random(size)
    rows = BATCH_BYTES // size
    return [_batch(chance, size, place * rows, rows) for place in range(max(1, megabytes * 10**6 // (rows * size)))]


def _batch(chance: random.Random, size: int, first: int, rows: int) -> pa.RecordBatch:
    columns: list[pa.Array[Any]] = [
        pa.array(np.arange(first, first + rows)),
        pa.array(np.full(rows, 1_795_237_200_000)),
        pa.array([b"%012d" % number for number in range(first, first + rows)], pa.binary()),
        pa.array([event(chance, size).encode() for _ in range(rows)], pa.binary()),
        pa.array([[] for _ in range(rows)], HEADERS),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS_WITH_HEADERS)


def rewritten(events: pa.RecordBatch, write: Callable[[str], bytes]) -> pa.RecordBatch:
    """Return the same events as another serializer writes them."""
    values = [write(one.decode()) for one in events.column("value").to_pylist() if one is not None]
    return events.set_column(events.schema.get_field_index("value"), "value", pa.array(values, pa.binary()))


class Registered:
    """The schema registry of these events, without a registry."""

    def __init__(self, kind: str) -> None:
        self._text = PROTOBUF if kind == PROTOBUF_ROWS else json.dumps(AVRO)

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        return {one: WriterSchema(self._text) for one in ids}

    def ids(self, guids: Iterable[int]) -> Mapping[int, int]:
        return dict.fromkeys(guids, 1)

    def of_subject(self, _: str) -> "Registered":
        return self


def measure(case: Case, batches: Sequence[pa.RecordBatch]) -> None:
    """Write one object of these batches; note MB of values per CPU second of this process."""
    kind, document = OUTPUTS[case.output]
    output = OutputSpec.model_validate(document)
    value = ValueSpec.model_validate(KINDS[kind])
    parser, schema = value.parser, value.row_schema
    layout = TopicLayout.of_one_type(layout_of(output, parser, schema, Registered(kind)))
    encoder = make_format(output, parser, schema).encoder(ObjectIdentity(Range(TopicPartition("t", 0), 0, 1), ""))
    payload = sum(batch.num_rows for batch in batches) * case.size
    written = 0
    began = time.process_time()
    for batch in batches:
        for _path, rows in by_path(batch, layout):
            written += sum(memoryview(piece).nbytes for piece in encoder.encode(rows))
    written += sum(memoryview(piece).nbytes for piece in encoder.finish())
    case.results.append(payload / (time.process_time() - began) / 1e6)
    case.ratios.append(written / payload)


def table(cases: Sequence[Case]) -> Table:
    """Return the median (least-most) of each case."""
    shown = Table(title="formats: MB of values per CPU second; median (least-most)", box=MARKDOWN)
    for column in ("format", "value", "MB/CPU s", "bytes"):
        shown.add_column(column, no_wrap=True)
    for case in cases:
        shown.add_row(case.output, f"{case.size:,} B", Spread.of(case.results).text(), f"{case.ratios[0]:.0%}")
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench formats", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 1000], help="of values, bytes")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each configuration")
    parser.add_argument("--megabytes", type=int, default=100, help="values of one measurement")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    cases = [Case(output, size) for output in OUTPUTS for size in options.sizes]
    samples: dict[tuple[int, str], list[pa.RecordBatch]] = {}
    for size in options.sizes:
        events = sample(size, options.megabytes)
        samples |= {(size, kind): events for kind in (VALUES, CHECKED, ROWS)}
        samples |= {(size, kind): [rewritten(one, write) for one in events] for kind, write in WRITTEN.items()}
    for _ in range(options.rounds):
        for case in cases:
            measure(case, samples[case.size, OUTPUTS[case.output][0]])
    Console(width=WIDTH).print(table(cases))
