"""Reads `.proto` texts of proto2, proto3 and editions into descriptors.

Services, fields of extensions and options that do not change how values are read are skipped.
"""

from collections.abc import Mapping
from typing import Final

from logpersister.manifest.protobuf.descriptors import (
    EDITIONS,
    OPTIONAL,
    PROTO3,
    REPEATED,
    REQUIRED,
    TYPES,
    EnumOf,
    EnumOptions,
    Features,
    FieldOf,
    FieldOptions,
    FileOf,
    FileOptions,
    MessageOf,
    MessageOptions,
    Oneof,
    Value,
)
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.tokens import Tokens

MOST_NESTED: Final = 32
"""Messages in each other, as protoc has it."""
_LABELS: Final[Mapping[str, int]] = {"optional": OPTIONAL, "required": REQUIRED, "repeated": REPEATED}
_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "field_presence": ("EXPLICIT", "IMPLICIT", "LEGACY_REQUIRED"),
    "enum_type": ("OPEN", "CLOSED"),
    "message_encoding": ("LENGTH_PREFIXED", "DELIMITED"),
}
"""Features that count, with the names of their values, from 1."""
_SCALARS: Final[Mapping[str, int]] = {
    name: number for number, name in enumerate(TYPES) if name not in ("", "group", "message", "enum")
}


