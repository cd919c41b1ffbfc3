"""``spec.types.frame``: values that are binary frames, as Garmadon writes them."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.forms.constraint import Model, Whole
from logpersister.forms.problems import Finding, PathStep, RefusedError
from logpersister.forms.rule import refuses
from logpersister.schemas.errors import CORRECT
from logpersister.schemas.types import Column, Plain, PlainName, Timestamp
from logpersister.values.declared_columns import columns_by, findings_at
from logpersister.values.names import FieldName
from logpersister.values.protobuf.declaration import MessageName, ProtobufText
from logpersister.values.protobuf.source import ProtobufSource

MOST_FIXED = 1024
LENGTH_BYTES = 4
"""Size of the length of header and body."""
Place = Annotated[int, Whole(0, MOST_FIXED)]
_INTEGERS: "Final[Mapping[int, PlainName]]" = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
"""Integer types by their bytes."""


class NumberAt(Model):
    """A number at a fixed place; signed, the highest byte first."""

    at: Place
    """Bytes before the number."""

    bytes: Literal[1, 2, 4, 8] = 4
    """How many bytes the number takes."""

    column: FieldName | None = None
    """Column of each type with a schema that holds the number. Default: none."""


class PartAt(Model):
    """A part of a frame whose length stands at a fixed place, in four bytes, the highest first."""

    length_at: Place
    """Bytes before the length."""


class HeaderSchema(Model):
    """What headers are."""

    protobuf: ProtobufText
    """Schema of protobuf, as `.proto` text or as a descriptor set in base64."""

    message: MessageName | None = None
    """Message that headers are. Default: the first one of the file."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The fields of the message. Raises `RefusedError`."""
        return columns_by(self.source).columns

    @property
    def source(self) -> ProtobufSource:
        return ProtobufSource(self.protobuf, self.message)

    @refuses
    def _a_message_has_columns(self) -> Iterator[Finding]:
        try:
            columns_by(self.source)
        except RefusedError as error:
            yield from findings_at(error, "protobuf", other_columns=CORRECT)


class HeaderAt(PartAt):
    """The header of a frame."""

    row_schema: HeaderSchema | None = Field(default=None, alias="schema")
    """Schema of headers. If set, types with a schema have a column with the header's fields."""

    column: FieldName = "header"
    """Name of this column."""


class FrameSpec(Model):
    """Numbers at fixed places, then the header, if any, then the body up to the end of the value."""

    type: NumberAt
    """The type of the record."""

    timestamp: NumberAt | None = None
    """Milliseconds since 1970, instead of the record's timestamp in folders by date; fields as in `type`. Its column is
    a `timestamp[ms]`.
    """

    header: HeaderAt | None = None
    """The header. Parsers do not get it."""

    body: PartAt
    """The body, which parsers get."""

    @property
    def fixed(self) -> int:
        """How many bytes the numbers take together."""
        return max(end for _, _, end in self._fields())

    @property
    def number_columns(self) -> Mapping[str, Column]:
        """The columns of numbers, by which number it is."""
        found: dict[str, Column] = {}
        if self.type.column is not None:
            found["type"] = Column(self.type.column, Plain(_INTEGERS[self.type.bytes]), required=False)
        if self.timestamp is not None and self.timestamp.column is not None:
            found["timestamp"] = Column(self.timestamp.column, Timestamp("ms"), required=False)
        return found

    def _fields(self) -> Iterator[tuple[tuple[PathStep, ...], int, int]]:
        """Yield of each number where in the manifest it is, and where in frames it begins and ends."""
        yield ("type",), self.type.at, self.type.at + self.type.bytes
        if self.timestamp is not None:
            yield ("timestamp",), self.timestamp.at, self.timestamp.at + self.timestamp.bytes
        for name, part in (("header", self.header), ("body", self.body)):
            if part is not None:
                yield (name, "lengthAt"), part.length_at, part.length_at + LENGTH_BYTES

    @refuses
    def _numbers_are_apart(self) -> Iterator[Finding]:
        fields = sorted(self._fields(), key=lambda one: one[1])
        for before, (at, begin, _) in pairwise(fields):
            if begin < before[2]:
                told = f"overlaps another number: {'.'.join(map(str, before[0]))}, which ends at {before[2]}"
                yield Finding(told, "correct the places", at)
