"""``spec.output.parquet``."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.formats.columnar_settings import ColumnarSpec
from logpersister.forms.constraint import Flag, Model, Size, Unique, Whole
from logpersister.forms.problems import Finding, PathStep, show
from logpersister.forms.quantity import format_size, parse_size
from logpersister.forms.rule import refuses
from logpersister.values.names import FieldPath

MOST_SORTED: Final = "256Mi"
"""Largest row group whose rows are sorted."""

Place = tuple[PathStep, ...]


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

    @property
    def descending(self) -> bool:
        return self.order == "descending"

    @property
    def nulls_first(self) -> bool:
        return self.nulls == "first"


class FieldIdSpec(Model):
    """The number by which readers know a column, whatever its name."""

    field: FieldPath
    """Field of `spec.value`, or a column of Kafka's own fields; in lists and maps `tags.element`, `counts.key`,
    `counts.value`.
    """

    id: Annotated[int, Whole(1, 2_147_483_446)]
    """A number that no other column has or had."""


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

    @property
    def own_ids(self) -> Mapping[str, int]:
        """The field ids of columns without a table."""
        return {one.field: one.id for one in self.field_ids}

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


def _repeated(values: Iterable[tuple[Place, str | int]]) -> Iterator[tuple[Place, str | int]]:
    seen: set[str | int] = set()
    for at, value in values:
        if value in seen:
            yield at, value
        seen.add(value)
