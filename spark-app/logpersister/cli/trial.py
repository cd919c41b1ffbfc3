"""``logpersister try``: what would become of the last records of a topic. Writes nothing anywhere."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, TextIO, cast

import pyarrow as pa

from logpersister.cli import context, registry, sampling
from logpersister.cli.exits import Exit
from logpersister.cli.head import line
from logpersister.cli.judging import Judgement, judge
from logpersister.cli.rows import as_text, readable
from logpersister.cli.sampling import Sample
from logpersister.cli.shown_record import ShownRecord
from logpersister.cli.tables import Column, printable, table
from logpersister.formats.base import Encoder, Format, ObjectIdentity
from logpersister.formats.registry import RULES as FORMATS
from logpersister.formats.registry import make_format
from logpersister.manifest import LogPersister
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Range, TopicPartition
from logpersister.records.columns import most_rows, row_columns
from logpersister.records.quarantine import layout_of, make_parser
from logpersister.records.schema import ROW
from logpersister.records.writers import Writers
from logpersister.report import logs
from logpersister.report.human import instant, number, size

MOST_FOLDERS: Final = 20
WIDEST_CELL: Final = 30

Part = tuple[TopicPartition, str, pa.RecordBatch]
"""Records of one partition and one folder, as encoders take them."""


def run(arguments: argparse.Namespace) -> int:
    """Read a sample, do with it what members do, and show what comes out."""
    logs.configure(level="error")
    resource = context.manifest(arguments.file)
    secrets = context.secrets(arguments, logs.redactor)
    sample = sampling.take(arguments, resource, secrets)
    of_topic = resource.for_topic(sample.topic)
    with registry.opened(of_topic, secrets) as writers, registry.resources(resource, secrets) as resource_of:
        Trial(resource_of(sample.topic), sample, writers).show(arguments.rows, sys.stdout)
    return Exit.OK


class Trial:
    """A sample, and what the manifest makes of it."""

    def __init__(self, resource: LogPersister, sample: Sample, writers: Writers | None = None) -> None:
        spec = resource.spec
        self._output, self._parser, self._schema, self._sample = spec.output, spec.parser, spec.row_schema, sample
        parser = make_parser(spec.parser, spec.row_schema, writers)
        self._judgement = Judgement() if parser is None else judge(sample, parser)
        layout = layout_of(spec.output, spec.parser, spec.row_schema, writers)
        self._parts: list[Part] = [
            (partition, path, rows)
            for partition, batch in _pieces(sample, spec.row_schema)
            for path, rows in by_path(batch, layout.assign(batch))
        ]

    def show(self, rows: int, out: TextIO) -> None:
        """Write what was found: the sample, what is refused, the first rows, folders, and sizes by format."""
        times = self._sample.times
        span = f", {' to '.join(_instant(one) for one in times)}" if times is not None else ""
        out.write(f"topic {printable(self._sample.topic)}: {self._sample}{span}\n")
        self._show_refused(out)
        if rows and self._schema is not None:
            self._show_columns(self._schema, rows, out)
        elif rows:
            self._show_values(rows, out)
        self._show_folders(out)
        self._show_sizes(out)

    def _show_refused(self, out: TextIO) -> None:
        if not self._judgement.refused:
            return
        out.write(f"\nquarantine: {self._judgement.said_of(self._sample)}\n")
        columns = [Column("REASON"), Column("FIELD"), Column("RECORDS", right=True), Column("FIRST, PARTITION:OFFSET")]
        cells = [
            [reason, path or "-", number(count), self._judgement.first[reason, path]]
            for (reason, path), count in self._judgement.most()
        ]
        table(columns, cells, out)

    def _show_columns(self, schema: SchemaSpec, rows: int, out: TextIO) -> None:
        found = [_rows(batch) for _, _, batch in self._parts if ROW in batch.schema.names]
        whole = pa.Table.from_batches(found or [pa.RecordBatch.from_pylist([], row_columns(schema))])
        shown = min(rows, whole.num_rows)
        cells = []
        for field, column in zip(schema.columns, whole.columns, strict=True):
            first = readable(field.name, column.slice(0, shown).combine_chunks())
            cells.append([field.name, _cut(str(field.type)), number(column.null_count), *map(_cell, first)])
        header = [Column("COLUMN"), Column("TYPE"), Column("NULLS", right=True)]
        out.write("\n")
        table([*header, *(Column(f"ROW {one + 1}") for one in range(shown))], cells, out)

    def _show_values(self, rows: int, out: TextIO) -> None:
        out.write("\n")
        first = (
            ShownRecord(row["value"] or b"", row["offset"], row["timestamp"], row["key"])
            for _, batch in self._sample.batches
            for row in batch.slice(0, rows).to_pylist()
        )
        out.writelines(line(record) + "\n" for _, record in zip(range(rows), first, strict=False))

    def _show_folders(self, out: TextIO) -> None:
        folders: Counter[str] = Counter()
        for _, path, rows in self._parts:
            folders[path] += rows.num_rows
        if folders.keys() <= {""}:
            return
        out.write("\n")
        columns = [Column("FOLDER"), Column("RECORDS", right=True)]
        table(columns, [[path or "-", number(count)] for path, count in folders.most_common(MOST_FOLDERS)], out)
        if len(folders) > MOST_FOLDERS:
            out.write(f"and {len(folders) - MOST_FOLDERS:,} more folders\n")

    def _show_sizes(self, out: TextIO) -> None:
        out.write("\n")
        whole = max(1, self._sample.value_bytes)
        columns = [
            Column("FORMAT"),
            Column("COMPRESSION"),
            Column("BYTES", right=True),
            Column("OF VALUES", right=True),
        ]
        others = [OutputSpec(format=name) for name in FORMATS if name != self._output.format]
        cells = []
        for output in (self._output, *others):
            found = self._encoded(make_format(output, self._parser, self._schema))
            name = f"{output.format}, as in the manifest" if output is self._output else output.format
            cells.append([name, str(output.compression), size(found), f"{found / whole:.0%}"])
        table(columns, cells, out)

    def _encoded(self, file_format: Format) -> int:
        """Return the bytes of all objects, if each folder of a partition were one."""
        encoders: dict[tuple[TopicPartition, str], Encoder] = {}
        found = 0
        for partition, path, rows in self._parts:
            encoder = encoders.get((partition, path))
            if encoder is None:
                first = rows.column("offset")[0].as_py()
                identity = ObjectIdentity(Range(partition, first, first + 1), path)
                encoder = encoders[partition, path] = file_format.encoder(identity)
            found += sum(memoryview(piece).nbytes for piece in encoder.encode(rows))
        return found + sum(memoryview(piece).nbytes for one in encoders.values() for piece in one.finish())


def _pieces(sample: Sample, schema: SchemaSpec | None) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """Yield the batches, in pieces as small as members make them."""
    for partition, batch in sample.batches:
        rows = batch.num_rows if schema is None else most_rows(schema)
        for begin in range(0, batch.num_rows, rows):
            yield partition, batch.slice(begin, rows)


def _rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(cast("pa.StructArray", batch.column(ROW).drop_null()))


def _instant(milliseconds: int) -> str:
    try:
        return instant(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (ValueError, OverflowError):  # Kafka takes any number
        return f"{milliseconds} ms"


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    return _cut(value if isinstance(value, str) else json.dumps(value, default=as_text, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST_CELL else text[: WIDEST_CELL - 1] + "…"
