"""``spec.output.text`` and its neighbours: the settings that each format has of its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.manifest.constraint import Condition, Flag, Model, Size, Text, Unique, Whole
from logpersister.manifest.partition_rule import FieldPath
from logpersister.manifest.problems import Finding, PathStep, show
from logpersister.manifest.quantity import parse_size
from logpersister.manifest.rule import NotInCel, rule

MOST_SORTED: Final = "256Mi"
"""Largest row group whose rows are sorted."""

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
                "bytes(self).size() <= 16",
                lambda text: len(text.encode()) <= 16,
                "is not 1 to 16 bytes long",
                'write for example "\\n" in double quotes',
            ),
        ),
    ),
]


class TextSpec(Model):
    """Settings of format ``text``: one record after another, each value followed by the delimiter."""

    delimiter: Delimiter = "\n"
    """Written after each value. If values contain line breaks, set it for example to `"\\u001e"`."""

    delimiter_in_value: Literal["keep", "escape"] = "keep"
    """Treatment of a delimiter inside a value: `keep` stores the value unchanged, so that a reader sees two lines;
    `escape` makes one record one line.
    """

    @rule(
        r"$delimiterInValue != 'escape' || !$delimiter.matches('[A-Za-z0-9\\\\]')",
        "has a letter, digit or backslash, which escapes themselves contain",
        "choose another, or set delimiterInValue to keep",
        "delimiter",
    )
    def _escapes_are_unambiguous(self) -> bool:
        return self.delimiter_in_value != "escape" or re.search(r"[A-Za-z0-9\\]", self.delimiter) is None


class SequenceFileSpec(Model):
    """Settings of format ``sequencefile``: Hadoop's container of keys and values."""

    key: Literal["longwritable", "messagepack"] = "longwritable"
    """Key of an entry. `longwritable`: the offset. `messagepack`: a map of offset, timestamp and the record's key."""

    compression_type: Literal["record", "block"] = "block"
    """Unit of compression: one value (`record`) or many records (`block`, much smaller). Only with a compression."""


class BloomFilterSpec(Model):
    """A Bloom filter of each row group, by which readers skip those that cannot have a value."""

    field: FieldPath
    """Field of `spec.schema`, for example `user.id`, or a column of Kafka's own fields, such as `kafka_key`."""

    distinct: Annotated[int, Whole(1, 100_000_000)] = 65_536
    """Largest expected number of different values in a row group, which takes 10 to 20 bits for each. One of a hundred
    other values passes by mistake.
    """


class SortColumnSpec(Model):
    """A column by which the rows of each row group are sorted."""

    field: FieldPath
    """Field of `spec.schema`, for example `user.id`, or a column of Kafka's own fields, such as `kafka_key`."""

    order: Literal["ascending", "descending"] = "ascending"
    """Least or greatest value first. Text and bytes go by their bytes; NaN is the greatest number."""

    nulls: Literal["first", "last"] = "last"
    """Place of rows in which it is null, whatever the order."""


class FieldIdSpec(Model):
    """The number by which readers know a column, whatever its name."""

    field: FieldPath
    """Field of `spec.schema`, or a column of Kafka's own fields; in lists and maps `tags.element`, `counts.key`,
    `counts.value`.
    """

    id: Annotated[int, Whole(1, 2_147_483_446)]
    """A number that no other column has or had."""


def _repeated(values: Iterable[tuple[Place, str | int]]) -> Iterator[tuple[Place, str | int]]:
    """Yield the values that are there before, with their places."""
    seen: set[str | int] = set()
    for at, value in values:
        if value in seen:
            yield at, value
        seen.add(value)


