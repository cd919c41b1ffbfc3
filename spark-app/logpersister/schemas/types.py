"""Types of columns in one line of text: ``struct<sku: string not null, price: decimal(10,2)>``. Pure.

Grammar, with any white space between words::

    type    = word | word "[" unit "]" | "decimal" "(" precision "," scale ")"
            | "struct" "<" name ":" item {"," name ":" item} ">" | "list" "<" item ">" | "map" "<" "string" "," item ">"
    item    = type ["not" "null"]
    name    = word | "`" any text, "``" for a backtick "`"
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, NoReturn, TypeVar, get_args

from logpersister.forms.notation import Notation
from logpersister.forms.problems import RefusedError, refuse

PlainName = Literal["bool", "int8", "int16", "int32", "int64", "float32", "float64", "string", "date", "json"]
TimestampUnit = Literal["s", "ms", "us", "ns"]
PER_SECOND: Final[Mapping[str, int]] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
BITS: Final[Mapping[str, int]] = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TimeUnit = Literal["ms", "us"]

Unit = TypeVar("Unit")

LETTERS: Final = "\u00c0-\u1fff\u200c\u200d\u2070-\u2fff\u3001-\ud7ff\uf900-\ufefe\uff00-\ufffd\U00010000-\U000efffd"
"""Letters of all scripts but ASCII, as XML has them: no spaces, ends of lines, marks that nobody sees, or half
characters, which SQL, YAML or terminals take for something else."""
NAME: Final = rf"[A-Za-z_@\${LETTERS}][A-Za-z0-9_@\${LETTERS}-]*"
"""What a column may be called. No dot, which separates names in field paths; no space, which Parquet readers refuse."""
_ROUGH_NAME: Final = "[A-Za-z_@\\$\u00c0-\U000efffd][A-Za-z0-9_@\\$\u00c0-\U000efffd-]*"
FIELD_PATH: Final = rf"^{_ROUGH_NAME}(\.{_ROUGH_NAME})*$"
"""Names of columns, and of fields in them, joined by dots. Rough, because CEL pays for what is longer: there must be
fields of these names."""
NO_TYPE: Final = "is not a type:"
KAFKA_PREFIX: Final = "kafka_"
"""Prefix of columns that hold Kafka's own fields (``output.kafkaColumns``)."""
MOST_NESTED: Final = 16
MOST_COLUMNS: Final = 1000
"""Most columns of one schema, at every depth."""
MOST_DIGITS: Final = 38
"""Most digits of a decimal: what 128 bits hold."""

_TOKEN: Final = re.compile(
    rf"\s*(?:(?P<word>{NAME})|`(?P<quoted>(?:[^`]|``)+)`|(?P<number>[0-9]+)|(?P<sign>[<>\[\](),:]))"
)
WHOLE: Final[tuple[PlainName, ...]] = ("int8", "int16", "int32", "int64")
_WORDS: Final = (*get_args(PlainName), "binary", "time", "timestamp", "decimal", "struct", "list", "map")
_TIME_UNITS: "Final[Mapping[str, TimeUnit]]" = {"ms": "ms", "us": "us"}
_TIMESTAMP_UNITS: "Final[Mapping[str, TimestampUnit]]" = {"s": "s", "ms": "ms", "us": "us", "ns": "ns"}
_OF_OTHERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("boolean", "bit"), "bool"),
    **dict.fromkeys(("byte", "tinyint"), "int8"),
    **dict.fromkeys(("short", "smallint", "uint8"), "int16"),
    **dict.fromkeys(("int", "integer", "uint16", "i32"), "int32"),
    **dict.fromkeys(("long", "bigint", "uint32", "i64"), "int64"),
    **dict.fromkeys(("float", "real"), "float32"),
    **dict.fromkeys(("double", "number"), "float64"),
    **dict.fromkeys(("str", "text", "char", "varchar", "utf8", "uuid", "enum"), "string"),
    **dict.fromkeys(("bytes", "blob", "varbinary", "bytea"), "binary[base64]"),
    **dict.fromkeys(("datetime", "timestamptz", "instant"), "timestamp[ms]"),
    **dict.fromkeys(("numeric", "uint64"), "decimal(20,0)"),
    **dict.fromkeys(("array", "set"), "list<...>"),
    **dict.fromkeys(("record", "row", "object"), "struct<...>"),
    **dict.fromkeys(("dict", "variant", "any", "jsonb"), "json"),
}
"""What types of other systems are here."""
_EXAMPLES: Final = (
    f"write one of: {', '.join(get_args(PlainName))}, binary[base64], time[ms], timestamp[ms], decimal(10,2), "
    "struct<a: int32, b: string not null>, list<string>, map<string, int64>"
)


