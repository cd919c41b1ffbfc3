"""Infers columns from a sample of JSON values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from logpersister.cli.judging import Judgement, accepted, judge
from logpersister.cli.sampling import Sample
from logpersister.records import inference
from logpersister.records.inference import InferredField
from logpersister.values.field import FieldSpec
from logpersister.values.json.rows import make_rows
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema

JSON = Parsing(type="json")
_ANY_OBJECT = RowSchema(fields=(FieldSpec(name="any", type="json"),))


@dataclass(frozen=True, slots=True)
class Inferred:
    """Columns suggested by a sample."""

    fields: Sequence[InferredField]
    """Fields in the order of their first appearance, also those that cannot be columns."""
    no_objects: Judgement
    """Values that are no JSON objects."""

    @property
    def schema(self) -> RowSchema | None:
        """The columns; None: no field can be one."""
        columns = tuple(FieldSpec(name=one.name, type=str(one.type)) for one in self.fields if one.problem is None)
        return RowSchema(fields=columns) if columns else None


def infer(sample: Sample) -> Inferred:
    """Return what the JSON objects of a sample suggest."""
    objects, seen = make_rows(JSON, _ANY_OBJECT), inference.Sample()
    for value in accepted(sample, objects):
        seen.add(value)
    return Inferred(seen.fields(), judge(sample, objects))


def rows_of(sample: Sample, schema: RowSchema) -> list[pa.RecordBatch]:
    """Return the rows that the values of a sample become by a schema, without those that are none."""
    parser, found = make_rows(JSON, schema), list[pa.RecordBatch]()
    for _, batch in sample.batches:
        rows: Any = parser.parse(batch).rows
        if rows is not None:
            found.append(pa.RecordBatch.from_struct_array(cast("pa.StructArray", rows.drop_null())))
    return found
