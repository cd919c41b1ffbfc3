"""Formats of files, each a block of ``spec.output``."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.forms.constraint import Condition, Flag, Model, Size, Text, Unique, Whole
from logpersister.forms.problems import Finding, PathStep, show
from logpersister.forms.quantity import format_size, parse_size
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.partition_rule import FieldPath

MOST_SORTED: Final = "256Mi"
"""Largest row group whose rows are sorted."""

KafkaColumn = Literal["topic", "partition", "offset", "timestamp", "key", "headers"]
Place = tuple[PathStep, ...]
Delimiter = Annotated[
    str,
    Text(
        r"^[\s\S]+$",
        "is not 1 to 16 bytes long",
        'write for example "\\n" in double quotes',
        16,
        conditions=(
            Condition(
                lambda text: len(text.encode()) <= 16,
                "is not 1 to 16 bytes long",
                'write for example "\\n" in double quotes',
            ),
        ),
    ),
]


class TextSpec(Model):
    """One value after another, each followed by the delimiter."""

    compression: Literal["gzip", "zstd", "none"] = "gzip"
    """Compression of the whole object."""

    tombstones: Literal["skip", "empty"] = "skip"
    """Treatment of a record whose value is null: `skip` leaves it out, `empty` writes an empty value."""

    delimiter: Delimiter = "\n"
    """Written after each value. If values contain line breaks, set it for example to `"\\u001e"`."""

    delimiter_in_value: Literal["keep", "escape"] = "keep"
    """Treatment of a delimiter inside a value: `keep` stores the value unchanged, so that a reader sees two lines;
    `escape` makes one record one line.
    """

    @refuses
    def _escapes_are_unambiguous(self) -> Iterator[Finding]:
        if self.delimiter_in_value == "escape" and re.search(r"[A-Za-z0-9\\]", self.delimiter):
            told = "has a letter, digit or backslash, which escapes themselves contain"
            yield Finding(told, "choose another, or set delimiterInValue to keep", ("delimiter",))


class SequenceFileSpec(Model):
    """Hadoop's container of keys and values, with offsets and any bytes."""

    compression: Literal["deflate", "none"] = "deflate"
    """Compression of what `compressionType` names."""

    tombstones: Literal["empty", "skip"] = "empty"
    """Treatment of a record whose value is null: `empty` writes an empty value, `skip` leaves it out."""

    key: Literal["longwritable", "messagepack"] = "longwritable"
    """Key of an entry. `longwritable`: the offset. `messagepack`: a map of offset, timestamp and the record's key."""

    compression_type: Literal["record", "block"] = "block"
    """Unit of compression: one value (`record`) or many records (`block`, much smaller). Only with a compression."""


class BloomFilterSpec(Model):
    """A Bloom filter of each row group, by which readers skip those that cannot have a value."""

    field: FieldPath
    """Field of `spec.value`, for example `user.id`, or a column of Kafka's own fields, such as `kafka_key`."""

    distinct: Annotated[int, Whole(1, 100_000_000)] = 65_536
    """Largest expected number of different values in a row group, which takes 10 to 20 bits for each."""


class SortColumnSpec(Model):
    """A column by which the rows of each row group are sorted."""

    field: FieldPath
    """Field of `spec.value`, for example `user.id`, or a column of Kafka's own fields, such as `kafka_key`."""

    order: Literal["ascending", "descending"] = "ascending"
    """Least or greatest value first."""

    nulls: Literal["first", "last"] = "last"
    """Place of rows in which it is null, whatever the order."""


class FieldIdSpec(Model):
    """The number by which readers know a column, whatever its name."""

    field: FieldPath
    """Field of `spec.value`, or a column of Kafka's own fields; in lists and maps `tags.element`, `counts.key`,
    `counts.value`.
    """

    id: Annotated[int, Whole(1, 2_147_483_446)]
    """A number that no other column has or had."""


class ColumnarSpec(Model):
    """What all formats with columns have."""

    kafka_columns: Annotated[tuple[KafkaColumn, ...], Field(max_length=6), Unique()] | None = None
    """Kafka's own fields that become columns, named `kafka_topic`, `kafka_offset` and so on, after the other columns.
    Default: none, but all in `jsonl` without columns of values."""

    tombstones: Literal["skip", "null"] = "skip"
    """Treatment of a record whose value is null. `skip` leaves it out. `null` writes a row whose columns of the value
    are all null, so that none of them is required in the files."""


