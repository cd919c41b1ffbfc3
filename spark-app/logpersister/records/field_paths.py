"""Levels of folders by a field of the rows: ``country=DE``. docs/schemas.md says which name a value has.

A name is made once for each distinct value of a batch, never for each row.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.records.escaping import escape_value, unescape_value
from logpersister.records.murmur3 import hash_bytes, hash_numbers
from logpersister.records.schema import ROW

RULES: Final = 2
"""Raise it when a value gets another folder than before."""

NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""The value of folders for null and for the empty text, which Hive, Spark and Athena read as null."""

MOST_BYTES: Final = 120
"""Longest escaped value; a longer one is cut, and ends with a digest of the whole."""
_DIGEST: Final = 16

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class FieldStep:
    """One level of folders by a field; a `records.paths.Step`, except for the shape of its answer."""

    path: tuple[str, ...]
    prefix: str
    transform: str
    """``field``, ``lower``, ``truncate`` or ``bucket``."""
    parameter: int = 0
    """The width of truncate, the count of bucket."""

    def names(self, batch: pa.RecordBatch) -> tuple[list[str], Indices]:
        """Return the names that occur, each once, and for each row the index of its name."""
        values = column_at(batch, self.path)
        if self.transform == "bucket":
            values = _buckets(values, self.parameter)
        return named_values(values, self.prefix, self._name)

    def _name(self, value: Any) -> str:
        if self.transform == "lower" and value is not None:
            value = "".join(chr(ord(one) + 32) if "A" <= one <= "Z" else one for one in value)
        if self.transform == "truncate" and value is not None:
            value = value[: self.parameter] if isinstance(value, str) else value - value % self.parameter
        return name_of(value)


def named_values(values: Any, prefix: str, name: Callable[[Any], str]) -> tuple[list[str], Indices]:
    """Return the names of values that occur, each once behind the prefix, and for each row the index of its name."""
    encoded: Any = values.dictionary_encode()
    distinct: list[Any] = [*encoded.dictionary.to_pylist(), None]
    places = encoded.indices.fill_null(len(distinct) - 1).to_numpy(zero_copy_only=False)
    places = places.astype(np.int64, copy=False)
    occurs = np.zeros(len(distinct), np.bool_)
    occurs[places] = True
    index_of: dict[str, int] = {}
    table = np.zeros(len(distinct), np.int32)
    for place in np.flatnonzero(occurs).tolist():
        table[place] = index_of.setdefault(prefix + name(distinct[place]), len(index_of))
    return list(index_of), table[places]


def name_of(value: Any) -> str:
    """Return the value of a folder's name."""
    if value is None or value == "":
        return NULL
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text == NULL:
        return "%5F" + NULL[1:]  # the text itself is no null
    name = escape_value(text).encode()
    if len(name) <= MOST_BYTES:
        return name.decode()
    begin = name[: MOST_BYTES - _DIGEST - 1].decode(errors="ignore")
    while unescape_value(begin) is None:  # it ends inside of a character
        begin = begin[:-1]
    return f"{begin}~{hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]}"


def column_at(batch: pa.RecordBatch, path: Sequence[str]) -> "pa.Array[Any]":
    """Return a field of the rows; null also where a struct around it is null."""
    struct_field = cast("Callable[[Any, list[str]], pa.Array[Any]]", pc.struct_field)
    return struct_field(batch.column(ROW), list(path))


def field_step(rule: PartitionRule) -> FieldStep:
    """Return the step of a rule that is about a field."""
    source = rule.source
    assert source is not None, "a rule of another kind"
    path = tuple(source.split("."))
    if rule.truncate is not None:
        return FieldStep(path, rule.folder_prefix, "truncate", rule.truncate.width)
    if rule.bucket is not None:
        return FieldStep(path, rule.folder_prefix, "bucket", rule.bucket.count)
    return FieldStep(path, rule.folder_prefix, "lower" if rule.lower is not None else "field")


def _buckets(values: Any, count: int) -> "pa.Array[Any]":
    """Return Iceberg's ``bucket[count]`` of each value; null for null."""
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_string(values.type):
        filled = values.fill_null("")
        offsets = np.frombuffer(filled.buffers()[1], np.int32, len(filled) + 1, filled.offset * 4).astype(np.int64)
        data = filled.buffers()[2]
        content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        hashes = hash_bytes(offsets[:-1], np.diff(offsets), content)
    else:
        hashes = hash_numbers(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
    found = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % count
    return pa.array(found, pa.int64(), mask=is_null)
