"""``logpersister try``: what would become of the last records of a topic. Writes nothing anywhere."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, TextIO, cast

import pyarrow as pa
import pyarrow.compute as pc

from logpersister.cli import context, registry, sampling
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.head import line
from logpersister.cli.judging import Judgement, infer, rows_of
from logpersister.cli.rows import ShownRecord, as_text, readable
from logpersister.cli.sampling import Sample
from logpersister.cli.tables import cut, printable, table
from logpersister.compiled.formats import formats_of
from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.base import Encoder, ObjectIdentity
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.blocks.keep import Condition
from logpersister.manifest.blocks.output import FORMATS, OutputSpec
from logpersister.manifest.rules.format_limits import format_findings
from logpersister.manifest.spec import Spec
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.records.schema import ROW
from logpersister.records.type_names import TypeNames
from logpersister.report.human import instant, number, plural, size
from logpersister.values.reading.adjusted import Adjusted, Kind
from logpersister.values.reading.columns import row_columns
from logpersister.values.row_schema import RowSchema

MOST_FOLDERS: Final = 20
MOST_KINDS: Final = 20
WIDEST_CELL: Final = 30
WIDEST_CONDITION: Final = 80

FolderRows = tuple[TopicPartition, str, pa.RecordBatch]
"""Records of one partition and one folder, as encoders take them."""


def run(arguments: argparse.Namespace) -> int:
    """Read a sample, do with it what members do, and show what comes out."""
    resource, secrets = context.begin(arguments)
    sample = sampling.take(arguments, resource, secrets)
    with registry.all_opened(secrets) as registries, registry.resources(resource, secrets) as resource_of:
        of_topic = resource_of(sample.topic)
        topic = CompiledTopic(of_topic.spec, registry.writers_of(of_topic, registries))
        trial = Trial(topic, sample, arguments.type)
        trial.show(arguments.rows, sys.stdout)
    return Exit.OK


class Trial:
    """A sample, and what the manifest makes of it."""

    def __init__(self, topic: CompiledTopic, sample: Sample, type_name: str | None) -> None:
        """Take the sample apart; `type_name`: whose rows are shown, where types have columns of their own."""
        spec = topic.spec
        self._adjusted: Counter[Kind] = Counter()
        self._parts = _parts(sample, topic, lambda one: self._adjusted.update(one.counts()))
        self._judgement = Judgement()
        for partition, path, rows in self._parts:
            if path == QUARANTINE:
                self._judgement.add(partition, rows)
        self._sample = sample
        self._shown = self._parts
        if spec.types is not None and type_name is not None:
            self._shown, spec = _of_type(self._parts, spec, spec.types, type_name)
        self._spec, self._output, self._parser, self._schema = spec, spec.output, spec.parser, spec.row_schema
        self._left_out = _left_out(
            topic.spec,
            type_name,
            lambda one: sum(rows.num_rows for _, _, rows in _parts(sample, replace(topic, spec=one))),
        )

    def show(self, rows: int, out: TextIO) -> None:
        """Write the sample, what is refused or adjusted of it, the first rows, folders, and sizes by format."""
        times = self._sample.times
        span = f", {' to '.join(_instant(one) for one in times)}" if times is not None else ""
        out.write(f"topic {printable(self._sample.topic)}: {self._sample}{span}\n")
        self._show_left_out(out)
        self._show_refused(out)
        self._show_adjusted(out)
        self._show_lines(out)
        if self._spec.types is not None:
            self._show_types(self._spec, self._spec.types, out)
            return
        if rows and self._schema.has_columns:
            self._show_columns(self._schema, rows, out)
        elif rows and not self._show_inferred(rows, out):
            self._show_values(rows, out)
        self._show_folders(out)
        self._show_sizes(out)

    def _show_left_out(self, out: TextIO) -> None:
        if not self._left_out:
            return
        total = sum(count for _, count in self._left_out)
        out.write(f"\nleft out by conditions: {number(total)} of {plural(self._sample.records, 'record')}\n")
        cells = [[cut(printable(str(one)), WIDEST_CONDITION), number(count)] for one, count in self._left_out]
        table(("CONDITION", ">RECORDS"), cells, out)

    def _show_refused(self, out: TextIO) -> None:
        if not self._judgement.refused:
            return
        out.write(f"\nquarantine: {self._judgement.said_of(self._sample)}\n")
        cells = [
            [reason, path or "-", number(count), self._judgement.first[reason, path]]
            for (reason, path), count in self._judgement.refused.most_common()
        ]
        table(("REASON", "FIELD", ">RECORDS", "FIRST, PARTITION:OFFSET"), cells, out)

    def _show_adjusted(self, out: TextIO) -> None:
        if not self._adjusted:
            return
        values = self._adjusted.total()
        out.write(f"\nadjusted: {plural(values, 'value')}\n")
        found = self._adjusted.most_common(MOST_KINDS)
        cells = [[reason, field or "-", number(count)] for (reason, field), count in found]
        table(("REASON", "FIELD", ">VALUES"), cells, out)

    def _show_lines(self, out: TextIO) -> None:
        """Show how many values are in no file for want of a value, and how many are several lines of text."""
        values = pa.chunked_array([rows.column("value") for _, _, rows in self._shown], pa.binary())
        if values.null_count and self._output.tombstones == "skip":
            out.write(f"\nwithout a value, in no file: {plural(values.null_count, 'record')} (tombstones: skip)\n")
        text = self._output.text
        if text is None or text.delimiter_in_value == "escape":
            return
        counts = pc.count_substring(values, text.delimiter).drop_null().to_numpy()
        having, delimiters = int((counts > 0).sum()), int(counts.sum())
        if having:
            stored = len(values) - values.null_count
            out.write(
                f"\ndelimiter {text.delimiter!r} in {plural(having, 'value')}: readers see "
                f"{stored + delimiters:,} lines for {plural(stored, 'record')}; set "
                "spec.output.text.delimiterInValue to escape, or another delimiter\n"
            )

    def _show_types(self, spec: Spec, types: TypesSpec, out: TextIO) -> None:
        records: Counter[str] = Counter()
        for _, path, rows in self._parts:
            records[path.split("/")[0]] += rows.num_rows
        stored = {folder: count for folder, count in records.most_common() if folder != QUARANTINE}
        sizes = self._sizes(formats_of(spec).encoder)
        names, specs = TypeNames(types), spec.of_types()
        cells = []
        for folder, count in [*stored.items()][:MOST_FOLDERS]:
            rule = names.rule_at(folder)
            assert rule is not None
            cells.append([folder, number(count), str(specs[rule].output.format), size(sizes[folder])])
        if cells:
            out.write("\n")
            table(("TYPE", ">RECORDS", "FORMAT", ">BYTES"), cells, out)
        if len(stored) > MOST_FOLDERS:
            out.write(f"and {len(stored) - MOST_FOLDERS:,} more types\n")
        if left_out := self._sample.records - records.total() - sum(count for _, count in self._left_out):
            out.write(f"left out, as their entries say: {plural(left_out, 'record')}\n")
        if stored:
            out.write("rows, folders and sizes of one type: add --type NAME\n")

    def _show_columns(self, schema: RowSchema, rows: int, out: TextIO) -> None:
        out.write("\n")
        typed = (batch.column(ROW).drop_null() for _, _, batch in self._shown if ROW in batch.schema.names)
        found = [pa.RecordBatch.from_struct_array(cast("pa.StructArray", one)) for one in typed]
        self._show_rows(schema, found, rows, out)

    def _show_inferred(self, rows: int, out: TextIO) -> bool:
        """Show the columns that values suggest which are JSON objects, at least half of them; return whether it did."""
        found = infer(self._sample)
        if found.schema is None or 2 * found.no_objects.refused.total() > self._sample.records:
            return False
        out.write("\ninferred columns; without fields, which logpersister schema infer prints, there are none:\n")
        self._show_rows(found.schema, rows_of(self._sample, found.schema), rows, out)
        return True

    def _show_rows(self, schema: RowSchema, found: Sequence[pa.RecordBatch], rows: int, out: TextIO) -> None:
        whole = pa.Table.from_batches(list(found) or [pa.RecordBatch.from_pylist([], row_columns(schema))])
        shown = min(rows, whole.num_rows)
        cells = []
        for field, column in zip(schema.columns, whole.columns, strict=True):
            first = readable(field.name, column.slice(0, shown).combine_chunks())
            cells.append([field.name, cut(str(field.type), WIDEST_CELL), number(column.null_count), *map(_cell, first)])
        table(["COLUMN", "TYPE", ">NULLS", *(f"ROW {one + 1}" for one in range(shown))], cells, out)

    def _show_values(self, rows: int, out: TextIO) -> None:
        out.write("\n")
        first = (
            ShownRecord(row["value"] or b"", row["offset"], row["timestamp"], row["key"])
            for _, _, batch in self._shown
            for row in batch.slice(0, rows).to_pylist()
        )
        out.writelines(line(record) + "\n" for _, record in zip(range(rows), first, strict=False))

    def _show_folders(self, out: TextIO) -> None:
        folders: Counter[str] = Counter()
        for _, path, rows in self._shown:
            folders[path] += rows.num_rows
        if folders.keys() <= {""}:
            return
        out.write("\n")
        cells = [[path or "-", number(count)] for path, count in folders.most_common(MOST_FOLDERS)]
        table(("FOLDER", ">RECORDS"), cells, out)
        if len(folders) > MOST_FOLDERS:
            out.write(f"and {len(folders) - MOST_FOLDERS:,} more folders\n")

    def _show_sizes(self, out: TextIO) -> None:
        out.write("\n")
        whole = max(1, self._sample.value_bytes)
        others = [OutputSpec.of(name) for name in FORMATS if name != self._output.format]
        cells = []
        for output in (self._output, *others):
            if output.format == "kafka":
                cells.append([output.format, "as in Kafka", "-", "-"])
                continue
            if any(format_findings(output.format, self._schema.columns)):
                cells.append([output.format, "cannot hold the columns", "-", "-"])
                continue
            found = sum(self._sizes(make_format(output, self._parser, self._schema).encoder).values())
            name = f"{output.format}, as in the manifest" if output is self._output else output.format
            cells.append([name, str(output.compression), size(found), f"{found / whole:.0%}"])
        table(("FORMAT", "COMPRESSION", ">BYTES", ">OF VALUES"), cells, out)

    def _sizes(self, encoder_of: Callable[[ObjectIdentity], Encoder]) -> Counter[str]:
        """Return the bytes of objects by their outermost folder, if each folder of a partition were one object."""
        encoders: dict[tuple[TopicPartition, str], Encoder] = {}
        found: Counter[str] = Counter()
        for partition, path, rows in self._shown:
            encoder = encoders.get((partition, path))
            if encoder is None:
                first = rows.column("offset")[0].as_py()
                identity = ObjectIdentity(Range(partition, first, first + 1), path)
                encoder = encoders[partition, path] = encoder_of(identity)
            found[path.split("/")[0]] += sum(memoryview(piece).nbytes for piece in encoder.encode(rows))
        for (_, path), encoder in encoders.items():
            found[path.split("/")[0]] += sum(memoryview(piece).nbytes for piece in encoder.finish())
        return found


def _parts(sample: Sample, topic: CompiledTopic, note: Callable[[Adjusted], None] = lambda _: None) -> list[FolderRows]:
    """Take a sample apart; `note` is told what the parser has adjusted."""
    batches = sample.batches
    return [(one, path, rows) for one, batch in batches for path, rows in by_path(batch, topic.layout, note)]


def _left_out(spec: Spec, type_name: str | None, stored: Callable[[Spec], int]) -> list[tuple[Condition, int]]:
    """Return the conditions of a topic, or of one of its types, and how many records each leaves out.

    A record that does not fulfil several of them counts at the first. `stored`: how many records a spec does not leave
    out; each condition asks once more.
    """
    types = spec.types
    if types is None or type_name is None:
        conditions = spec.keep
        fewer = [spec.model_copy(update={"keep": conditions[:count]}) for count in range(len(conditions) + 1)]
    else:
        rule = TypeNames(types).place(type_name.encode()).rule
        conditions = types.rules[rule].keep
        fewer = [
            spec.model_copy(update={"types": types.with_conditions(rule, conditions[:count])})
            for count in range(len(conditions) + 1)
        ]
    counts = map(stored, fewer if conditions else ())
    return [(one, before - after) for one, (before, after) in zip(conditions, pairwise(counts), strict=True)]


def _of_type(parts: list[FolderRows], spec: Spec, types: TypesSpec, name: str) -> tuple[list[FolderRows], Spec]:
    place = TypeNames(types).place(name.encode())
    if place.rule < 0:
        raise CommandError(f"--type {printable(name)}: spec.types does not store records of this type", Exit.INVALID)
    return [one for one in parts if one[1].split("/")[0] == place.segment], spec.of_types()[place.rule]


def _instant(milliseconds: int) -> str:
    try:
        return instant(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (ValueError, OverflowError):  # Kafka takes any number
        return f"{milliseconds} ms"


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    text = value if isinstance(value, str) else json.dumps(value, default=as_text, ensure_ascii=False)
    return cut(text, WIDEST_CELL)
