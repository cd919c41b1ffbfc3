"""Reads texts of Thrift's IDL (thrift.apache.org/docs/idl): structs, unions, exceptions, enums, typedefs, constants.

Namespaces, services and annotations are skipped. Files cannot be included: what a struct needs stands in one text.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.tokens import Tokens

MOST_NESTED: Final = 32
"""Lists, sets and maps in each other."""
MOST_FIELDS: Final = 50_000
"""Most fields of all structs together; real schemas have some hundreds."""
CONTAINERS: Final = ("list", "set", "map")
_SKIPPED: Final = ("cpp_include", "php_namespace", "xsd_namespace")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}

Requirement = Literal["required", "optional", "default"]


@dataclass(frozen=True, slots=True)
class TypeOf:
    """A type as it is written."""

    name: str
    """``i32``, ``list`` and the like, or the name of another type."""
    inner: "tuple[TypeOf, ...]" = ()
    """The item; of a map the key and the value."""


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field of a struct, as it is written."""

    number: int
    name: str
    type: TypeOf
    requirement: Requirement
    default: tuple[str, ...] = ()
    """Tokens of the default; a text is one token with quotes."""


@dataclass(slots=True)
class File:
    """Declarations of a text, by name."""

    structs: dict[str, tuple[FieldOf, ...]] = field(default_factory=dict)
    exceptions: set[str] = field(default_factory=set)
    """Names in `structs` that are exceptions: values cannot be one."""
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    typedefs: dict[str, TypeOf] = field(default_factory=dict)
    constants: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_text(text: str) -> File:
    """Parse a text. Types keep the names by which it refers to them. Raises SchemaTextError."""
    return _Reader(text).file()


def unquoted(word: str) -> str:
    """Return the text of a word in quotes. Raises ValueError for others."""
    if word[:1] not in ("'", '"'):
        raise ValueError(word)
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), word[1:-1], flags=re.DOTALL)


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text, comment="#")
        self._file = File()
        self._fields = 0

    def file(self) -> File:
        while not self._tokens.at_end:
            self._definition(self._tokens.take())
        return self._file

    def _definition(self, word: str) -> None:
        tokens, file = self._tokens, self._file
        match word:
            case "include":
                told = "it includes another file: put what it needs of that into this text, without include"
                raise SchemaTextError(told)
            case "namespace":
                tokens.take()
                tokens.path()
                self._annotations()
            case _ if word in _SKIPPED:
                tokens.value()
            case "struct" | "union" | "exception":
                name = self._new_name()
                file.structs[name] = self._struct()
                if word == "exception":
                    file.exceptions.add(name)
            case "enum":
                name = self._new_name()
                file.enums[name] = self._enum()
            case "typedef":
                type_ = self._type()
                file.typedefs[self._new_name()] = type_
                self._annotations()
                self._end()
            case "const":
                self._type()
                name = tokens.name()
                tokens.expect("=")
                file.constants[name] = self._constant()
                self._end()
            case "service":
                tokens.skip_block()
                self._annotations()
            case _:
                raise SchemaTextError(f"it has {word[:32]!r} where a struct, an enum or the like is expected")

    def _new_name(self) -> str:
        name = self._tokens.name()
        if name in self._file.structs or name in self._file.enums or name in self._file.typedefs:
            raise SchemaTextError(f"it has the type {name[:64]} twice")
        return name

    def _struct(self) -> tuple[FieldOf, ...]:
        fields: list[FieldOf] = []
        self._tokens.follows("xsd_all")
        self._tokens.block(lambda: fields.append(self._field()))
        self._annotations()
        for seen in ({one.number for one in fields}, {one.name for one in fields}):
            if len(seen) < len(fields):
                raise SchemaTextError("it has a struct with two fields of one number or name")
        return tuple(fields)

    def _field(self) -> FieldOf:
        tokens = self._tokens
        self._fields += 1
        if self._fields > MOST_FIELDS:
            raise SchemaTextError(f"it has more than {MOST_FIELDS} fields")
        number = tokens.whole()
        if not -(2**15) <= number < 2**15:
            raise SchemaTextError(f"it has a field with the number {number}, which 16 bits do not hold")
        tokens.expect(":")
        requirement: Requirement = "default"
        if tokens.follows("required"):
            requirement = "required"
        elif tokens.follows("optional"):
            requirement = "optional"
        type_ = self._type()
        tokens.follows("&")
        name = tokens.name()
        default = self._constant() if tokens.follows("=") else ()
        self._annotations()
        self._end()
        return FieldOf(number, name, type_, requirement, default)

    def _type(self, depth: int = 1) -> TypeOf:
        tokens = self._tokens
        if depth > MOST_NESTED:
            raise SchemaTextError(f"it has types that are nested more than {MOST_NESTED} deep")
        name = tokens.path()
        inner: tuple[TypeOf, ...] = ()
        if name in CONTAINERS:
            self._cpp_type()
            tokens.expect("<")
            inner = (self._type(depth + 1),)
            if name == "map":
                tokens.expect(",")
                inner += (self._type(depth + 1),)
            tokens.expect(">")
            self._cpp_type()
        self._annotations()
        return TypeOf("i8" if name == "byte" else name, inner)

    def _cpp_type(self) -> None:
        if self._tokens.follows("cpp_type"):
            self._tokens.text()

    def _enum(self) -> dict[str, int]:
        found: dict[str, int] = {}
        self._tokens.block(lambda: self._symbol(found))
        self._annotations()
        return found

    def _symbol(self, found: dict[str, int]) -> None:
        name = self._tokens.name()
        before = next(reversed(found.values()), -1)
        number = self._tokens.whole() if self._tokens.follows("=") else before + 1
        if not -(2**31) <= number < 2**31:
            raise SchemaTextError(f"it has an enum with the number {number}, which 32 bits do not hold")
        if name in found:
            raise SchemaTextError(f"it has an enum with two symbols {name[:64]}")
        found[name] = number
        self._annotations()
        self._end()

    def _constant(self) -> tuple[str, ...]:
        words = self._tokens.value()
        while self._tokens.follows("."):
            words.append(self._tokens.name())
        return tuple(words)

    def _annotations(self) -> None:
        if self._tokens.ahead == "(":
            self._tokens.value()

    def _end(self) -> None:
        """Go behind the sign that may stand at the end."""
        if not self._tokens.follows(","):
            self._tokens.follows(";")
