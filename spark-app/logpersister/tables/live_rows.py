"""The rows of a table as its readers see them: of live data files, whoever has written them, without deleted rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Final, cast

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions.parser import parse
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import PrimitiveType

from logpersister.ranges import Offset
from logpersister.tables.errors import TableError, short

PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"


class LiveRows:
    """Live rows of one version of a table. What is asked for is in memory at once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._schema = table.schema()

    @property
    def has_places(self) -> bool:
        """Whether rows say of which record they are: partition and offset are columns."""
        return {PARTITION, OFFSET} <= set(self._schema.column_names)

    @property
    def columns(self) -> Mapping[int, str]:
        """Present column names by field id."""
        return {field.field_id: field.name for field in self._schema.fields}

    def of(self, partition: int, start: Offset, end: Offset) -> pa.Table:
        """Return the rows of records of a partition at offsets in ``[start, end)``. Raises `TableError`."""
        wanted = f"{PARTITION} = {partition} and {OFFSET} >= {start} and {OFFSET} < {end}"
        bounds = ((PARTITION, partition, partition + 1), (OFFSET, start, end))
        tasks = [task for task in self._tasks if all(self._overlaps(task.file, *one) for one in bounds)]
        return self._read(tasks, wanted, self._schema)

    def without_place(self) -> int:
        """Return how many rows do not say of which record they are. Raises `TableError`."""
        wanted = f"{PARTITION} is null or {OFFSET} is null"
        tasks = [task for task in self._tasks if self._may_lack(task.file)]
        return self._read(tasks, wanted, self._schema.select(PARTITION, OFFSET)).num_rows

    def _read(self, tasks: list[FileScanTask], wanted: str, schema: Schema) -> pa.Table:
        with _told(self._table):
            return ArrowScan(self._table.metadata, self._table.io, schema, parse(wanted)).to_table(tasks)

    @cached_property
    def _tasks(self) -> list[FileScanTask]:
        with _told(self._table):
            return list(self._table.scan().plan_files())

    def _overlaps(self, file: DataFile, column: str, start: int, end: int) -> bool:
        """Whether values in ``[start, end)`` may be in a file, by the bounds of its column."""
        field = self._schema.find_field(column)
        lower, upper = (bounds.get(field.field_id) for bounds in (file.lower_bounds or {}, file.upper_bounds or {}))
        if lower is None or upper is None:
            return True
        type_ = cast("PrimitiveType", field.field_type)
        first, last = (int(cast("int", from_bytes(type_, bound))) for bound in (lower, upper))
        return first < end and last >= start

    def _may_lack(self, file: DataFile) -> bool:
        nulls = file.null_value_counts or {}
        return any(nulls.get(self._schema.find_field(column).field_id, 1) for column in (PARTITION, OFFSET))


@contextmanager
def _told(table: Table) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = f"{type(error).__name__}: {short(error)}"
        raise TableError("unavailable", f"the rows of table {'.'.join(table.name())} cannot be read: {told}") from error
