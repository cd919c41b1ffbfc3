"""Files of a table as pyiceberg has them, and as receipts do."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from logpersister.formats.file_columns import KAFKA_FIELDS
from logpersister.storage.names import object_address
from logpersister.storage.receipts import TableFile
from logpersister.tables.exchange import LiveFile


def data_file(bucket: str, file: TableFile, spec_id: int) -> DataFile:
    """Return a file of a receipt for a snapshot."""

    def of(name: str, value: Callable[[Any], Any] = lambda value: value) -> dict[int, Any]:
        return {int(number): value(one[name]) for number, one in file.columns.items() if name in one}

    made = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=object_address(bucket, file.key),
        file_format=FileFormat.PARQUET,
        partition=Record(*file.partition),
        record_count=file.records,
        file_size_in_bytes=file.bytes,
        column_sizes=of("size"),
        value_counts=of("values"),
        null_value_counts=of("nulls"),
        nan_value_counts={},
        lower_bounds=of("lower", base64.b64decode),
        upper_bounds=of("upper", base64.b64decode),
        split_offsets=list(file.splits),
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
    )
    made.spec_id = spec_id  # as it has one that was read
    return made


def places_of(schema: Schema) -> Mapping[str, int]:
    """Return the field ids of partition and offset, where rows say of which record they are."""
    names = {name: KAFKA_FIELDS[name].name for name in ("partition", "offset")}
    return {name: schema.find_field(column).field_id for name, column in names.items() if column in schema.column_names}


def live_file(file: DataFile, places: Mapping[str, int], *, has_deletes: bool) -> LiveFile:
    """Return a live file as it is for decisions."""
    numbers = sorted({*(file.column_sizes or {}), *(file.value_counts or {}), *(file.null_value_counts or {})})
    parts: Mapping[str, Mapping[int, Any]] = {
        "size": file.column_sizes or {},
        "values": file.value_counts or {},
        "nulls": file.null_value_counts or {},
        "lower": {number: _text(value) for number, value in (file.lower_bounds or {}).items()},
        "upper": {number: _text(value) for number, value in (file.upper_bounds or {}).items()},
    }
    columns = {str(n): {name: part[n] for name, part in parts.items() if n in part} for n in numbers}
    values = tuple(file.partition[place] for place in range(len(file.partition)))
    splits = tuple(file.split_offsets or ())
    as_receipt = TableFile(file.file_path, file.file_size_in_bytes, file.record_count, values, columns, splits)
    partitions, offsets = (_bounds(file, places.get(name, -1)) for name in ("partition", "offset"))
    return LiveFile(as_receipt, file.spec_id, has_deletes, partitions, offsets)


def _bounds(file: DataFile, number: int) -> tuple[int, int] | None:
    lower, upper = (file.lower_bounds or {}).get(number), (file.upper_bounds or {}).get(number)
    nulls = (file.null_value_counts or {}).get(number)
    if lower is None or upper is None or nulls != 0:
        return None
    return int.from_bytes(lower, "little", signed=True), int.from_bytes(upper, "little", signed=True)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
