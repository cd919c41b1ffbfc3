"""The folder of each record made once more, record by record in plain Python, where fields of values name folders.

docs/schemas.md says which folder a value has. No code that names folders for members is in it.
"""

import hashlib
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logpersister.manifest.notation import epoch_unit
from logpersister.manifest.partition_rule import DateRule, PartitionRule, TimeField
from logpersister.manifest.types import Timestamp
from logpersister.records.escaping import QUARANTINE
from logpersister.records.parsers import Refused
from logpersister.records.paths import Assignment
from logpersister.records.zones import load_zone
from tests.judges.json_values import Reading
from tests.judges.refusal import LeftOutError, RefusalError
from tests.judges.rows import Oracle, Row
from tests.judges.text_values import text_value

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_KEPT: Final = frozenset((string.ascii_letters + string.digits + "-._").encode())
_COMPONENTS: Final = {"year": 1, "month": 2, "day": 3, "hour": 4, "minute": 5}
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_UNUSABLE: Final = datetime(9999, 1, 1, tzinfo=UTC)
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_MASK: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class FolderOracle:
    """A layout, as `records.paths` has them, once more."""

    rules: tuple[PartitionRule, ...]
    oracle: Oracle

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        """Return the path of each record of a batch."""
        paths: list[str] = []
        why: list[tuple[int, RefusalError]] = []
        kept: list[int] = []
        columns: Iterator[tuple[int, int, bytes | None, bytes | None]] = zip(
            *(batch.column(name).to_pylist() for name in ("timestamp", "offset", "key", "value")), strict=True
        )
        for place, (timestamp, offset, key, value) in enumerate(columns):
            try:
                row = self.oracle.row_of_record(key, value) or {}
                paths.append("/".join(self._segments(timestamp, offset, row)))
            except LeftOutError:
                continue
            except RefusalError as error:
                why.append((len(paths), error))
                paths.append(QUARANTINE)
            kept.append(place)
        of = None if len(kept) == batch.num_rows else np.array(kept, np.int64)
        good = sorted({path for path in paths if path != QUARANTINE})
        index_of = {path: index for index, path in enumerate([*good, QUARANTINE])}
        indices = np.array([index_of[path] for path in paths], np.int32)
        if not why:
            return Assignment(good, indices, kept=of)
        reasons = pa.array([error.reason for _, error in why], pa.string())
        fields = pa.array([error.path or None for _, error in why], pa.string())
        refused = Refused(np.array([place for place, _ in why], np.int64), why[0][1].reason, reasons, fields)
        return Assignment([*good, QUARANTINE], indices, refused, kept=of)

    def _segments(self, timestamp: int, offset: int, row: Row) -> Iterator[str]:
        outer: DateRule | None = None
        for rule in self.rules:
            if rule.date is None:
                yield rule.folder_prefix + (_offset(rule, offset) if rule.offset else _value(rule, row))
                outer = None
                continue
            time = rule.date.time
            instant = _from_milliseconds(timestamp) if time is None else self._instant(time, row)
            follows = (
                outer is not None
                and (outer.timezone, outer.time) == (rule.date.timezone, time)
                and _COMPONENTS[outer.granularity] < _COMPONENTS[rule.date.granularity]
            )
            said = _COMPONENTS[outer.granularity] if outer is not None and follows else 0
            yield rule.folder_prefix + _date(instant, rule.date, said)
            outer = rule.date

    def _instant(self, time: TimeField, row: Row) -> datetime | None:
        path = ".".join(time.path)
        value, type_ = _at(row, path), self.oracle.schema.type_at(path)
        if value is None:
            return None
        if time.notation is not None:
            return _from_milliseconds(_written_time(value, time.notation))
        ticks, per_second = (value, _PER_SECOND[type_.unit]) if isinstance(type_, Timestamp) else (value * 86_400, 1)
        return _from_milliseconds(ticks * 1000 // per_second)


def _written_time(value: str | int, notation: str) -> int:
    """Return the milliseconds since 1970 that a text or a whole number says; -1: none."""
    reading, type_ = Reading(notation), Timestamp("ms")
    try:
        found: int = text_value(value, type_, reading) if isinstance(value, str) else value * 1000
    except RefusalError:
        return -1
    unit = epoch_unit(notation)
    return found if isinstance(value, str) or unit is None else found // _PER_SECOND[unit]


def _from_milliseconds(timestamp: int) -> datetime | None:
    if not 0 <= timestamp < _FIRST_UNUSABLE.timestamp() * 1000:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp)


def _date(instant: datetime | None, rule: DateRule, said: int) -> str:
    if instant is None:
        return "unknown"
    local = instant.astimezone(load_zone(rule.timezone))
    components = [f"{local.year:04}", *f"{local:%m %d %H %M}".split()]
    return "-".join(components[said : _COMPONENTS[rule.granularity]])


def _offset(rule: PartitionRule, offset: int) -> str:
    assert rule.offset is not None
    return str(offset - offset % rule.offset.every)


def _value(rule: PartitionRule, row: Row) -> str:
    value = _at(row, rule.source or "")
    if value is None:
        return _NULL
    if rule.bucket is not None:
        hashed = _murmur3(value.encode() if isinstance(value, str) else value.to_bytes(8, "little", signed=True))
        return str((hashed & 0x7FFFFFFF) % rule.bucket.count)
    if rule.truncate is not None:
        width = rule.truncate.width
        value = value[:width] if isinstance(value, str) else value // width * width
    if rule.lower is not None:
        value = value.translate(_LOWER)
    return _escaped({True: "true", False: "false"}[value] if isinstance(value, bool) else str(value))


def _at(row: Row, path: str) -> Any:
    found: Any = row
    for name in path.split("."):
        found = None if found is None else found.get(name)
    return found


def _escaped(text: str) -> str:
    if not text:
        return _NULL
    if text == _NULL:
        return "%5F" + text[1:]
    pieces = [encoded(sign) for sign in text]
    if text in (".", ".."):
        pieces = ["%2E"] * len(text)
    if sum(len(one.encode()) for one in pieces) <= 120:
        return "".join(pieces)
    kept = ""
    for piece in pieces:
        if len((kept + piece).encode()) > 103:
            break
        kept += piece
    return f"{kept}~{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def encoded(sign: str) -> str:
    """Return a character of a value as folders have it: readers agree on escapes of ASCII only."""
    if ord(sign) >= 0xA0 and sign not in "\ufffe\uffff":
        return sign
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in sign.encode())


def _murmur3(data: bytes) -> int:
    """Return the hash by the algorithm's reference, x86 with 32 bits and seed 0."""
    state = 0
    whole = len(data) // 4 * 4
    for begin in range(0, whole, 4):
        state = _rotated(state ^ _mixed(data[begin : begin + 4]), 13) * 5 + 0xE6546B64 & _MASK
    state ^= _mixed(data[whole:]) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor & _MASK
    return state ^ state >> 16


def _mixed(block: Sequence[int]) -> int:
    return _rotated(int.from_bytes(bytes(block), "little") * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
