"""The type of each record found once more, record by record in plain Python; docs/types.md says where it stands.

No code that finds types for members is in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from logpersister.manifest.event_types import MOST_NAME_BYTES, TypesSpec
from logpersister.manifest.frame import FrameSpec, NumberAt
from logpersister.manifest.headed_schema import HeadedSchema
from logpersister.manifest.linear_pattern import Patterns
from logpersister.manifest.parser import Framing
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.event_types import Found
from logpersister.records.paths import Assignment, Layout
from logpersister.records.type_names import DROPPED, NO_TYPE, QUARANTINED_TYPE, REFUSED, UNKNOWN_TYPE, Place
from tests.judges import headers
from tests.judges.folders import encoded
from tests.judges.json_text import NotJsonError, tree_of
from tests.judges.json_values import instant_in_range
from tests.judges.message_types import MessageTypeOracle
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row
from tests.judges.schema_names import SchemaNameOracle

_LARGEST: Final = 2**64
_MOST_DIGITS: Final = 20
"""Of whole numbers below that, with a sign; Python converts no number of many thousand."""
_LENGTH: Final = 4
"""Bytes of a length in a frame."""


@dataclass(frozen=True, slots=True)
class TypeOracle:
    """Finds types, as `records.event_types` has it, once more."""

    types: TypesSpec
    of_values: SchemaNameOracle | MessageTypeOracle | None = None
    """Where types are names of schemas, or in messages of protobuf."""
    framing: Framing = "plain"
    """What stands before documents of which a field is the type."""
    _patterns: Sequence[Patterns] = field(init=False, compare=False, repr=False)
    """Of each entry; in linear time here, too."""

    def __post_init__(self) -> None:
        patterns = [Patterns.of([] if one.pattern is None else [one.pattern]) for one in self.types.entries]
        object.__setattr__(self, "_patterns", patterns)

    def find(self, batch: pa.RecordBatch) -> Found:
        """Return the type of each row."""
        places: dict[_Name, int] = {}
        indices = [places.setdefault(name, len(places)) for name in self._names(batch)]
        return Found([self._place(name) for name in places], np.array(indices, np.int32))

    def _names(self, batch: pa.RecordBatch) -> "Iterator[_Name]":
        types = self.types
        if types.header is not None:
            wanted = types.header.encode()
            of_records: list[Any] = batch.column("headers").to_pylist()
            for headers in of_records:
                found = [header["value"] for header in headers if header["key"] == wanted]
                yield _text(found[-1] if found else None)
        elif types.key:
            yield from map(_text, batch.column("key").to_pylist())
        else:
            yield from map(self._in_value, batch.column("value").to_pylist())

    def _in_value(self, value: bytes | None) -> "_Name":
        if value is None:
            return None
        if self.of_values is not None:
            try:
                name = self.of_values.name(value)
                return None if name is None else _utf8(name)
            except RefusalError as error:
                return _Nameless(error.reason)
        if self.types.frame is not None:
            return None if parts_of(self.types.frame, value) is None else str(_number(value, self.types.frame.type))
        try:
            _, text = headers.split(value, self.framing)
        except RefusalError:
            return None
        return _field(text, (self.types.field or "").split("."))

    def _place(self, name: "_Name") -> Place:
        if isinstance(name, _Nameless):
            return Place(REFUSED, reason=name.reason)
        if not name or len(_segment(name).encode()) > MOST_NAME_BYTES:
            return Place(REFUSED, reason=NO_TYPE)
        entries = [
            number
            for number, (one, patterns) in enumerate(zip(self.types.entries, self._patterns, strict=True))
            if name in (one.names or ()) or patterns.first(name) is not None
        ]
        number = entries[0] if entries else len(self.types.entries)
        rule = self.types.rules[number]
        if rule.action == "drop":
            return Place(DROPPED)
        if rule.action == "quarantine":
            return Place(REFUSED, reason=QUARANTINED_TYPE if entries else UNKNOWN_TYPE)
        if rule.folder is None and name in [one.folder for one in self.types.rules]:
            return Place(REFUSED, reason=UNKNOWN_TYPE)
        return Place(number, self.types.prefix + _segment(rule.folder or name))


@dataclass(frozen=True, slots=True)
class _Nameless:
    """Why a record has no type, where there is more to say."""

    reason: str


_Name = str | _Nameless | None


def _segment(name: str) -> str:
    return name.replace(".", "%2E") if name in (".", "..") else "".join(map(encoded, name))


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _field(value: bytes, path: list[str]) -> str | None:
    try:
        node = tree_of(value.decode())
    except (NotJsonError, UnicodeDecodeError):
        return None
    for name in path:
        if any(_utf8(key) is None for key, _ in node.members):
            return None
        found = [member for key, member in node.members if key == name] if node.kind == "object" else []
        if len(found) != 1:
            return None
        node = found[0]
    if node.kind == "string":
        return _utf8(node.string)
    return _whole(node.text) if node.kind == "number" else None


def _whole(text: str) -> str | None:
    """Return a whole number that 64 bits hold, with a sign or without."""
    if not text.lstrip("-").isdigit() or text == "-0" or len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    return str(number) if -_LARGEST // 2 <= number < _LARGEST else None


def _utf8(text: str) -> str | None:
    """Return a text; none where it has half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


