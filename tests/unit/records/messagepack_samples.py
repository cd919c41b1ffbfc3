"""MessagePack values that fit a schema more or less, as the official library and others write them."""

import struct
from typing import Any

import msgpack
from hypothesis import strategies as st

from logpersister.schemas.types import (
    Binary,
    Decimal,
    ListOf,
    MapOf,
    Member,
    Plain,
    Struct,
    Time,
    Timestamp,
    Type,
    leaves,
)
from logpersister.values.row_schema import RowSchema
from tests.unit.records import row_samples

schemas = row_samples.schemas().filter(
    lambda schema: not any(leaf == Plain("json") for one in schema.columns for leaf in leaves(one.type))
)

_SIZES = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}


class Written(bytes):
    """Bytes of MessagePack that stand for themselves."""


def packed(value: Any) -> bytes:
    """Return a value in MessagePack; what is `Written` in it stays as it is."""
    if isinstance(value, Written):
        return value
    if isinstance(value, list):
        return _head(0x90, 0xDC, len(value)) + b"".join(map(packed, value))
    if isinstance(value, dict):
        return entries(list(value.items()))
    data: bytes = msgpack.packb(value)
    return data


def entries(pairs: list[tuple[Any, Any]]) -> bytes:
    """Return a map, in which a name may be twice."""
    return _head(0x80, 0xDE, len(pairs)) + b"".join(packed(key) + packed(value) for key, value in pairs)


def _head(short: int, long: int, count: int) -> bytes:
    return bytes([short | count]) if count < 16 else bytes([long]) + count.to_bytes(2, "big")


@st.composite
def _integers(draw: st.DrawFn) -> Any:
    """Integers in each width that has room for them, not only in the shortest."""
    number = draw(st.integers(-(2**63), 2**64 - 1) | st.integers(-300, 300) | st.integers(0, 2 * 10**12))
    first, form = draw(st.sampled_from(sorted(_SIZES.items())))
    try:
        return Written(bytes([first]) + struct.pack(form, number))
    except struct.error:
        return number


_floats = st.floats() | st.floats(width=32).map(lambda one: Written(b"\xca" + struct.pack(">f", one)))
_floats |= st.sampled_from([3.4028236e38, 1e39, 1e-50, 16777217.0])
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_bytes = st.binary(max_size=6) | st.binary(max_size=6).map(lambda one: Written(bytes([0xA0 | len(one)]) + one))
_instants = st.one_of(
    st.builds(msgpack.Timestamp, st.integers(-(10**11), 10**12), st.integers(0, 10**9 - 1)),
    st.builds(msgpack.Timestamp, st.integers(0, 2**32 - 1)),
    st.binary(min_size=8, max_size=8).map(lambda one: Written(b"\xd7\xff" + one)),
    st.binary(min_size=12, max_size=12).map(lambda one: Written(b"\xc7\x0c\xff" + one)),
    st.builds(lambda size: Written(b"\xc7" + bytes([size]) + b"\xff" + bytes(size)), st.integers(0, 20)),
)
_odd = st.sampled_from(
    [
        None,
        True,
        [],
        {},
        "",
        0,
        -1,
        1.5,
        [1, [2]],
        {"a": 1},
        {1: 2},
        b"\xff",
        "7",
        "true",
        1e300,
        0.1,
        5e-7,
        1e16,
        float("nan"),
        msgpack.ExtType(5, b"x"),
        msgpack.Timestamp(-1, 500),
        Written(b"\xa3a\xf0\x90"),
        Written(b"\xca\x3d\xcc\xcc\xcd"),
        Written(b"\xc1"),
    ]
)


def _text_of(type_: Type) -> Any:
    """Return texts as JSON has them for a type, without their quotes."""
    return row_samples.written(type_, None).filter(lambda one: one.startswith('"')).map(lambda one: one[1:-1])


def _value(type_: Type, format_: str | None) -> Any:
    return st.one_of(*[_fitting(type_, format_)] * 25, _odd)


def _fitting(type_: Type, format_: str | None) -> Any:  # noqa: PLR0911 - one for each type
    match type_:
        case Plain("bool"):
            return st.booleans()
        case Plain("float32" | "float64"):
            return _floats | _integers()
        case Plain("string"):
            return _texts | _bytes
        case Plain("date") | Time():
            return _text_of(type_)
        case Plain():
            return _integers()
        case Binary():
            return _bytes | _texts
        case Decimal():
            return _integers() | _text_of(type_)
        case Timestamp():
            return _instants | (_text_of(type_) if format_ in (None, "rfc3339") else _integers())
        case Struct(members):
            return _map(members, lambda _: format_)
        case ListOf(item):
            return st.lists(_value(item, format_), max_size=3) | st.lists(
                _value(item, format_), min_size=16, max_size=18
            )
        case MapOf(value):
            pairs = st.lists(st.tuples(_texts | _odd, _value(value, format_)), max_size=3)
            return pairs.map(lambda one: Written(entries(one)))


def _map(members: tuple[Member, ...], format_of: Any) -> Any:
    @st.composite
    def build(draw: st.DrawFn) -> Written:
        pairs: list[tuple[Any, Any]] = [
            (one.name, draw(_value(one.type, format_of(one.name))))
            for one in members
            if one.required or draw(st.integers(0, 3))
        ]
        match draw(st.integers(0, 14)):
            case 0 | 3 | 4:
                pairs.append((draw(_odd), draw(_odd)))
            case 1:
                pairs.append(("other", {"a": [None]}))
            case 2:
                pairs += pairs[:1]
        return Written(entries(draw(st.permutations(pairs))))

    return build()


@st.composite
def values(draw: st.DrawFn, schema: RowSchema) -> bytes:
    """Return a value for a schema, now and then a damaged one."""
    formats = {one.name: one.format for one in schema.declared}
    value = bytearray(draw(_map(schema.declared, formats.__getitem__)))
    match draw(st.integers(0, 25)):
        case 10:
            del value[draw(st.integers(0, len(value))) :]
        case 11:
            value += draw(st.binary(min_size=1, max_size=3))
        case 12 | 13:
            value[draw(st.integers(0, len(value) - 1))] = draw(st.integers(0, 255))
        case 14:
            return draw(st.binary(max_size=20))
    return bytes(value)