def read_text(text: str, name: str = "") -> FileOf:
    """Return the descriptor of a file. Types keep the names by which the text refers to them. Raises ProtobufError."""
    return _Reader(text, name).file()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self._tokens = Tokens(text, ProtobufError)
        self._file = FileOf(name)
        self._depth = 0

    def file(self) -> FileOf:
        tokens = self._tokens
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
                    self._file.package = tokens.path()
                    tokens.expect(";")
                case "import":
                    if tokens.ahead in ("public", "weak", "option"):
                        tokens.take()
                    self._file.dependency.append(tokens.text())
                    tokens.expect(";")
                case "option":
                    self._file.options = FileOptions(self._option(self._file.options))
                case "message":
                    self._file.message_type.append(self._message(tokens.name()))
                case "enum":
                    self._file.enum_type.append(self._enum())
                case "extend":
                    self._extension(self._file.message_type)
                case "service":
                    tokens.skip_block()
                case _:
                    raise ProtobufError(f"it has {word[:32]!r} where a message, an enum or an import is expected")
        return self._file

    def _syntax(self, word: str, named: str) -> None:
        if word == "edition":
            self._file.syntax = EDITIONS
        elif named == PROTO3:
            self._file.syntax = PROTO3
        elif named != "proto2":
            raise ProtobufError(f"its syntax {named[:32]!r} is neither proto2 nor proto3")

    def _message(self, name: str) -> MessageOf:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise ProtobufError(f"it has more than {MOST_NESTED} messages in each other")
        message = MessageOf(name)
        self._tokens.block(lambda: self._member(message))
        self._depth -= 1
        # Those of proto3's own optional fields come behind the others, as protoc writes them.
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.append(Oneof(f"_{field.name}"))
        return message

    def _member(self, message: MessageOf) -> None:
        tokens = self._tokens
        tokens.skip_visibility()
        match tokens.ahead:
            case "message":
                tokens.take()
                message.nested_type.append(self._message(tokens.name()))
            case "enum":
                tokens.take()
                message.enum_type.append(self._enum())
            case "option":
                tokens.take()
                message.options = MessageOptions(features=self._option(message.options))
            case "extend":
                tokens.take()
                self._extension(message.nested_type)
            case "extensions" | "reserved":
                tokens.skip_statement()
            case "oneof":
                tokens.take()
                message.oneof_decl.append(Oneof(tokens.name()))
                index = len(message.oneof_decl) - 1
                tokens.block(lambda: self._oneof_member(message, index))
            case _:
                self._field(message)

    def _extension(self, around: list[MessageOf]) -> None:
        """Read what is behind the word extend. Fields are unknown ones to us, but groups are messages around it."""
        self._tokens.path()
        extension = MessageOf()
        self._tokens.block(lambda: self._field(extension))
        around += extension.nested_type

    def _oneof_member(self, message: MessageOf, index: int) -> None:
        if self._tokens.follows("option"):
            self._option(None)
        else:
            self._field(message, index)

    def _field(self, message: MessageOf, oneof: int | None = None) -> None:
        tokens = self._tokens
        field = FieldOf(oneof_index=oneof)
        label = tokens.ahead
        if label in _LABELS:
            tokens.take()
            field.label = _LABELS[label]
            field.proto3_optional = label == "optional" and self._file.syntax == PROTO3
        word = tokens.path()
        if word == "map" and tokens.follows("<"):
            self._map(message, field)
        elif word == "group":
            field.type, field.type_name = TYPES.index("group"), tokens.name()
            field.name = field.type_name.lower()
        else:
            field.type = _SCALARS.get(word)
            field.type_name = "" if field.type is not None else word
            field.name = tokens.name()
        tokens.expect("=")
        field.number = tokens.whole()
        if tokens.follows("["):
            features = self._options()
            field.options = FieldOptions(features) if features else None
        if word == "group":
            message.nested_type.append(self._message(field.type_name))
        else:
            tokens.expect(";")
        message.field.append(field)

    def _map(self, message: MessageOf, field: FieldOf) -> None:
        """Read a map behind its first bracket: a repeated message of key and value."""
        tokens = self._tokens
        key = FieldOf("key", 1, type=_SCALARS.get(tokens.name()))
        tokens.expect(",")
        word = tokens.path()
        tokens.expect(">")
        value = FieldOf("value", 2, type=_SCALARS.get(word), type_name="" if word in _SCALARS else word)
        if key.type is None:
            raise tokens.error("a map with keys that are numbers, bool or string")
        field.name = tokens.name()
        entry = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
        field.label, field.type, field.type_name = REPEATED, TYPES.index("message"), entry
        message.nested_type.append(MessageOf(entry, [key, value], options=MessageOptions(map_entry=True)))

    def _enum(self) -> EnumOf:
        found = EnumOf(self._tokens.name())
        self._tokens.block(lambda: self._enum_member(found))
        return found

    def _enum_member(self, found: EnumOf) -> None:
        tokens = self._tokens
        if tokens.follows("option"):
            found.options = EnumOptions(self._option(found.options))
        elif tokens.ahead == "reserved":
            tokens.skip_statement()
        else:
            name = tokens.name()
            tokens.expect("=")
            found.value.append(Value(name, tokens.whole()))
            if tokens.follows("["):
                self._options()
            tokens.expect(";")

    # options

    def _option(self, before: FileOptions | MessageOptions | EnumOptions | None) -> Features | None:
        """Read ``name = value;`` behind the word option; return the features so far."""
        features = self._assignment(before.features if before is not None else None)
        self._tokens.expect(";")
        return features

    def _options(self) -> Features | None:
        """Read ``name = value, …]`` behind the bracket."""
        features = self._assignment(None)
        while self._tokens.follows(","):
            features = self._assignment(features)
        self._tokens.expect("]")
        return features

    def _assignment(self, features: Features | None) -> Features | None:
        tokens = self._tokens
        name = ""
        while not tokens.follows("="):
            name += tokens.take()
        words = tokens.value()
        if name.startswith("features."):
            pairs = [(name.removeprefix("features."), words[0])]
        elif name == "features":
            pairs = [(words[at - 1], words[at + 1]) for at, word in enumerate(words) if word == ":"]
        else:
            return features
        features = features or Features()
        for feature, value in pairs:
            if value in _FEATURES.get(feature, ()):
                setattr(features, feature, _FEATURES[feature].index(value) + 1)
        return features
