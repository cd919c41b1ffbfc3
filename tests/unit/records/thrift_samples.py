"""Schemas of Thrift and values that fit them more or less, in both protocols, as a plain writer writes them."""

import struct
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import strategies as st

from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.schema import Field, Kind, Schema, read_schema
from logpersister.values.thrift.source import ThriftSource, thrift_of

_BINARY: Final = {
    "bool": 2, "i8": 3, "double": 4, "i16": 6, "i32": 8, "enum": 8, "i64": 10, "string": 11, "binary": 11, "struct": 12,
    "map": 13, "set": 14, "list": 15, "uuid": 16,
}  # fmt: skip
_COMPACT: Final = {
    "bool": 2, "i8": 3, "i16": 4, "i32": 5, "enum": 5, "i64": 6, "double": 7, "string": 8, "binary": 8, "list": 9,
    "set": 10, "map": 11, "struct": 12, "uuid": 13,
}  # fmt: skip
BITS: Final = {"i8": 8, "i16": 16, "i32": 32, "enum": 32, "i64": 64}

Members = list[tuple[int, Kind, Any]]
"""A struct to be written: numbers, kinds and values."""


def written(kind: Kind, value: Any, protocol: str) -> bytes:  # noqa: PLR0911 - one for each kind
    """Return a value; that of a struct is `Members`, that of a map are pairs."""
    compact = protocol == "compact"
    match kind.word:
        case "struct":
            return _struct(value, compact=compact)
        case "list" | "set":
            head = _list_head(kind.inner[0], len(value), compact=compact)
            return head + b"".join(written(kind.inner[0], one, protocol) for one in value)
        case "map":
            pairs = [written(of, part, protocol) for pair in value for of, part in zip(kind.inner, pair, strict=True)]
            return _map_head(kind, len(value), compact=compact) + b"".join(pairs)
        case "bool":
            return bytes([1 if value else 2 if compact else 0])
        case "double":
            return struct.pack("<d" if compact else ">d", value)
        case "uuid":
            return bytes(16)
        case "string" | "binary":
            return _size(len(value), compact=compact) + bytes(value)
        case word:
            return _integer(value, BITS[word], compact=compact)


def _struct(members: Members, *, compact: bool) -> bytes:
    data, last = b"", 0
    for number, kind, value in members:
        if compact:
            code = 1 if kind.word == "bool" and value else _COMPACT[kind.word]
            step = number - last
            short = 0 < step < 16
            data += bytes([step << 4 | code]) if short else bytes([code]) + _integer(number, 16, compact=True)
            last = number
        else:
            data += bytes([_BINARY[kind.word]]) + _integer(number, 16, compact=False)
        if not compact or kind.word != "bool":
            data += written(kind, value, "compact" if compact else "binary")
    return data + b"\0"


def _list_head(item: Kind, size: int, *, compact: bool) -> bytes:
    if not compact:
        return bytes([_BINARY[item.word]]) + _size(size, compact=False)
    code = _COMPACT[item.word]
    return bytes([size << 4 | code]) if size < 15 else bytes([0xF0 | code]) + _size(size, compact=True)


def _map_head(kind: Kind, size: int, *, compact: bool) -> bytes:
    key, value = kind.inner
    if not compact:
        return bytes([_BINARY[key.word], _BINARY[value.word]]) + _size(size, compact=False)
    return b"\0" if not size else _size(size, compact=True) + bytes([_COMPACT[key.word] << 4 | _COMPACT[value.word]])


def _size(size: int, *, compact: bool) -> bytes:
    return _varint(size) if compact else size.to_bytes(4, "big")


