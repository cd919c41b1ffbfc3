"""Column statistics of a file for its table, out of the file's footer.

Source: Iceberg's specification, ``data_file`` (counts and bounds by field id) and appendix D (single values as bytes).
Bounds are only there where they are sure; a reader then reads the file instead of leaving it out.
"""

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

BOUND_LENGTH: Final = 16
"""Characters or bytes of a bound: Iceberg's default, ``truncate(16)``."""
_INT64: Final = range(-(2**63), 2**63)
_LAST_CHARACTER: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


@dataclass(slots=True)
class ColumnStatistics:
    """Statistics of one column of a file."""

    size: int = 0
    """Bytes in the file."""
    values: int = 0
    """Number of values with nulls; in lists and maps, what Parquet counts."""
    nulls: int | None = 0
    """None: not known."""
    lower: Any = None
    upper: Any = None
    sure: bool = True
    """Whether each row group with values has told its bounds."""
    type: Any = field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        """Return it as JSON; bounds in base64 of Iceberg's bytes."""
        bounds: dict[str, Any] = {}
        if self.sure and self.lower is not None and self.upper is not None:
            lower, upper = _bound(self.lower, self.type, is_upper=False), _bound(self.upper, self.type, is_upper=True)
            bounds |= {} if lower is None else {"lower": base64.b64encode(lower).decode()}
            bounds |= {} if upper is None else {"upper": base64.b64encode(upper).decode()}
        nulls = {} if self.nulls is None else {"nulls": self.nulls}
        return {"size": self.size, "values": self.values, **nulls, **bounds}


def column_statistics(metadata: pq.FileMetaData, schema: pa.Schema, ids: Mapping[str, int]) -> dict[str, Any]:
    """Return by field id, as text, what the footer of a file says of its columns: `ColumnStatistics.document`.

    Args:
        metadata: the footer.
        schema: the columns of the file.
        ids: their field ids (`formats.parquet.field_ids`).
    """
    columns = [(ids[path], type_) for field_ in schema for path, type_ in _leaves(field_, "", repeated=False)]
    found = [ColumnStatistics(type=type_) for _, type_ in columns]
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place, one in enumerate(found):
            _add(one, row_group.column(place))
    return {str(number): one.document() for (number, _), one in zip(columns, found, strict=True)}


def split_offsets(metadata: pq.FileMetaData) -> list[int]:
    """Return where the row groups of a file begin, in bytes from its start."""
    starts = []
    for group in range(metadata.num_row_groups):
        first = metadata.row_group(group).column(0)
        at = first.data_page_offset
        starts.append(min(at, first.dictionary_page_offset) if first.dictionary_page_offset else at)
    return starts


def _add(to: ColumnStatistics, chunk: pq.ColumnChunkMetaData) -> None:
    to.size += chunk.total_compressed_size
    to.values += chunk.num_values
    statistics: Any = chunk.statistics if chunk.is_stats_set else None
    if statistics is None or not statistics.has_null_count or to.nulls is None:
        to.nulls = None
    else:
        to.nulls += statistics.null_count
    if to.type is None:
        return
    if statistics is None or not statistics.has_min_max:
        all_null = statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values
        to.sure = to.sure and all_null
        return
    low, high = _comparable(statistics.min_raw, to.type), _comparable(statistics.max_raw, to.type)
    to.lower = low if to.lower is None else min(to.lower, low)
    to.upper = high if to.upper is None else max(to.upper, high)


def _comparable(raw: Any, type_: Any) -> Any:
    """Return a bound of Parquet as what it is compared as: decimals are bytes there, and their order another one."""
    return int.from_bytes(raw, "big", signed=True) if pa.types.is_decimal(type_) else raw


def _leaves(field_: "pa.Field[Any]", around: str, *, repeated: bool) -> Iterator[tuple[str, Any]]:
    """Yield path and type of each column of the file, in its order; no type: it has no bounds."""
    path, type_ = around + field_.name, field_.type
    inside: Any = type_
    if pa.types.is_struct(type_):
        for one in inside:
            yield from _leaves(one, f"{path}.", repeated=repeated)
    elif pa.types.is_map(type_):
        yield from _leaves(inside.key_field.with_name("key"), f"{path}.", repeated=True)
        yield from _leaves(inside.item_field.with_name("value"), f"{path}.", repeated=True)
    elif pa.types.is_list(type_):
        yield from _leaves(inside.value_field.with_name("element"), f"{path}.", repeated=True)
    else:
        yield path, None if repeated else type_


def _bound(value: Any, type_: Any, *, is_upper: bool) -> bytes | None:  # noqa: PLR0911  (one for each type)
    """Return a bound as Iceberg's bytes; None: there is none that is sure."""
    if pa.types.is_boolean(type_):
        return b"\x01" if value else b"\x00"
    if pa.types.is_floating(type_):
        return None  # Parquet leaves out NaN, and who finds no count of them takes it that there is none
    if pa.types.is_decimal(type_):
        return bytes(value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True))
    if pa.types.is_string(type_):
        return _text_bound(value.decode(), is_upper=is_upper)
    if pa.types.is_binary(type_):
        start = value[:BOUND_LENGTH]
        return _next_bytes(start) if is_upper and len(value) > BOUND_LENGTH else bytes(start)
    if pa.types.is_timestamp(type_) and type_.unit != "us":
        value *= 1000  # Parquet has milliseconds where seconds were, too; Iceberg has microseconds
    is_long = pa.types.is_int64(type_) or pa.types.is_timestamp(type_) or pa.types.is_time(type_)
    if is_long:
        return struct.pack("<q", value) if value in _INT64 else None
    return struct.pack("<i", value)


def _text_bound(text: str, *, is_upper: bool) -> bytes | None:
    start = text[:BOUND_LENGTH]
    bound = _next_text(start) if is_upper and len(text) > BOUND_LENGTH else start
    return None if bound is None else bound.encode()


def _next_text(text: str) -> str | None:
    """Return a text of at most this length that is above all that begin with it; None: there is none."""
    for place in range(len(text) - 1, -1, -1):
        following = ord(text[place]) + 1
        following = _SURROGATES.stop if following in _SURROGATES else following
        if following <= _LAST_CHARACTER:
            return text[:place] + chr(following)
    return None


def _next_bytes(start: bytes) -> bytes | None:
    for place in range(len(start) - 1, -1, -1):
        if start[place] < 0xFF:
            return start[:place] + bytes([start[place] + 1])
    return None
