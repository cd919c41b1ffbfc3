"""Reads `.proto` texts of proto2, proto3 and editions into descriptors.

Services, fields of extensions and options that do not change how values are read are skipped.
"""

from collections.abc import Mapping, MutableSequence
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    MessageOptions,
)

from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.tokens import Tokens

MOST_NESTED: Final = 32
"""Messages in each other, as protoc has it."""
PROTO3: Final = "proto3"
EDITIONS: Final = "editions"
_OF_FIELDS: Final = FieldDescriptorProto
_LABELS: Final[Mapping[str, FieldDescriptorProto.Label.ValueType]] = {
    "optional": _OF_FIELDS.LABEL_OPTIONAL,
    "required": _OF_FIELDS.LABEL_REQUIRED,
    "repeated": _OF_FIELDS.LABEL_REPEATED,
}
_FEATURES: Final[Mapping[str, Mapping[str, int]]] = {
    "field_presence": dict(FeatureSet.FieldPresence.items()),
    "enum_type": dict(FeatureSet.EnumType.items()),
    "message_encoding": dict(FeatureSet.MessageEncoding.items()),
}
"""Features that count, with the numbers of their values; 0 is no choice."""
TYPES: Final[Mapping[FieldDescriptorProto.Type.ValueType, str]] = {
    number: name.removeprefix("TYPE_").lower() for name, number in _OF_FIELDS.Type.items()
}
"""Names of types, as texts write them, by ``FieldDescriptorProto.Type``."""
_SCALARS: Final[Mapping[str, FieldDescriptorProto.Type.ValueType]] = {
    name: number for number, name in TYPES.items() if name not in ("group", "message", "enum")
}