def _integer(number: int, bits: int, *, compact: bool) -> bytes:
    if not compact or bits == 8:
        return number.to_bytes(bits // 8, "big", signed=True)
    return _varint(2 * number if number >= 0 else -2 * number - 1)


def _varint(number: int) -> bytes:
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


# schemas

_SCALARS: Final = ("bool", "i8", "i16", "i32", "i64", "double", "string", "binary", "E")
_DEFAULTS: Final = {
    "bool": "true", "i8": "-7", "i16": "300", "i32": "0x10", "i64": "9007199254740993", "double": "-1.5e3",
    "string": "'it\\'s'", "binary": '"b"', "E": "E.SECOND",
}  # fmt: skip
_OTHERS: Final[Mapping[str, list[tuple[str, str | None]]]] = {
    "i64": [("timestamp[ms]", "epoch[s]"), ("timestamp[us]", "epoch[ms]"), ("decimal(12,2)", None), ("int8", None)],
    "i32": [("float64", None), ("int64", None), ("int16", None), ("decimal(5,0)", None)],
    "i8": [("float64", None), ("int32", None)],
    "string": [
        ("date", None), ("timestamp[ns]", None), ("time[ms]", None), ("decimal(6,3)", None), ("binary[base64]", None),
    ],
    "binary": [("string", None)],
    "E": [("int32", None), ("int64", None)],
}  # fmt: skip
"""Types that a field can have beside its own, with a format."""


@st.composite
def schemas(draw: st.DrawFn) -> RowSchema:
    """Return a schema of several structs; now and then its columns are declared by hand."""
    parts = ["enum E { FIRST = 1, SECOND, THE_LAST_OF_ALL = -5 }", "union Unused { 1: uuid id }"]
    names = iter(range(1000))

    def type_(depth: int) -> str:
        form = draw(st.sampled_from(["scalar"] * 4 + ["list", "set", "map", "struct"])) if depth else "scalar"
        if form == "struct":
            return build(depth - 1)
        if form == "map":
            key = draw(st.sampled_from([one for one in _SCALARS if one != "double"]))
            return f"map<{key}, {type_(depth - 1)}>"
        return draw(st.sampled_from(_SCALARS)) if form == "scalar" else f"{form}<{type_(depth - 1)}>"

    def build(depth: int, top: list[tuple[str, str]] | None = None) -> str:
        fields: list[str] = []
        for number in draw(
            st.lists(st.integers(1, 40) | st.integers(1, 2**15 - 1), min_size=1, max_size=4, unique=True)
        ):
            kind, requirement = type_(depth), draw(st.sampled_from(["required ", "optional ", ""]))
            if top is not None:
                top.append((f"f{number}", kind))
            default = f" = {_DEFAULTS[kind]}" if kind in _DEFAULTS and draw(st.integers(0, 2)) == 0 else ""
            fields.append(f"{number}: {requirement}{kind} f{number}{default};")
        name = f"S{next(names)}"
        parts.append(f"struct {name} {{ {' '.join(fields)} }}")
        return name

    top: list[tuple[str, str]] = []
    name = build(2, top)
    schema = RowSchema(source=ThriftSource(idl="\n".join(parts), struct=name))
    if draw(st.booleans()):
        return schema
    fields: list[FieldSpec] = []
    for (field, kind), column in zip(top, schema.columns, strict=True):
        others: list[tuple[str, str | None]] = [(str(column.type), None), *_OTHERS.get(kind, [])]
        told, format_ = draw(st.sampled_from(others))
        required = draw(st.integers(0, 4)) == 0
        fields.append(FieldSpec.model_validate({"name": field, "type": told, "required": required, "format": format_}))
    fields = draw(st.permutations(fields))[: draw(st.integers(1, len(fields)))]
    return RowSchema(source=schema.source, fields=tuple(fields))


# values

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(str.encode)
_texts |= st.sampled_from([b"2026-11-25", b"2026-11-25T04:00:00.5Z", b"12:30:00", b"1.25", b"1000", b""])
_doubles = st.floats()


def _value(schema: Schema, kind: Kind, *, distinct: bool) -> Any:  # noqa: PLR0911 - one for each kind
    match kind.word:
        case "struct":
            return _members(schema, schema.structs[kind.of], distinct=distinct)
        case "list" | "set":
            item = _value(schema, kind.inner[0], distinct=distinct)
            return st.lists(item, max_size=3) | st.lists(item, min_size=14, max_size=17)
        case "map":
            entries = st.tuples(*(_value(schema, one, distinct=distinct) for one in kind.inner))
            return st.lists(entries, max_size=3, unique_by=(lambda one: one[0]) if distinct else None)
        case "bool":
            return st.booleans()
        case "double":
            return _doubles
        case "string":
            return _texts
        case "binary":
            return _texts | st.binary(max_size=5)
        case "enum":
            return st.sampled_from([1, 2, -5, 0, 2**31 - 1])
        case word:
            most = 2 ** (BITS[word] - 1) - 1
            return st.integers(-most - 1, most) | st.integers(-min(most, 10**11), min(most, 10**11))


def _members(schema: Schema, fields: tuple[Field, ...], *, distinct: bool = False) -> Any:
    @st.composite
    def build(draw: st.DrawFn) -> Members:
        found: Members = [
            (one.number, one.kind, draw(_value(schema, one.kind, distinct=distinct)))
            for one in fields
            if one.requirement == "required" or draw(st.integers(0, 3))
        ]
        match draw(st.integers(0, 9)):
            case 0:
                return list(draw(st.permutations(found)))
            case 1:
                return [*found, (draw(st.integers(-5, 0)), *draw(_unknown))]
        return found

    return build()


_DEEP = Kind("list", inner=(Kind("map", inner=(Kind("i8"), Kind("set", inner=(Kind("bool"),)))),))
_unknown = st.sampled_from(
    [
        (Kind("bool"), True),
        (Kind("bool"), False),
        (Kind("double"), 0.5),
        (Kind("struct"), [(1, Kind("bool"), True), (2, _DEEP, []), (3, Kind("struct"), [])]),
        (_DEEP, [[(1, [True, False]), (2, [])], []]),
        (Kind("string"), b"text"),
    ]
)


@st.composite
def sound_values(draw: st.DrawFn, spec: RowSchema, protocol: str) -> bytes:
    """Return a value as it is by the schema, perhaps with fields that this does not have; no key is there twice."""
    schema = read_schema(thrift_of(spec).idl)
    name = schema.struct(thrift_of(spec).struct)
    return written(Kind("struct", name), draw(_members(schema, schema.structs[name], distinct=True)), protocol)
