"""Structs of a schema with all names resolved. Pure."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from logpersister.schemas.errors import SchemaTextError
from logpersister.values.thrift.text import CONTAINERS, FieldOf, File, Requirement, TypeOf, read_text, unquoted

INTEGERS: Final = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
"""Integer types, with their bits."""
_SCALARS: Final = frozenset({"bool", *INTEGERS, "double", "string", "binary", "uuid"})
_MOST_TYPEDEFS: Final = 32
_BOOLS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Kind:
    """Resolved type of a field's values."""

    word: str
    """``bool``, ``i8`` to ``i64``, ``double``, ``string``, ``binary``, ``uuid``, ``enum``, ``struct``, ``list``,
    ``set`` or ``map``."""
    of: str = ""
    """Name of the enum or the struct."""
    inner: "tuple[Kind, ...]" = ()
    """The item; of a map the key and the value."""

    def __str__(self) -> str:
        return self.of or self.word


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    number: int
    name: str
    kind: Kind
    requirement: Requirement
    default: Any = None
    """What its readers see where a value does not have it: a bool, a number (also of an enum), a text, an empty list or
    map. None: nothing, or something else, which counts as nothing."""


@dataclass(slots=True)
class Schema:
    """Structs (unions and exceptions among them) and enums, by their names."""

    structs: dict[str, tuple[Field, ...]] = field(default_factory=dict)
    enums: dict[str, Mapping[int, str]] = field(default_factory=dict)
    """The first name of each number."""
    roots: tuple[str, ...] = ()
    """Structs that values may be."""
    _by_name: dict[str, Mapping[str, Field]] = field(default_factory=dict, repr=False, compare=False)

    def fields(self, struct: str) -> Mapping[str, Field]:
        """Return the fields of a struct by their names."""
        if struct not in self._by_name:
            self._by_name[struct] = {one.name: one for one in self.structs[struct]}
        return self._by_name[struct]

    def struct(self, name: str | None) -> str:
        """Return the name of a struct; None is the only one. Raises SchemaTextError."""
        if name is None and len(self.roots) == 1:
            return self.roots[0]
        if name is None:
            raise SchemaTextError("it has several structs, and none is named" if self.roots else "it has no struct")
        if name not in self.structs:
            raise SchemaTextError(f"it has no struct {name}")
        return name


@lru_cache(maxsize=16)
def read_schema(text: str) -> Schema:
    """Parse and resolve a schema. Raises SchemaTextError."""
    file = read_text(text)
    resolver = _Resolver(file)
    schema = Schema(roots=tuple(name for name in file.structs if name not in file.exceptions))
    for name, symbols in file.enums.items():
        numbers: dict[int, str] = {}
        for symbol, number in symbols.items():
            numbers.setdefault(number, symbol)
        schema.enums[name] = numbers
    for name, fields in file.structs.items():
        schema.structs[name] = tuple(resolver.fields(fields))
    return schema


class _Resolver:
    def __init__(self, file: File) -> None:
        self._file = file
        self._known: dict[str, Kind] = {}

    def fields(self, fields: tuple[FieldOf, ...]) -> Iterator[Field]:
        for one in fields:
            kind = self._kind(one.type, 0)
            yield Field(one.number, one.name, kind, one.requirement, self._default(one, kind))

    def _kind(self, type_: TypeOf, typedefs: int) -> Kind:
        name = type_.name
        if name in CONTAINERS:
            return Kind(name, inner=tuple(self._kind(one, typedefs) for one in type_.inner))
        if name in _SCALARS:
            return Kind(name)
        if name in self._file.enums:
            return Kind("enum", name)
        if name in self._file.structs:
            return Kind("struct", name)
        if name not in self._file.typedefs:
            raise SchemaTextError(f"its type {name[:64]} is not known")
        if typedefs == _MOST_TYPEDEFS:
            raise SchemaTextError(f"its type {name[:64]} is a typedef of a typedef, more than {_MOST_TYPEDEFS} times")
        if name not in self._known:  # a few typedefs of each other can stand for any number of types
            self._known[name] = self._kind(self._file.typedefs[name], typedefs + 1)
        return self._known[name]

    def _default(self, one: FieldOf, kind: Kind) -> Any:
        words = one.default
        if not words:
            return None
        if kind.word != "enum" or words[-1] not in self._file.enums[kind.of]:
            words = self._file.constants.get(".".join(words), words)
        try:
            return self._value(words, kind)
        except (ValueError, LookupError):
            raise SchemaTextError(f"the default of its field {one.name[:64]} does not fit its type") from None

    def _value(self, words: tuple[str, ...], kind: Kind) -> Any:  # noqa: PLR0911 - one for each type
        """Return the value of words. Raises ValueError or LookupError."""
        match kind.word:
            case "bool":
                return _BOOLS["".join(words)]
            case "i8" | "i16" | "i32" | "i64" as word:
                number = int("".join(words), 0)
                if not -(2 ** (INTEGERS[word] - 1)) <= number < 2 ** (INTEGERS[word] - 1):
                    raise ValueError
                return number
            case "double":
                if not math.isfinite(double := float("".join(words))):
                    raise ValueError
                return double
            case "string" | "binary":
                return "".join(map(unquoted, words))
            case "enum":
                symbols = self._file.enums[kind.of]
                number = symbols[words[-1]] if words[-1] in symbols else int("".join(words), 0)
                if number not in symbols.values():
                    raise ValueError
                return number
            case "list" | "set" if words in (("[", "]"), ("{", "}")):
                return []
            case "map" if words == ("{", "}"):
                return {}
        return None