class ParquetSpec(Model):
    """Settings of format ``parquet``: columns of `spec.schema`, or each value as it is in the column `value`."""

    row_group_bytes: Annotated[int, Size("64Ki", "1Gi")] = 32 * 2**20
    """Size of a row group in bytes of keys and values. Larger: smaller files, faster scans. Smaller: less memory
    (docs/formats.md).
    """

    page_bytes: Annotated[int, Size("16Ki", "16Mi")] = 2**20
    """Size of a page before compression. Smaller: with `pageIndex`, queries for few rows read less."""

    page_index: Flag = False
    """Whether files have the least and the greatest value of each page, so that readers can skip pages."""

    without_dictionary: Annotated[tuple[FieldPath, ...], Field(max_length=64), Unique()] = ()
    """Fields whose columns get no dictionary, because their values hardly repeat, such as ids. A struct stands for all
    fields in it.
    """

    bloom_filters: Annotated[tuple[BloomFilterSpec, ...], Field(max_length=16)] = ()
    """Bloom filters, for fields that queries compare with exact values. Not for `bool`, lists and maps."""

    sort_by: Annotated[tuple[SortColumnSpec, ...], Field(max_length=8)] = ()
    """Columns by which the rows of each row group are sorted, the first first; equal ones keep the order of offsets. It
    takes memory (docs/formats.md).
    """

    field_ids: Annotated[tuple[FieldIdSpec, ...], Field(max_length=512)] = ()
    """Field ids of the columns, for readers that go by them. Not with an Iceberg table, which numbers its columns."""

    @rule(
        "!has(self.sortBy) || self.sortBy.all(one, self.sortBy.exists_one(other, other.field == one.field))",
        "has the same field twice",
        "remove one of them",
        "sortBy",
    )
    def _columns_sort_once(self) -> Sequence[Finding]:
        fields = ((("sortBy", place, "field"), one.field) for place, one in enumerate(self.sort_by))
        return [Finding("is there before", "remove one of them", at, f'"{field}"') for at, field in _repeated(fields)]

    @rule(
        "!has(self.sortBy) || self.sortBy.size() == 0 || !has(self.rowGroupBytes)"
        " || !isQuantity(string(self.rowGroupBytes))"
        f" || quantity(string(self.rowGroupBytes)).compareTo(quantity('{MOST_SORTED}')) <= 0",
        f"is more than {MOST_SORTED}, and with sortBy a row group is sorted in memory",
        f"write {MOST_SORTED} or less, or remove sortBy",
        "rowGroupBytes",
    )
    def _a_sorted_row_group_fits_into_memory(self) -> bool:
        return not self.sort_by or self.row_group_bytes <= parse_size(MOST_SORTED)

    @rule(
        NotInCel("comparing so many names costs more than the API server allows"),
        "has a Bloom filter before",
        "remove one of them",
        "bloomFilters",
    )
    def _columns_have_one_filter(self) -> Sequence[Finding]:
        fields = ((("bloomFilters", place, "field"), one.field) for place, one in enumerate(self.bloom_filters))
        told, remedy = "has a Bloom filter before", "remove one of them"
        return [Finding(told, remedy, at, f'"{field}"') for at, field in _repeated(fields)]

    @rule(
        NotInCel("comparing so many numbers costs more than the API server allows"),
        "is in fieldIds twice",
        "give each column one id of its own",
        "fieldIds",
    )
    def _ids_are_of_one_column(self) -> Sequence[Finding]:
        values = (
            (("fieldIds", place, name), value)
            for place, one in enumerate(self.field_ids)
            for name, value in (("field", one.field), ("id", one.id))
        )
        told, remedy = "is in fieldIds twice", "give each column one id of its own"
        return [Finding(told, remedy, at, show(value)) for at, value in _repeated(values)]


class OrcSpec(Model):
    """Settings of format ``orc``: columns of `spec.schema`, or each value as it is in the column `value`."""

    stripe_bytes: Annotated[int, Size("64Ki", "1Gi")] = 32 * 2**20
    """Size of a stripe as it is stored. Larger: faster scans. Smaller: less memory (docs/formats.md)."""