@dataclass(frozen=True, slots=True)
class Plain:
    """A type that its name says wholly."""

    name: PlainName

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes, which JSON has as text in base64."""

    def __str__(self) -> str:
        return "binary[base64]"


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day."""

    unit: TimeUnit

    def __str__(self) -> str:
        return f"time[{self.unit}]"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant, in UTC."""

    unit: TimestampUnit

    def __str__(self) -> str:
        return f"timestamp[{self.unit}]"


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number of `precision` digits, of which `scale` are behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a struct."""

    name: str
    type: "Type"
    required: bool
    default: str | None = None
    """What is in it where an Avro writer has no such field: JSON, in Avro's encoding of defaults. None: null."""
    aliases: tuple[str, ...] = ()
    """Other names under which an Avro writer may have it."""


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields of fixed names, each with a type of its own."""

    members: tuple[Member, ...]

    def __str__(self) -> str:
        members = (f"{_named(one.name)}: {_item(one.type, one.required)}" for one in self.members)
        return f"struct<{', '.join(members)}>"


@dataclass(frozen=True, slots=True)
class ListOf:
    """Any number of items of one type."""

    item: "Type"
    required: bool
    """Whether no item may be null."""

    def __str__(self) -> str:
        return f"list<{_item(self.item, self.required)}>"


@dataclass(frozen=True, slots=True)
class MapOf:
    """Values of one type, each under a name that is text."""

    value: "Type"
    required: bool
    """Whether no value may be null."""

    def __str__(self) -> str:
        return f"map<string, {_item(self.value, self.required)}>"


Type = Plain | Binary | Time | Timestamp | Decimal | Struct | ListOf | MapOf
"""Type of a column; its text is what `parse_type` reads."""


def _named(name: str) -> str:
    return name if re.fullmatch(NAME, name) else f"`{name.replace('`', '``')}`"


def _item(type_: Type, required: bool) -> str:  # noqa: FBT001 - one of two ways to write it
    return f"{type_} not null" if required else str(type_)


def parse_type(text: str) -> Type:
    """Return what a text means. Raises `RefusedError`, which names the position (from 1) and the remedy."""
    parser = _TypeParser(text)
    found = parser.type(depth=1)
    parser.end()
    return found


def parts(path: str, type_: Type) -> Iterator[tuple[str, Type]]:
    """Yield a type and all types in it, each with its path: ``geo.country``, ``items[]``, ``items[].price``."""
    yield path, type_
    match type_:
        case Struct(members):
            for one in members:
                yield from parts(f"{path}.{one.name}", one.type)
        case ListOf(item):
            yield from parts(f"{path}[]", item)
        case MapOf(value):
            yield from parts(f"{path}{{}}", value)


def fields(members: Iterable[Member]) -> Iterator[tuple[str, Type]]:
    """Yield members, and those in them at all depths, each with its path."""
    found = (part for one in members for part in parts(one.name, one.type))
    yield from ((path, type_) for path, type_ in found if not path.endswith(("[]", "{}")))


def leaves(type_: Type) -> Iterator[Type]:
    """Yield what a type is made of that is not itself made of others."""
    yield from (one for _, one in parts("", type_) if not isinstance(one, Struct | ListOf | MapOf))


class _TypeParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._readers: dict[str, Callable[[int], Type]] = {
            "binary": lambda _: self._binary(),
            "time": lambda _: Time(self._unit(_TIME_UNITS, "time[ms]")),
            "timestamp": lambda _: Timestamp(self._unit(_TIMESTAMP_UNITS, "timestamp[ms]")),
            "decimal": lambda _: self._decimal(),
            "struct": self._struct,
            "list": self._list,
            "map": self._map,
        }

    def type(self, depth: int) -> Type:
        if depth > MOST_NESTED:
            self._refuse(f"is nested more than {MOST_NESTED} deep", "nest less, or take json for the inner part")
        begin, word = self._next("word")
        if word in get_args(PlainName):
            return Plain(word)  # type: ignore[arg-type]  # checked above
        if reader := self._readers.get(word):
            return reader(depth + 1)
        known = _OF_OTHERS.get(word.lower())
        similar = [known] if known else get_close_matches(word.lower(), _WORDS, 1)
        self._position = begin
        raise self._refusal(f"there is no type {word!r}", f"did you mean {similar[0]}?" if similar else _EXAMPLES)

    def end(self) -> None:
        if self._text[self._position :].strip():
            self._refuse("has more than one type", "remove what follows the first one")

    def _binary(self) -> Type:
        self._expect("[", "binary[base64]")
        self._word("base64", "binary[base64]")
        self._expect("]", "binary[base64]")
        return Binary()

    def _unit(self, units: Mapping[str, Unit], example: str) -> Unit:
        self._expect("[", example)
        _, word = self._next("word")
        if word not in units:
            self._refuse(f"has an unknown unit {word!r}", f"write one of: {', '.join(units)}; for example {example}")
        self._expect("]", example)
        return units[word]

    def _decimal(self) -> Type:
        example = "decimal(10,2)"
        self._expect("(", example)
        precision = int(self._next("number")[1])
        self._expect(",", example)
        scale = int(self._next("number")[1])
        self._expect(")", example)
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            self._refuse(
                f"has a decimal of {precision} digits, {scale} of them behind the point",
                f"take 1 to {MOST_DIGITS} digits, and no more behind the point; for example {example}",
            )
        return Decimal(precision, scale)

    def _struct(self, depth: int) -> Type:
        example = "struct<a: int32, b: string not null>"
        members: list[Member] = []
        self._expect("<", example)
        while True:
            name = self._name()
            if name.lower() in (member.name.lower() for member in members):
                self._refuse(f"has the field {name!r} twice in one struct", "rename one; case does not count")
            self._expect(":", example)
            members.append(Member(name, *self._item(depth)))
            if not self._follows(","):
                break
        self._expect(">", example)
        return Struct(tuple(members))

    def _list(self, depth: int) -> Type:
        self._expect("<", "list<string>")
        item = ListOf(*self._item(depth))
        self._expect(">", "list<string>")
        return item

    def _map(self, depth: int) -> Type:
        example = "map<string, int64>"
        self._expect("<", example)
        self._word("string", example)
        self._expect(",", example)
        value = MapOf(*self._item(depth))
        self._expect(">", example)
        return value

    def _item(self, depth: int) -> tuple[Type, bool]:
        found = self.type(depth)
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["word"] != "not":
            return found, False
        self._position = match.end()
        self._word("null", "list<string not null>")
        return found, True

    def _follows(self, sign: str) -> bool:
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["sign"] != sign:
            return False
        self._position = match.end()
        return True

    def _expect(self, sign: str, example: str) -> None:
        if not self._follows(sign):
            self._refuse(f"has no {sign}", f"write it as in {example}")

    def _word(self, word: str, example: str) -> None:
        if self._next("word")[1] != word:
            self._refuse(f"has another word than {word}", f"write it as in {example}")

    def _name(self) -> str:
        """Return the name of a field, which may be in backticks."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["quoted"] is None:
            return self._next("word")[1]
        self._position = match.end()
        return match["quoted"].replace("``", "`")

    def _next(self, kind: str) -> tuple[int, str]:
        """Return the next token, which must be of a kind, and where it begins."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match[kind] is None:
            what = "number" if kind == "number" else "name"
            self._refuse(f"has no {what}", _EXAMPLES)
        self._position = match.end()
        return match.start(kind), match[kind]

    def _refuse(self, expectation: str, remedy: str) -> NoReturn:
        raise self._refusal(f"it {expectation}", remedy)

    def _refusal(self, expectation: str, remedy: str) -> RefusedError:
        rest = self._text[self._position :]
        position = self._position + len(rest) - len(rest.lstrip()) + 1
        return refuse(f"{NO_TYPE} {expectation} (position {position})", remedy)


@dataclass(frozen=True, slots=True)
class Column(Member):
    """A column of the rows."""

    format: Notation | None = None
    """Notation of its timestamps; None: `rfc3339`."""