def read_text(text: str, name: str = "") -> FileDescriptorProto:
    """Return the descriptor of a file. Types keep the names that the text has. Raises SchemaTextError."""
    return _Reader(text, name).file()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self._tokens = Tokens(text)
        self._file = FileDescriptorProto(name=name)
        self._depth = 0

    def file(self) -> FileDescriptorProto:
        tokens, file = self._tokens, self._file
        while not tokens.at_end:
            tokens.skip_visibility()
            match word := tokens.take():
                case ";":
                    pass
                case "syntax" | "edition":
                    tokens.expect("=")
                    self._syntax(word, tokens.text())
                    tokens.expect(";")
                case "package":
                    file.package = tokens.path()
                    tokens.expect(";")
                case "import":
                    if tokens.ahead in ("public", "weak", "option"):
                        tokens.take()
                    file.dependency.append(tokens.text())
                    tokens.expect(";")
                case "option":
                    self._option(file)
                case "message":
                    self._message(file.message_type.add(name=tokens.name()))
                case "enum":
                    self._enum(file.enum_type.add(name=tokens.name()))
                case "extend":
                    self._extension(file.message_type)
                case "service":
                    tokens.skip_block()
                case _:
                    raise SchemaTextError(f"it has {word[:32]!r} where a message, an enum or an import is expected")
        return file

    def _syntax(self, word: str, named: str) -> None:
        if word == "edition":
            self._file.syntax = EDITIONS
        elif named == PROTO3:
            self._file.syntax = PROTO3
        elif named != "proto2":
            raise SchemaTextError(f"its syntax {named[:32]!r} is neither proto2 nor proto3")

    def _message(self, message: DescriptorProto) -> None:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise SchemaTextError(f"it has more than {MOST_NESTED} messages in each other")
        self._tokens.block(lambda: self._member(message))
        self._depth -= 1
        # The oneofs of proto3's own optional fields come behind the others, as protoc writes them.
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")

    def _member(self, message: DescriptorProto) -> None:
        tokens = self._tokens
        tokens.skip_visibility()
        match tokens.ahead:
            case "message":
                tokens.take()
                self._message(message.nested_type.add(name=tokens.name()))
            case "enum":
                tokens.take()
                self._enum(message.enum_type.add(name=tokens.name()))
            case "option":
                tokens.take()
                self._option(message)
            case "extend":
                tokens.take()
                self._extension(message.nested_type)
            case "extensions" | "reserved":
                tokens.skip_statement()
            case "oneof":
                tokens.take()
                index = len(message.oneof_decl)
                message.oneof_decl.add(name=tokens.name())
                tokens.block(lambda: self._oneof_member(message, index))
            case _:
                self._field(message)

    def _extension(self, around: MutableSequence[DescriptorProto]) -> None:
        """Read what is behind the word extend. Fields are unknown ones to us, but groups are messages around it."""
        self._tokens.path()
        extension = DescriptorProto()
        self._tokens.block(lambda: self._field(extension))
        around.extend(extension.nested_type)

    def _oneof_member(self, message: DescriptorProto, index: int) -> None:
        if self._tokens.follows("option"):
            self._assignments(";")
        else:
            self._field(message, index)

    def _field(self, message: DescriptorProto, oneof: int | None = None) -> None:
        tokens = self._tokens
        field = FieldDescriptorProto(oneof_index=oneof)
        label = tokens.ahead
        if label in _LABELS:
            tokens.take()
            field.label = _LABELS[label]
            field.proto3_optional = label == "optional" and self._file.syntax == PROTO3
        word = tokens.path()
        if word == "map" and tokens.follows("<"):
            self._map(message, field)
        elif word == "group":
            field.type, field.type_name = FieldDescriptorProto.TYPE_GROUP, tokens.name()
            field.name = field.type_name.lower()
        else:
            _set_type(field, word)
            field.name = tokens.name()
        tokens.expect("=")
        field.number = self._number()
        if tokens.follows("["):
            _set_features(field, self._assignments("]"))
        if word == "group":
            self._message(message.nested_type.add(name=field.type_name))
        else:
            tokens.expect(";")
        message.field.append(field)

    def _number(self) -> int:
        number = self._tokens.whole()
        if not -(2**31) <= number < 2**31:
            raise SchemaTextError(f"it has the number {number} for a field or an enum value")
        return number

    def _map(self, message: DescriptorProto, field: FieldDescriptorProto) -> None:
        """Read a map behind its first bracket: a repeated message of key and value."""
        tokens = self._tokens
        entry = DescriptorProto(options=MessageOptions(map_entry=True))
        key = tokens.name()
        tokens.expect(",")
        if key not in _SCALARS:
            raise tokens.error("a map with keys that are numbers, bool or string")
        _set_type(entry.field.add(name="key", number=1), key)
        _set_type(entry.field.add(name="value", number=2), tokens.path())
        tokens.expect(">")
        field.name = tokens.name()
        entry.name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
        field.label, field.type, field.type_name = _OF_FIELDS.LABEL_REPEATED, _OF_FIELDS.TYPE_MESSAGE, entry.name
        message.nested_type.append(entry)

    def _enum(self, enum: EnumDescriptorProto) -> None:
        self._tokens.block(lambda: self._enum_member(enum))

    def _enum_member(self, enum: EnumDescriptorProto) -> None:
        tokens = self._tokens
        if tokens.follows("option"):
            self._option(enum)
        elif tokens.ahead == "reserved":
            tokens.skip_statement()
        else:
            value = enum.value.add(name=tokens.name())
            tokens.expect("=")
            value.number = self._number()
            if tokens.follows("["):
                self._assignments("]")
            tokens.expect(";")

    # options

    def _option(self, of: FileDescriptorProto | DescriptorProto | EnumDescriptorProto) -> None:
        """Read ``name = value;`` behind the word option, and note what it says of features."""
        _set_features(of, self._assignments(";"))

    def _assignments(self, end: str) -> FeatureSet:
        """Read ``name = value, …`` up to a sign behind them; return the features among them."""
        features = FeatureSet()
        self._assignment(features)
        while self._tokens.follows(","):
            self._assignment(features)
        self._tokens.expect(end)
        return features

    def _assignment(self, features: FeatureSet) -> None:
        tokens = self._tokens
        name = ""
        while not tokens.follows("="):
            name += tokens.take()
        words = tokens.value()
        pairs: list[tuple[str, str]] = []
        if name.startswith("features."):
            pairs = [(name.removeprefix("features."), words[0])]
        elif name == "features":
            pairs = [(words[at - 1], words[at + 1]) for at, word in enumerate(words) if word == ":"]
        for feature, value in pairs:
            if _FEATURES.get(feature, {}).get(value):
                setattr(features, feature, _FEATURES[feature][value])


def _set_features(
    of: FileDescriptorProto | DescriptorProto | EnumDescriptorProto | FieldDescriptorProto, features: FeatureSet
) -> None:
    """Note features; without any nothing is set, as in files that are no editions."""
    if features.ByteSize():
        of.options.features.MergeFrom(features)


def _set_type(field: FieldDescriptorProto, word: str) -> None:
    """Set the type of a field: a scalar, or the name of a message or an enum, to be found later."""
    if word in _SCALARS:
        field.type = _SCALARS[word]
    else:
        field.type_name = word
