"""Judges a sample of records by a parser."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa

from logpersister.cli.sampling import Sample
from logpersister.pipeline.splitting import pieces
from logpersister.ranges import TopicPartition
from logpersister.records import inference
from logpersister.records.inference import InferredField
from logpersister.records.schema import FIELD, REASON
from logpersister.report.human import plural
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.columns import Portion
from logpersister.values.reading.parsers import Parser
from logpersister.values.row_schema import RowSchema
from logpersister.values.rows import rows_of as parser_of

Reason = tuple[str, str | None]
"""Reason in one word, and the field that it is about."""


@dataclass(slots=True)
class Judgement:
    """Refused records of a sample, by reason."""

    refused: Counter[Reason] = field(default_factory=Counter)
    first: dict[Reason, str] = field(default_factory=dict)
    """Partition and offset of the first record that was refused for a reason, as ``0:4711``."""

    def __str__(self) -> str:
        most = self.refused.most_common()
        return ", ".join(f"{count:,} {reason}" + (f" in {path}" if path else "") for (reason, path), count in most)

    def said_of(self, sample: Sample) -> str:
        """``12 of 10,000 values``."""
        return f"{self.refused.total():,} of {plural(sample.records, 'value')}"

    def add(self, partition: TopicPartition, refused: pa.RecordBatch) -> None:
        """Take in records on their way to quarantine."""
        columns = (refused.column(name).to_pylist() for name in (REASON, FIELD, "offset"))
        for word, path, offset in zip(*columns, strict=True):
            reason = word or "", path
            self.refused[reason] += 1
            self.first.setdefault(reason, f"{partition.partition}:{offset}")


def judge(sample: Sample, parser: Parser, portion: Portion | None = None) -> Judgement:
    """Return what the parser refuses; `portion`: how many records it gets at once, None: those of a batch."""
    judgement = Judgement()
    for partition, batch in sample.batches:
        for piece in pieces(batch, portion):
            refused = parser.parse(piece).refused
            if refused is not None:
                records = piece.take(refused.rows).append_column(REASON, refused.reasons)
                judgement.add(partition, records.append_column(FIELD, refused.fields))
    return judgement


def accepted(sample: Sample, parser: Parser) -> Iterator[bytes]:
    """Yield the values that the parser does not refuse, without tombstones."""
    for _, batch in sample.batches:
        refused = parser.parse(batch).refused
        good = np.ones(batch.num_rows, np.bool_)
        if refused is not None:
            good[refused.rows] = False
        values = batch.column("value").filter(pa.array(good, pa.bool_()))
        yield from (value for value in values.to_pylist() if value is not None)


JSON = Parsing(type="json")
_ANY_OBJECT = RowSchema(fields=(FieldSpec(name="any", type="json"),))


@dataclass(frozen=True, slots=True)
class Inferred:
    """Columns suggested by a sample."""

    fields: Sequence[InferredField]
    """Fields in the order of their first appearance, also those that cannot be columns."""
    no_objects: Judgement

    @property
    def schema(self) -> RowSchema | None:
        """The columns; None: no field can be one."""
        columns = tuple(FieldSpec(name=one.name, type=str(one.type)) for one in self.fields if one.problem is None)
        return RowSchema(fields=columns) if columns else None


def infer(sample: Sample) -> Inferred:
    """Return what the JSON objects of a sample suggest."""
    objects, seen = parser_of(JSON, _ANY_OBJECT), inference.Sample()
    for value in accepted(sample, objects):
        seen.add(value)
    return Inferred(seen.fields(), judge(sample, objects))


def rows_of(sample: Sample, schema: RowSchema) -> list[pa.RecordBatch]:
    """Return the rows that the values of a sample become by a schema, without those that are none."""
    parser, found = parser_of(JSON, schema), list[pa.RecordBatch]()
    for _, batch in sample.batches:
        rows: Any = parser.parse(batch).rows
        if rows is not None:
            found.append(pa.RecordBatch.from_struct_array(cast("pa.StructArray", rows.drop_null())))
    return found
