"""Common part of formats whose files have columns: what of records becomes which column."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

from logpersister.formats.columnar_settings import ColumnarSpec
from logpersister.formats.file_columns import Columns, columns_of

Settings = TypeVar("Settings", bound=ColumnarSpec)


@dataclass(frozen=True)  # without slots: subclasses keep what is the same for all objects
class ColumnarFormat(Generic[Settings]):
    """The part of `formats.base.Format` that depends on columns alone."""

    settings: Settings
    schema: pa.Schema | None = None
    """Columns of rows (`values.reading.columns`); None: values as they are."""

    @property
    def kafka_columns(self) -> tuple[str, ...]:
        return self.settings.columns_of_kafka(has_schema=self.schema is not None)

    @property
    def wants_headers(self) -> bool:
        return "headers" in self.kafka_columns

    def columns_at(self, path: str) -> Columns:
        """Return the columns of the files of a partition path."""
        keeps_tombstones = self.settings.keeps_tombstones
        return columns_of(path, self.schema, self.kafka_columns, keeps_tombstones=keeps_tombstones)
