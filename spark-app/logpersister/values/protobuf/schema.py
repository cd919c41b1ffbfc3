"""Messages of a schema with all names and features resolved, from texts and descriptor sets. Pure."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.message import DecodeError

from logpersister.schemas.errors import NoImportError, SchemaTextError
from logpersister.values.protobuf.text import EDITIONS, MOST_NESTED, PROTO3, TYPES, read_text
from logpersister.values.protobuf.well_known import WELL_KNOWN

MOST_FIELDS: Final = 50_000
"""Most fields of all messages together; real schemas have some hundreds."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+=*", re.ASCII)
_NAMED: Final = frozenset({"group", "message", "enum"})
_NO_KEYS: Final = _NAMED | {"float", "double", "bytes"}
"""Kinds that keys of maps cannot have."""

Presence = Literal["implicit", "explicit", "required"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message."""

    number: int
    name: str
    kind: str
    """``int32`` and the like, ``message``, ``group`` for a message that is encoded as one, or ``enum``."""
    of: str = ""
    """Full name of the message or the enum."""
    repeated: bool = False
    presence: Presence = "implicit"
    oneof: int | None = None
    """Index of its ``oneof`` in `Schema.oneofs`."""


@dataclass(frozen=True, slots=True)
class Enum:
    """Enum of a schema, resolved."""

    values: tuple[tuple[int, str], ...]
    """Numbers and names as they are declared."""
    closed: bool
    """Whether other numbers are unknown fields."""


@dataclass(slots=True)
class Schema:
    """Messages and enums by their full names."""

    messages: dict[str, tuple[Field, ...]] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    """The messages that are entries of maps."""
    enums: dict[str, Enum] = field(default_factory=dict)
    oneofs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of ``oneof`` groups by message; `Field.oneof` is an index."""
    roots: "tuple[Root, ...]" = ()
    """The messages of the last file, in its order."""
    sorted: tuple[str, ...] = ()
    """Full names, sorted, of the roots and all messages in them, also entries of maps: as Glue counts."""

    def message(self, name: str | None) -> str:
        """Return the full name of a message; None is the first one of the file. Raises SchemaTextError."""
        if name is None and self.roots:
            return self.roots[0].name
        by_last_name = (one.name for one in self.roots if one.name.rpartition(".")[2] == name)
        found = name if name in self.messages else next(by_last_name, None)
        if found is None:
            raise SchemaTextError("it has no message" if name is None else f"it has no message {name}")
        return found

    def at(self, indexes: Sequence[int]) -> str | None:
        """Return the message at a place: of the file, and then of what is in the one before; None: there is none."""
        inside, found = self.roots, None
        for index in indexes:
            if not 0 <= index < len(inside):
                return None
            found, inside = inside[index].name, inside[index].nested
        return found

    def only(self, message: str) -> "Schema":
        """Return a schema of one message and of what is in it: each type of a topic may have one of a large text."""
        found = Schema(roots=(Root(message, ()),), oneofs=self.oneofs)
        wanted = [message]
        while wanted:
            name = wanted.pop()
            if name in found.messages:
                continue
            found.messages[name] = self.messages[name]
            if name in self.entries:
                found.entries.add(name)
            for one in self.messages[name]:
                if one.kind == "enum":
                    found.enums[one.of] = self.enums[one.of]
                elif one.of:
                    wanted.append(one.of)
        return found

    def resolved(self) -> str:
        """Return the schema as JSON, as the native parser takes it."""
        messages = {name: [self._field(one) for one in fields] for name, fields in self.messages.items()}
        enums = {name: {"closed": one.closed, "values": one.values} for name, one in self.enums.items()}
        roots = [one.tree() for one in self.roots]
        found = {"roots": roots, "sorted": self.sorted, "messages": messages, "enums": enums}
        return json.dumps(found, separators=(",", ":"))

    def _field(self, one: Field) -> Mapping[str, Any]:
        found: dict[str, Any] = {"number": one.number, "name": one.name, "kind": one.kind, "of": one.of}
        found |= {"repeated": one.repeated, "presence": one.presence != "implicit", "oneof": one.oneof}
        return found | {"map": one.repeated and one.of in self.entries}


@dataclass(frozen=True, slots=True)
class Root:
    """A message of a file, with those in it that are no entries of maps."""

    name: str
    nested: "tuple[Root, ...]"

    def names(self) -> Iterator[str]:
        """Yield its name and those of the messages in it."""
        yield self.name
        for one in self.nested:
            yield from one.names()

    def tree(self) -> list[Any]:
        return [self.name, [one.tree() for one in self.nested]]


@lru_cache(maxsize=64)
def read_schema(text: str) -> Schema:
    """Return the schema that a `.proto` text, or a descriptor set in base64, is. Raises SchemaTextError."""
    packed = "".join(text.split())
    if _BASE64.fullmatch(packed):
        try:
            return resolve(FileDescriptorSet.FromString(base64.b64decode(packed, validate=True)).file)
        except binascii.Error:
            raise SchemaTextError("it is neither a .proto text nor base64") from None
        except DecodeError:
            raise SchemaTextError("it is no descriptor set") from None
    return resolve([read_text(text)])


def resolve(files: Sequence[FileDescriptorProto]) -> Schema:
    """Return the messages of files, of which the last one is that of the values. Raises SchemaTextError."""
    if not files:
        raise SchemaTextError("it has no file")
    return _Resolver(files).schema()


class _Resolver:
    def __init__(self, files: Sequence[FileDescriptorProto]) -> None:
        given = {one.name for one in files}
        needed: dict[str, FileDescriptorProto] = {}
        asking = list(files)
        while asking:
            for name in asking.pop().dependency:
                if name in WELL_KNOWN and name not in given and name not in needed:
                    needed[name] = read_text(WELL_KNOWN[name], name)
                    asking.append(needed[name])
        self._files = [*(needed[name] for name in sorted(needed)), *files]
        self._absent = [
            name for one in files for name in one.dependency if name not in given and name not in WELL_KNOWN
        ]
        self._names: dict[str, str] = {}
        """Kind by full name: ``message``, ``enum`` or ``entry``."""
        self._schema = Schema()
        self._count = 0

    def schema(self) -> Schema:
        for file in self._files:
            self._note(file.package, file.message_type, file.enum_type)
        for file in self._files:
            features = _of_file(file)
            self._enums(file.package, file.enum_type, features)
            self._messages(file.package, file.message_type, features)
        last = self._files[-1]
        self._schema.roots = tuple(self._roots(last.package, last.message_type))
        self._schema.sorted = tuple(sorted(_names(last.package, last.message_type)))
        return self._schema

    def _note(
        self, scope: str, messages: Sequence[DescriptorProto], enums: Sequence[EnumDescriptorProto], depth: int = 0
    ) -> None:
        if depth > MOST_NESTED + 1:  # the deepest may have maps, whose entries are messages
            raise SchemaTextError(f"it has more than {MOST_NESTED} messages in each other")
        for one in enums:
            self._add(_inside(scope, one.name), "enum")
        for message in messages:
            full = _inside(scope, message.name)
            self._add(full, "entry" if message.options.map_entry else "message")
            self._note(full, message.nested_type, message.enum_type, depth + 1)

    def _add(self, full: str, kind: str) -> None:
        if full in self._names:
            raise SchemaTextError(f"it has {full} twice")
        self._names[full] = kind

    def _roots(self, scope: str, messages: Sequence[DescriptorProto]) -> Iterator[Root]:
        for one in messages:
            full = _inside(scope, one.name)
            if self._names[full] == "message":
                yield Root(full, tuple(self._roots(full, one.nested_type)))

    def _enums(self, scope: str, enums: Sequence[EnumDescriptorProto], around: FeatureSet) -> None:
        for one in enums:
            features = _with(around, one.options.features)
            values = tuple((value.number, value.name) for value in one.value)
            self._schema.enums[_inside(scope, one.name)] = Enum(values, features.enum_type == FeatureSet.CLOSED)

    def _messages(self, scope: str, messages: Sequence[DescriptorProto], around: FeatureSet) -> None:
        for one in messages:
            full = _inside(scope, one.name)
            features = _with(around, one.options.features)
            self._count += len(one.field)
            if self._count > MOST_FIELDS:
                raise SchemaTextError(f"it has more than {MOST_FIELDS:,} fields")
            self._schema.messages[full] = self._fields(full, one, features)
            self._schema.oneofs[full] = tuple(oneof.name for oneof in one.oneof_decl)
            if self._names[full] == "entry":
                self._entry(full)
            self._enums(full, one.enum_type, features)
            self._messages(full, one.nested_type, features)

    def _entry(self, full: str) -> None:
        """Note a message as what a map has: a key and a value."""
        match self._schema.messages[full]:
            case (Field(1, repeated=False) as key, Field(2, repeated=False)) if key.kind not in _NO_KEYS:
                self._schema.entries.add(full)
            case _:
                raise SchemaTextError(f"its message {full} is no entry of a map whose keys are numbers, bool or string")

    def _fields(self, full: str, message: DescriptorProto, around: FeatureSet) -> tuple[Field, ...]:
        found = [self._field(full, one, around) for one in message.field]
        for numbers in ([one.number for one in found], [one.name for one in found]):
            if len(set(numbers)) < len(numbers):
                raise SchemaTextError(f"its message {full} has a field twice")
        return tuple(found)

    def _field(self, scope: str, one: FieldDescriptorProto, around: FeatureSet) -> Field:
        features = _with(around, one.options.features)
        kind, of = self._type(scope, one)
        is_of_map = "entry" in (self._names[scope], self._names.get(of))  # maps have no groups, whatever is around them
        if kind == "message" and features.message_encoding == FeatureSet.DELIMITED and not is_of_map:
            kind = "group"
        if not 1 <= one.number < 2**29:
            raise SchemaTextError(f"its field {scope}.{one.name} has the number {one.number}")
        in_oneof, repeated = one.HasField("oneof_index"), one.label == one.LABEL_REPEATED
        presence: Presence = "implicit"
        if one.label == one.LABEL_REQUIRED or (not repeated and features.field_presence == FeatureSet.LEGACY_REQUIRED):
            presence = "required"
        elif not repeated and (
            kind in ("message", "group")
            or in_oneof
            or one.proto3_optional
            or features.field_presence == FeatureSet.EXPLICIT
        ):
            presence = "explicit"
        oneof = one.oneof_index if in_oneof and not one.proto3_optional else None
        return Field(one.number, one.name, kind, of, repeated, presence, oneof)

    def _type(self, scope: str, one: FieldDescriptorProto) -> tuple[str, str]:
        if not one.type_name:
            if not one.HasField("type") or TYPES[one.type] in _NAMED:
                raise SchemaTextError(f"its field {scope}.{one.name} has no type")
            return TYPES[one.type], ""
        full = self._found(scope, one.type_name)
        if full is None:
            told = f"its field {scope}.{one.name} has the type {one.type_name}, which is not there"
            if self._absent:
                raise NoImportError(f"{told}, and neither is {self._absent[0][:64]}, which it imports")
            raise SchemaTextError(told)
        if self._names[full] == "enum":
            return "enum", full
        return ("group" if one.HasField("type") and one.type == one.TYPE_GROUP else "message"), full

    def _found(self, scope: str, name: str) -> str | None:
        """Return the full name of a type, which is looked for from the inside outwards."""
        if name.startswith("."):
            return name[1:] if name[1:] in self._names else None
        while True:
            full = _inside(scope, name)
            if full in self._names:
                return full
            if not scope:
                return None
            scope = scope.rpartition(".")[0]


def _inside(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def _names(scope: str, messages: Sequence[DescriptorProto]) -> Iterator[str]:
    for one in messages:
        full = _inside(scope, one.name)
        yield full
        yield from _names(full, one.nested_type)


def _of_file(file: FileDescriptorProto) -> FeatureSet:
    """Return the features of a file: those of its syntax, or of editions (protobuf.dev/editions/features)."""
    is_open = file.syntax in (PROTO3, EDITIONS)
    found = FeatureSet(
        field_presence=FeatureSet.IMPLICIT if file.syntax == PROTO3 else FeatureSet.EXPLICIT,
        enum_type=FeatureSet.OPEN if is_open else FeatureSet.CLOSED,
        message_encoding=FeatureSet.LENGTH_PREFIXED,
    )
    return _with(found, file.options.features) if file.syntax == EDITIONS else found


def _with(around: FeatureSet, own: FeatureSet) -> FeatureSet:
    """Return the features of something: its own, and for the others those around it."""
    if not own.ByteSize():
        return around
    found = FeatureSet()
    found.CopyFrom(around)
    found.MergeFrom(own)
    return found
