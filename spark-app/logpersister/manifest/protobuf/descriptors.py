"""Descriptors of files: what `.proto` texts say, as far as it decides how values are read.

Shapes and numbers of fields are those of ``google/protobuf/descriptor.proto`` (protobuf 34); a descriptor set is what
``protoc --include_imports --descriptor_set_out`` writes.
"""

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from logpersister.manifest.protobuf.errors import ProtobufError

Made = TypeVar("Made")

OPTIONAL, REQUIRED, REPEATED = 1, 2, 3
PROTO3: Final = "proto3"
EDITIONS: Final = "editions"
TYPES: Final = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message",
    "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip
"""Names of types, indexed by ``FieldDescriptorProto.Type``."""


@dataclass(slots=True)
class Features:
    """What editions say of a file and of its parts; None: as around it."""

    field_presence: Annotated[int | None, 1] = None
    enum_type: Annotated[int | None, 2] = None
    message_encoding: Annotated[int | None, 5] = None


@dataclass(slots=True)
class FieldOptions:
    """Options of a field."""

    features: Annotated[Features | None, 21] = None


@dataclass(slots=True)
class FieldOf:
    """A field of a message."""

    name: Annotated[str, 1] = ""
    number: Annotated[int, 3] = 0
    label: Annotated[int, 4] = OPTIONAL
    type: Annotated[int | None, 5] = None
    """None: a message or an enum, to be found by its name."""
    type_name: Annotated[str, 6] = ""
    options: Annotated[FieldOptions | None, 8] = None
    oneof_index: Annotated[int | None, 9] = None
    proto3_optional: Annotated[bool, 17] = False


@dataclass(slots=True)
class Value:
    """A value of an enum."""

    name: Annotated[str, 1] = ""
    number: Annotated[int, 2] = 0


@dataclass(slots=True)
class EnumOptions:
    """Options of an enum."""

    features: Annotated[Features | None, 7] = None


@dataclass(slots=True)
class EnumOf:
    """Descriptor of an enum, ``EnumDescriptorProto``."""

    name: Annotated[str, 1] = ""
    value: Annotated[list[Value], 2] = dataclasses.field(default_factory=list)
    options: Annotated[EnumOptions | None, 3] = None


@dataclass(slots=True)
class MessageOptions:
    """Options of a message."""

    map_entry: Annotated[bool, 7] = False
    features: Annotated[Features | None, 12] = None


@dataclass(slots=True)
class Oneof:
    """A oneof of a message."""

    name: Annotated[str, 1] = ""


@dataclass(slots=True)
class MessageOf:
    """Descriptor of a message, ``DescriptorProto``."""

    name: Annotated[str, 1] = ""
    field: Annotated[list[FieldOf], 2] = dataclasses.field(default_factory=list)
    nested_type: "Annotated[list[MessageOf], 3]" = dataclasses.field(default_factory=list)
    enum_type: Annotated[list[EnumOf], 4] = dataclasses.field(default_factory=list)
    options: Annotated[MessageOptions | None, 7] = None
    oneof_decl: Annotated[list[Oneof], 8] = dataclasses.field(default_factory=list)


@dataclass(slots=True)
class FileOptions:
    """Options of a file."""

    features: Annotated[Features | None, 50] = None


@dataclass(slots=True)
class FileOf:
    """Descriptor of a file, ``FileDescriptorProto``."""

    name: Annotated[str, 1] = ""
    package: Annotated[str, 2] = ""
    dependency: Annotated[list[str], 3] = dataclasses.field(default_factory=list)
    message_type: Annotated[list[MessageOf], 4] = dataclasses.field(default_factory=list)
    enum_type: Annotated[list[EnumOf], 5] = dataclasses.field(default_factory=list)
    options: Annotated[FileOptions | None, 8] = None
    syntax: Annotated[str, 12] = ""
    """``proto3``, ``editions``, or empty for proto2."""


@dataclass(slots=True)
class FileSet:
    """Files, each after all that it imports."""

    file: Annotated[list[FileOf], 1] = dataclasses.field(default_factory=list)


def read_set(data: bytes) -> list[FileOf]:
    """Return the files of a descriptor set. Raises ProtobufError."""
    try:
        return _read(FileSet, data).file
    except (IndexError, UnicodeDecodeError, RecursionError):
        raise ProtobufError("it is no descriptor set") from None


def write_set(files: Iterable[FileOf]) -> bytes:
    """Return the descriptor set of files."""
    return bytes(_written(FileSet(list(files))))


# the wire format, for these messages only


def _read(of: type[Made], data: bytes) -> Made:
    made = of()
    known = _known(cast("Hashable", of))
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        value: Any
        match tag & 7:
            case 0:
                value, position = _varint(data, position)
            case 1 | 5 as wire:
                size = 8 if wire == 1 else 4
                value, position = data[position : position + size], position + size
            case 2:
                size, position = _varint(data, position)
                value, position = data[position : position + size], position + size
            case _:
                raise IndexError
        if position > len(data):
            raise IndexError
        if tag >> 3 in known:
            name, inner, is_list = known[tag >> 3]
            value = _converted(inner, value)
            setattr(made, name, [*getattr(made, name), value] if is_list else value)
    return made


def _converted(inner: Any, value: Any) -> Any:
    if (inner in (int, bool)) != isinstance(value, int):
        raise IndexError
    if inner is bool:
        return value != 0
    if inner is int:
        return (value & 0xFFFFFFFF) - (value >> 31 & 1) * 2**32  # all are int32
    return value.decode() if inner is str else _read(inner, value)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[position]
        position += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, position
        shift += 7
        if shift > 63:
            raise IndexError


def _written(made: Any) -> bytearray:
    target = bytearray()
    for number, (name, _, is_list) in _known(cast("Hashable", type(made))).items():
        found = getattr(made, name)
        for value in found if is_list else () if found is None or found is False or found == "" else (found,):
            if isinstance(value, int):
                _put(target, number << 3)
                _put(target, value & (2**64 - 1))
                continue
            data = value.encode() if isinstance(value, str) else _written(value)
            _put(target, number << 3 | 2)
            _put(target, len(data))
            target += data
    return target


def _put(target: bytearray, number: int) -> None:
    while number >= 0x80:
        target.append(number & 0x7F | 0x80)
        number >>= 7
    target.append(number)


@cache
def _known(of: Hashable) -> dict[int, tuple[str, Any, bool]]:
    """Return by number the name of a field, its type, and whether there are many of it."""
    hints = get_type_hints(cast("type", of), include_extras=True)
    return {hint.__metadata__[0]: (name, *_unpacked(hint.__origin__)) for name, hint in hints.items()}


def _unpacked(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) is list:
        return get_args(hint)[0], True
    inner: Sequence[Any] = [one for one in get_args(hint) if one is not type(None)]
    return (inner[0] if inner else hint), False
