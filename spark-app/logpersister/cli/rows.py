"""The rows of an object as people see them, of which only what they need is read."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logpersister.cli.tables import printable
from logpersister.formats.file_rows import FileRows, plain
from logpersister.ranges import Offset

BATCH_ROWS: Final = 64
_KAFKA: Final = "kafka_"
OFFSET: Final = f"{_KAFKA}offset"
HEADERS: Final = f"{_KAFKA}headers"
_IN_QUARANTINE: Final = {"value", "reason", "field"}


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """One record as its object has it; None for what the format does not keep."""

    value: bytes
    """Value as it is stored; the columns of a typed row are one line of JSON."""
    offset: Offset | None = None
    timestamp: int | None = None
    """Milliseconds since 1970."""
    key: bytes | None = None
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    is_tombstone: bool = False
    """Whether a record in quarantine has no value; `value` is empty then."""


def text_of(content: bytes) -> str:
    """Return bytes as text of which a terminal obeys nothing."""
    return printable(content.decode(errors="backslashreplace"))


def bytes_document(name: str, content: bytes | None) -> dict[str, Any]:
    """Return bytes as text where they are UTF-8, else as Base64 in a field of its own."""
    try:
        return {name: None if content is None else content.decode()}
    except UnicodeDecodeError as error:
        return {name: None, f"{name}Base64": base64.b64encode(error.object).decode()}


def shown_rows(rows: FileRows) -> Iterator[ShownRecord]:
    """Yield what is shown of rows. Raises `ContentError`."""
    for batch in rows.batches(BATCH_ROWS):
        columns = [readable(name, batch.column(name)) for name in batch.schema.names]
        for values in zip(*columns, strict=True):
            yield shown(dict(zip(batch.schema.names, values, strict=True)))


def shown(row: Mapping[str, Any]) -> ShownRecord:
    """Return what is shown of a row, by its columns."""
    kafka = {name.removeprefix(_KAFKA): value for name, value in row.items() if name.startswith(_KAFKA)}
    own = {name: value for name, value in row.items() if not name.startswith(_KAFKA)}
    value = own.get("value")
    is_tombstone = value is None and own.keys() == _IN_QUARANTINE
    as_it_is = is_tombstone or (isinstance(value, bytes) and own.keys() <= _IN_QUARANTINE)
    text = value if as_it_is else json.dumps(own, default=as_text, ensure_ascii=False).encode()
    headers = tuple((_bytes(one["key"]), one["value"]) for one in kafka.get("headers") or ())
    of_kafka = kafka.get("offset"), kafka.get("timestamp"), kafka.get("key"), headers
    return ShownRecord(text or b"", *of_kafka, is_tombstone)


def _bytes(name: Any) -> bytes:
    return name if isinstance(name, bytes) else str(name).encode()


def readable(name: str, column: "pa.Array[Any]") -> list[Any]:
    """Return the values of a column as JSON can show them: dates, times and instants as text; bytes stay bytes."""
    if name == f"{_KAFKA}timestamp":
        return column.cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    return [_readable(column.type, value) for value in plain(column).to_pylist()]


def _readable(type_: Any, value: Any) -> Any:  # noqa: PLR0911  (one for each kind)
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {one.name: _readable(one.type, value[one.name]) for one in type_}
    if pa.types.is_map(type_):
        return {name: _readable(type_.item_type, one) for name, one in value}
    if pa.types.is_list(type_):
        return [_readable(type_.value_type, one) for one in value]
    if pa.types.is_date(type_):
        return _civil(value, "D")
    if pa.types.is_time(type_):
        return _civil(value, type_.unit).partition("T")[2]
    if pa.types.is_timestamp(type_):
        return _civil(value, type_.unit) + ("Z" if type_.tz else "")
    return value


def _civil(value: int, unit: str) -> str:
    return str(np.array(value, f"datetime64[{unit}]"))


def as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
