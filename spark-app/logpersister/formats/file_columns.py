"""Which columns files of rows have, the same in all formats that have columns, and how records become them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import ObjectIdentity
from logpersister.records.columns import UTC
from logpersister.records.escaping import QUARANTINE
from logpersister.records.schema import FIELD, HEADERS, REASON, ROW

KAFKA_FIELDS: "Final[Mapping[str, pa.Field[Any]]]" = {
    "topic": pa.field("kafka_topic", pa.string(), nullable=False),
    "partition": pa.field("kafka_partition", pa.int32(), nullable=False),
    "offset": pa.field("kafka_offset", pa.int64(), nullable=False),
    "timestamp": pa.field("kafka_timestamp", pa.timestamp("ms", UTC)),
    "key": pa.field("kafka_key", pa.binary()),
    "headers": pa.field("kafka_headers", HEADERS, nullable=False),
}
"""The column of each of Kafka's own fields."""
VALUE: Final = "value"
_RAW: "Final[pa.Field[Any]]" = pa.field(VALUE, pa.binary())
_REFUSED: "Final[list[pa.Field[Any]]]" = [
    pa.field(VALUE, pa.binary(), nullable=False),
    pa.field(REASON, pa.string(), nullable=False),
    pa.field(FIELD, pa.string()),
]
_CONSTANTS: Final = ("topic", "partition")
"""The same in all rows of an object, so that they are made only when a row group is written."""
_ALWAYS_IN_QUARANTINE: Final = ("topic", "partition", "offset", "timestamp", "key")

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)
Column = Callable[[pa.RecordBatch], "Sequence[pa.Array[Any]]"]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the files of one kind: of rows, of raw values, or of quarantine."""

    of_value: pa.Schema
    kafka: tuple[str, ...]
    values: Column
    """Gives the columns of `of_value`."""

    @property
    def schema(self) -> pa.Schema:
        """All columns of a file."""
        return pa.schema([*self.of_value, *(KAFKA_FIELDS[name] for name in self.kafka)])

    def waiting(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what has to be kept of records until they are written."""
        kept = [name for name in self.kafka if name not in _CONSTANTS]
        arrays = [*self.values(batch), *(_kafka_column(batch, name) for name in kept)]
        fields = [*self.of_value, *(KAFKA_FIELDS[name] for name in kept)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def written(self, group: Rows, identity: ObjectIdentity) -> Rows:
        """Return what was kept of records, for example of a row group, with all columns of the file."""
        partition = identity.range.partition
        constants: Mapping[str, Any] = {
            "topic": partition.topic,
            "partition": pa.scalar(partition.partition, pa.int32()),
        }
        schema = self.schema
        for place, name in enumerate(self.kafka, len(self.of_value)):
            if name in _CONSTANTS:
                group = group.add_column(place, schema.field(place), pa.repeat(constants[name], group.num_rows))
        return group


def columns_of(path: str, schema: pa.Schema | None, kafka: Sequence[str], *, keeps_tombstones: bool) -> Columns:
    """Return the columns of the files of a partition path; `schema`: of rows, None for values as they are."""
    if path == QUARANTINE:
        return quarantine_columns(kafka)
    if schema is None:
        return raw_columns(kafka)
    return row_columns(schema, kafka, nullable=keeps_tombstones)


def row_columns(schema: pa.Schema, kafka: Sequence[str], *, nullable: bool) -> Columns:
    """Return the columns of rows of a schema; `nullable`: also those that it requires, because of tombstones."""
    fields = [field.with_nullable(nullable or field.nullable) for field in schema]

    def values(batch: pa.RecordBatch) -> "Sequence[pa.Array[Any]]":
        return cast("pa.StructArray", batch.column(ROW)).flatten()

    return Columns(pa.schema(fields), tuple(kafka), values)


def raw_columns(kafka: Sequence[str]) -> Columns:
    """Return the columns of values as they are."""
    return Columns(pa.schema([_RAW]), tuple(kafka), lambda batch: [batch.column(VALUE)])


def quarantine_columns(kafka: Sequence[str], *, nullable: bool = False) -> Columns:
    """Return the columns of refused records: all by which they can be found and put right; `nullable`: the value."""
    chosen = (*_ALWAYS_IN_QUARANTINE, *(name for name in kafka if name not in _ALWAYS_IN_QUARANTINE))
    value, *others = _REFUSED
    return Columns(
        pa.schema([value.with_nullable(nullable), *others]),
        chosen,
        lambda batch: [batch.column(name) for name in (VALUE, REASON, FIELD)],
    )


def _kafka_column(batch: pa.RecordBatch, name: str) -> "pa.Array[Any]":
    if name != "timestamp":
        return batch.column(name)
    milliseconds = binary.integers(batch, name)
    timestamps: pa.Array[Any] = pa.array(milliseconds, KAFKA_FIELDS[name].type, mask=milliseconds == -1)
    return timestamps  # -1: the record has none
