"""Columns of files, shared by all formats with columns, and how records become them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, cast

import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import ObjectIdentity
from logpersister.formats.binary import without_nulls
from logpersister.ranges import TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.records.schema import FIELD, HEADERS, REASON, ROW
from logpersister.values.reading.columns import UTC

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
_ALWAYS_IN_QUARANTINE: Final = ("topic", "partition", "offset", "timestamp", "key")

Column = Callable[[pa.RecordBatch], "Sequence[pa.Array[Any]]"]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the files of one kind: of rows, of raw values, or of quarantine."""

    schema: pa.Schema
    """All columns: those of the value, then Kafka's own."""
    kafka: tuple[str, ...]
    values: Column
    """Gives the former."""
    keeps_tombstones: bool
    """Whether a record with a null value is a row, or left out."""

    @classmethod
    def of(
        cls, of_value: "Iterable[pa.Field[Any]]", kafka: Sequence[str], values: Column, *, keeps_tombstones: bool
    ) -> Self:
        """Take the fields of the value and how they are got, and names of Kafka's own fields."""
        schema = pa.schema([*of_value, *(KAFKA_FIELDS[name] for name in kafka)])
        return cls(schema, tuple(kafka), values, keeps_tombstones)

    @property
    def has_rows(self) -> bool:
        """Whether values have become columns."""
        return self.values is _of_rows

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return those of some records that become rows."""
        return batch if self.keeps_tombstones else without_nulls(batch, "skip")

    def rows(self, batch: pa.RecordBatch, identity: ObjectIdentity) -> pa.RecordBatch:
        """Return records that were `kept` as rows of the file."""
        kafka = (_kafka_column(batch, name, identity.range.partition) for name in self.kafka)
        return pa.RecordBatch.from_arrays([*self.values(batch), *kafka], schema=self.schema)


def columns_of(path: str, schema: pa.Schema | None, kafka: Sequence[str], *, keeps_tombstones: bool) -> Columns:
    """Return the columns of the files of a partition path; `schema`: of rows, None for values as they are."""
    if path == QUARANTINE:
        return quarantine_columns(kafka, keeps_tombstones=keeps_tombstones)
    if schema is None:
        return Columns.of([_RAW], kafka, lambda batch: [batch.column(VALUE)], keeps_tombstones=keeps_tombstones)
    fields = [field.with_nullable(keeps_tombstones or field.nullable) for field in schema]
    return Columns.of(fields, kafka, _of_rows, keeps_tombstones=keeps_tombstones)


def quarantine_columns(kafka: Sequence[str], *, nullable: bool = False, keeps_tombstones: bool) -> Columns:
    """Return the columns of refused records: all by which they can be found and put right; `nullable`: the value."""
    chosen = (*_ALWAYS_IN_QUARANTINE, *(name for name in kafka if name not in _ALWAYS_IN_QUARANTINE))
    value, *others = _REFUSED
    fields = [value.with_nullable(nullable), *others]
    return Columns.of(fields, chosen, _of_refused, keeps_tombstones=keeps_tombstones)


def _of_rows(batch: pa.RecordBatch) -> "Sequence[pa.Array[Any]]":
    return cast("pa.StructArray", batch.column(ROW)).flatten()


def _of_refused(batch: pa.RecordBatch) -> "Sequence[pa.Array[Any]]":
    return [batch.column(name) for name in (VALUE, REASON, FIELD)]


def _kafka_column(batch: pa.RecordBatch, name: str, partition: TopicPartition) -> "pa.Array[Any]":
    match name:
        case "topic":
            return pa.repeat(pa.scalar(partition.topic), batch.num_rows)
        case "partition":
            return pa.repeat(pa.scalar(partition.partition, pa.int32()), batch.num_rows)
        case "timestamp":
            milliseconds = binary.integers(batch, name)
            timestamps: pa.Array[Any] = pa.array(milliseconds, KAFKA_FIELDS[name].type, mask=milliseconds == -1)
            return timestamps  # -1: the record has none
        case _:
            return batch.column(name)
