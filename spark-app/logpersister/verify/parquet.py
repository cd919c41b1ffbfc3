"""What a Parquet file holds, as items that can be compared with records; docs/formats.md says what it should."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.manifest.output import ParquetSpec
from logpersister.ranges import Offset, TopicPartition
from logpersister.records.columns import map_of
from logpersister.verify.rows import RefusalError, RowOracle
from logpersister.verify.streams import ContentError

BATCH_ROWS: Final = 1024
IN_MEMORY_BYTES: Final = 4 << 20
"""A larger object is put in a temporary file: what is at its end says where everything else is."""
_QUARANTINE_KAFKA: Final = ("topic", "partition", "offset", "timestamp", "key")
_REASON_AND_FIELD: Final = ("reason", "field")

Item = tuple[Any, ...]
"""Columns of the value, then those of Kafka's own fields."""


def plain(array: "pa.Array[Any]") -> "pa.Array[Any]":
    """Return an array with integers in place of dates, times and timestamps, at every depth."""
    return array.cast(plain_type(array.type))


def plain_type(type_: Any) -> pa.DataType:
    """Return a type with integers in place of dates, times and timestamps."""
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_):
        return pa.int64()
    if pa.types.is_time32(type_) or pa.types.is_date32(type_):
        return pa.int32()
    if pa.types.is_struct(type_):
        return pa.struct([_plain_field(field) for field in type_])
    if pa.types.is_map(type_):
        return map_of(type_.key_field, _plain_field(type_.item_field))
    if pa.types.is_list(type_):
        return pa.list_(_plain_field(type_.value_field))
    found: pa.DataType = type_
    return found


def _plain_field(field: "pa.Field[Any]") -> "pa.Field[Any]":
    return pa.field(field.name, plain_type(field.type))  # nothing is required: it is read, not judged


@dataclass(frozen=True)
class ParquetContent:
    """Rows of an object, as tuples of what its columns hold; reasons of quarantine are for people, and not compared."""

    partition: TopicPartition
    in_quarantine: bool
    settings: ParquetSpec
    oracle: RowOracle | None
    """Makes rows of values; None: they are stored as they are, as in quarantine."""
    may_split_values: bool = False

    @property
    def skips_tombstones(self) -> bool:
        return self.settings.tombstones == "skip"

    @property
    def _of_value(self) -> tuple[str, ...]:
        if self.oracle is not None:
            return tuple(field.name for field in self.oracle.schema.fields)
        return ("value",)

    @property
    def _of_kafka(self) -> tuple[str, ...]:
        chosen = self.settings.kafka_columns
        if not self.in_quarantine:
            return chosen
        return (*_QUARANTINE_KAFKA, *(name for name in chosen if name not in _QUARANTINE_KAFKA))

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[Item]]:
        kafka = [f"kafka_{name}" for name in self._of_kafka]
        told = _REASON_AND_FIELD if self.in_quarantine else ()
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
            for piece in pieces:
                file.write(piece)
            for batch in _batches(cast("IO[bytes]", file), [*self._of_value, *told, *kafka]):
                columns = [plain(batch.column(name)).to_pylist() for name in (*self._of_value, *kafka)]
                yield list(zip(*columns, strict=True))

    def expectation(self) -> Callable[[pa.RecordBatch], list[Item]]:
        def expected(batch: pa.RecordBatch) -> list[Item]:
            value = batch.column("value")
            kept = batch.filter(value.is_valid()) if value.null_count and self.skips_tombstones else batch
            values = [self._columns_of(one) for one in kept.column("value").to_pylist()]
            others = [self._kafka_column(kept, name) for name in self._of_kafka]
            return [(*one, *more) for one, *more in zip(values, *others, strict=True)]

        return expected

    def values(self, items: Sequence[Item]) -> list[bytes] | None:
        return None if self.oracle is not None else [item[0] or b"" for item in items]

    def offsets(self, items: Sequence[Item]) -> list[Offset] | None:
        if "offset" not in self._of_kafka:
            return None
        place = len(self._of_value) + self._of_kafka.index("offset")
        return [item[place] for item in items]

    def _columns_of(self, value: bytes | None) -> Item:
        if self.oracle is None:
            return (value,)
        try:
            return (None,) * len(self._of_value) if value is None else tuple(self.oracle.row(value).values())
        except RefusalError as error:
            return ("no row", error.reason)  # what no column holds

    def _kafka_column(self, batch: pa.RecordBatch, name: str) -> list[Any]:
        if name == "topic":
            return [self.partition.topic] * batch.num_rows
        if name == "partition":
            return [self.partition.partition] * batch.num_rows
        found: list[Any] = batch.column(name).to_pylist()
        return [None if one == -1 else one for one in found] if name == "timestamp" else found


def _batches(file: IO[bytes], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield what a file holds. Raises `ContentError` for one that is damaged or has other columns."""
    file.seek(0)
    with damage_as_content_error():
        opened = pq.ParquetFile(file, page_checksum_verification=True)
        if opened.schema_arrow.names != columns:
            raise ContentError(f"its columns are {', '.join(opened.schema_arrow.names)}, not {', '.join(columns)}")
        yield from opened.iter_batches(BATCH_ROWS)


@contextmanager
def damage_as_content_error() -> Iterator[None]:
    """Turn what pyarrow raises while it reads a damaged file into `ContentError`."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ContentError(f"it is no whole Parquet file ({reason})") from None
