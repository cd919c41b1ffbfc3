"""Common part of formats whose files have columns: what of records becomes which column."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

from logpersister.formats.file_columns import Columns, columns_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnarOptions:
    """Settings that all these formats have."""

    compression: str = "none"
    """One of those that the manifest allows with the format."""
    kafka_columns: tuple[str, ...] = ()
    keeps_tombstones: bool = False
    """Whether a record with a null value is a row of nulls, or left out."""
    schema: pa.Schema | None = None
    """Columns of rows (`values.reading.columns`); None: values as they are."""


Options = TypeVar("Options", bound=ColumnarOptions)


@dataclass(frozen=True)  # without slots: subclasses keep what is the same for all objects
class ColumnarFormat(Generic[Options]):
    """The part of `formats.base.Format` that depends on columns alone."""

    options: Options

    @property
    def wants_headers(self) -> bool:
        return "headers" in self.options.kafka_columns

    def columns_at(self, path: str) -> Columns:
        """Return the columns of the files of a partition path."""
        options = self.options
        return columns_of(path, options.schema, options.kafka_columns, keeps_tombstones=options.keeps_tombstones)