def _number(value: bytes, of: NumberAt) -> int:
    return int.from_bytes(value[of.at : of.at + of.bytes], "big", signed=True)


def parts_of(frame: FrameSpec, value: bytes) -> tuple[bytes, bytes] | None:
    """Return header and body of a value; none where it is no frame."""
    if len(value) < frame.fixed:
        return None
    lengths = [
        0 if part is None else int.from_bytes(value[part.length_at : part.length_at + _LENGTH], "big", signed=True)
        for part in (frame.header, frame.body)
    ]
    if min(lengths) < 0 or frame.fixed + sum(lengths) != len(value):
        return None
    middle = frame.fixed + lengths[0]
    return value[frame.fixed : middle], value[middle:]


class Bodies(Protocol):
    """Knows which part of values parsers get."""

    def body(self, value: bytes) -> bytes:
        """Return it, of a value that has a type."""

    def head(self, value: bytes) -> bytes:
        """Return what stands around it."""

    def time(self, value: bytes) -> int | None:
        """Return by which timestamp folders are named; None: that of the record."""

    def numbers(self, value: bytes) -> Mapping[str, int]:
        """Return what is in further columns, by their names. Raises `RefusalError`."""


@dataclass(frozen=True, slots=True)
class FrameBodies:
    """The bodies of frames."""

    frame: FrameSpec

    def body(self, value: bytes) -> bytes:
        return self._parts(value)[1]

    def head(self, value: bytes) -> bytes:
        return self._parts(value)[0]

    def _parts(self, value: bytes) -> tuple[bytes, bytes]:
        parts = parts_of(self.frame, value)
        assert parts is not None, "what is no frame has no type"
        return parts

    def numbers(self, value: bytes) -> Mapping[str, int]:
        found: dict[str, int] = {}
        if self.frame.type.column is not None:
            found[self.frame.type.column] = _number(value, self.frame.type)
        at = self.frame.timestamp
        if at is not None and at.column is not None:
            milliseconds = found[at.column] = _number(value, at)
            try:
                instant_in_range(milliseconds // 1000)
            except RefusalError as error:
                raise error.below(at.column) from None
        return found

    def time(self, value: bytes) -> int | None:
        return None if self.frame.timestamp is None else _number(value, self.frame.timestamp)


@dataclass(frozen=True)
class BodyOracle(Oracle):
    """Makes rows of parts of values, and perhaps columns of what stands around them."""

    schema: SchemaSpec
    bodies: Bodies
    inner: Oracle
    heads: Oracle | None = None

    def row(self, value: bytes) -> Row:
        return self._with_added(self.inner.row(self.bodies.body(value)), value)

    def row_of_record(self, key: bytes | None, value: bytes | None) -> Row | None:
        if value is None:
            return self.inner.row_of_record(key, None)
        row = self.inner.row_of_record(key, self.bodies.body(value))
        return None if row is None else self._with_added(row, value)

    def _with_added(self, row: Row, value: bytes) -> Row:
        return {**row, **self._of_head(value), **self.bodies.numbers(value)}

    def _of_head(self, value: bytes) -> Row:
        if self.heads is None or not isinstance(self.schema, HeadedSchema):
            return {}
        column = self.schema.head.name
        try:
            return {column: self.heads.row(self.bodies.head(value))}
        except RefusalError as error:
            raise error.below(column) from None


@dataclass(frozen=True, slots=True)
class TimedFolders:
    """Gives values the path that a layout gives them, by the timestamp that is in them if one is."""

    bodies: Bodies
    inner: Layout

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        own: list[Any] = batch.column("timestamp").to_pylist()
        inside = [None if value is None else self.bodies.time(value) for value in batch.column("value").to_pylist()]
        times = [time if of_value is None else of_value for time, of_value in zip(own, inside, strict=True)]
        place = batch.schema.get_field_index("timestamp")
        return self.inner.assign(batch.set_column(place, batch.schema.field(place), pa.array(times, pa.int64())))