class JsonLinesSpec(ColumnarSpec):
    """A JSON object per line: of the columns of values, or of the whole record."""

    compression: Literal["gzip", "zstd", "none"] = "gzip"
    """Compression of the whole object."""


class AvroFileSpec(ColumnarSpec):
    """Container files of Avro records: of the columns of values, or each value as it is in the column `value`."""

    compression: Literal["deflate", "zstd", "snappy", "none"] = "deflate"
    """Compression of each block."""


class KafkaSegmentSpec(Model):
    """Record batches as brokers sent them, still compressed by producers; nothing is parsed or told apart."""

    @property
    def compression(self) -> Literal["none"]:
        return "none"

    @property
    def tombstones(self) -> Literal["null"]:
        return "null"


def _repeated(values: Iterable[tuple[Place, str | int]]) -> Iterator[tuple[Place, str | int]]:
    """Yield the values that are there before, with their places."""
    seen: set[str | int] = set()
    for at, value in values:
        if value in seen:
            yield at, value
        seen.add(value)


class ParquetSpec(ColumnarSpec):
    """Columns of `spec.value`, or each value as it is in the column `value`."""

    compression: Literal["zstd", "snappy", "gzip", "none"] = "zstd"
    """Compression of each page."""

    row_group_bytes: Annotated[int, Size("64Ki", "1Gi")] = 32 * 2**20
    """Size of a row group in bytes of keys and values. Larger: smaller files, faster scans. Smaller: less memory
    (docs/formats.md).
    """

    page_bytes: Annotated[int, Size("16Ki", "16Mi")] = 2**20
    """Size of a page before compression. Smaller: with `pageIndex`, queries for few rows read less."""

    page_index: Flag = False
    """Whether files have the least and the greatest value of each page, so that readers can skip pages."""

    without_dictionary: Annotated[tuple[FieldPath, ...], Field(max_length=64), Unique()] = ()
    """Fields whose columns get no dictionary, because their values hardly repeat, such as ids."""

    bloom_filters: Annotated[tuple[BloomFilterSpec, ...], Field(max_length=16)] = ()
    """Bloom filters, for fields that queries compare with exact values. Not for `bool`, lists and maps."""

    sort_by: Annotated[tuple[SortColumnSpec, ...], Field(max_length=8)] = ()
    """Columns by which the rows of each row group are sorted, the first first; equal ones keep the order of offsets."""

    field_ids: Annotated[tuple[FieldIdSpec, ...], Field(max_length=512)] = ()
    """Field ids of the columns, for readers that go by them. Not with an Iceberg table, which numbers its columns."""

    @refuses
    def _each_column_has_one_setting(self) -> Iterator[Finding]:
        sorted_by = ((("sortBy", place, "field"), one.field) for place, one in enumerate(self.sort_by))
        filters = ((("bloomFilters", place, "field"), one.field) for place, one in enumerate(self.bloom_filters))
        ids = (
            (("fieldIds", place, name), value)
            for place, one in enumerate(self.field_ids)
            for name, value in (("field", one.field), ("id", one.id))
        )
        for values in (sorted_by, filters, ids):
            for at, value in _repeated(values):
                yield Finding("is there before", "remove one of them", at, show(value))

    @refuses
    def _a_sorted_row_group_fits_into_memory(self) -> Iterator[Finding]:
        if self.sort_by and self.row_group_bytes > parse_size(MOST_SORTED):
            told = f"is more than {MOST_SORTED}, and with sortBy a row group is sorted in memory"
            remedy = f"write {MOST_SORTED} or less, or remove sortBy"
            yield Finding(told, remedy, ("rowGroupBytes",), f'"{format_size(self.row_group_bytes)}"')


class OrcSpec(ColumnarSpec):
    """Columns of `spec.value`, or each value as it is in the column `value`."""

    compression: Literal["zstd", "snappy", "zlib", "none"] = "zstd"
    """Compression of each chunk of a column."""

    stripe_bytes: Annotated[int, Size("64Ki", "1Gi")] = 32 * 2**20
    """Size of a stripe as it is stored. Larger: faster scans. Smaller: less memory (docs/formats.md)."""
