"""Random schemas, and values that fit them more or less."""

import json
from base64 import b64encode
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from logpersister.schemas.types import (
    Binary,
    Decimal,
    ListOf,
    MapOf,
    Plain,
    Struct,
    Time,
    Timestamp,
    Type,
    leaves,
    parse_type,
)
from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import RowSchema

NAMES = ["id", "at", "Price", "$ref", "@timestamp", "user-id", "_id", "x" * 64]
PLAIN = ["bool", "int8", "int16", "int32", "int64", "float32", "float64", "string", "date", "json"]
LEAVES = [
    *PLAIN, "binary[base64]", "time[ms]", "time[us]", "timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]",
    "decimal(1,0)", "decimal(10,2)", "decimal(38,38)", "decimal(38,0)",
]  # fmt: skip
PATTERN = "pattern[yyyy-MM-dd'T'HH:mm:ss.SXXX]"
FORMATS = ["rfc3339", "iso8601", PATTERN, "epoch[s]", "epoch[ms]", "epoch[us]", "epoch[ns]"]
ODD = [
    "null", "true", "[]", "{}", '""', "0", "-1", "1.5", "1.0", "1e400", "[1,[2]]", '{"a":1}', '"\\ud83d"', '"x"',
    '"7"', '"1e1"', '"true"', '"\\ud83d\\ud83d\\ude00"', '{"b":{"c":"1"}}',
]  # fmt: skip
"""Values that fit few types, as they are written."""
NO_ROWS = [
    b"", b"null", b"[]", b'["\xff"]', b"{} {}", b"[" * 70 + b"]" * 70, b'{"x":' + b"[" * 64 + b"]" * 64 + b"}",
]  # fmt: skip


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.builds(str.__add__, inner, st.sampled_from(["", " not null"]))
    names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=str.lower)
    structs = names.flatmap(
        lambda chosen: st.tuples(*(item for _ in chosen)).map(
            lambda items: "struct<" + ", ".join(f"{name}: {one}" for name, one in zip(chosen, items, strict=True)) + ">"
        )
    )
    return item.map("list<{}>".format) | item.map("map<string, {}>".format) | structs


types = st.recursive(st.sampled_from(LEAVES), _nested, max_leaves=4)


@st.composite
def schemas(draw: st.DrawFn) -> RowSchema:
    fields = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique_by=str.lower)):
        type_ = draw(types)
        timed = any(isinstance(leaf, Timestamp) for leaf in leaves(parse_type(type_)))
        written = draw(st.sampled_from(FORMATS)) if timed else None
        fields.append(FieldSpec(name=name, type=type_, required=draw(st.booleans()), format=written))
    return RowSchema(fields=tuple(fields))


_digits = st.integers(-(10**20), 10**20).map(str)
_numbers = (
    st.sampled_from(["0", "-0", "127", "128", "-128", "-129", "32768", "2147483648", "9223372036854775807"])
    | st.sampled_from(["9223372036854775808", "-9223372036854775808", "1.0", "1e2", "1E-400", "16777217", "0.1"])
    | st.sampled_from(
        ["3.4028236e38", "1.00000017881393432617187499", "1.7976931348623159e308", "12345678901234567.89"]
    )
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(10**4), 10**4).map(str)
    | _digits
    | st.builds("{}.{}e{}".format, _digits, st.integers(0, 10**6), st.integers(-40, 40))
)
_epochs = st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**12), 10**12) | st.integers(0, 2 * 10**18)
_clocks = st.sampled_from(
    [
        "00:00:00",
        "23:59:59.999999999",
        "12:30:01.5",
        "05:00",
        "050000,5",
        "23:59:60",
        "24:00:00",
        "12:00:60",
        "1:00:00",
        "12:30:01.",
    ]
)
_days = st.dates().map(str) | st.sampled_from(
    ["0000-01-01", "0000-02-29", "0000-12-31", "2023-02-29", "1900-02-29", "20-01-01"]
)
_zones = st.sampled_from(["Z", "z", "", "+00:00", "-23:59", "+23:59", "+24:00", "+0100", "Q"])
_instants = st.builds("{}{}{}{}".format, _days, st.sampled_from("Tt _"), _clocks, _zones)
_base64 = st.sampled_from(["", "AA==", "AB==", "AAA=", "AAB=", "AAAA", "AA", "A-_A", "AAAA\n", "////", "ä==="])
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=len(text) % 2 == 0)


def written(type_: Type, format_: str | None) -> st.SearchStrategy[str]:
    """Return JSON texts for a type: most of them fit, some nearly."""
    return st.one_of(*[_fitting(type_, format_)] * 12, st.sampled_from(ODD), st.just("null"))


def _fitting(type_: Type, format_: str | None) -> st.SearchStrategy[str]:  # noqa: C901, PLR0911
    match type_:
        case Plain("bool"):
            return st.sampled_from(["true", "false"])
        case Plain("string"):
            return _texts.map(quoted)
        case Plain("date"):
            return _days.map(quoted)
        case Plain("json"):
            return st.recursive(
                _numbers | _texts.map(quoted), lambda one: st.lists(one).map(" , ".join).map("[ {}]".format)
            )
        case Plain():
            return _numbers
        case Decimal():
            return _numbers | _numbers.map(quoted)
        case Binary():
            return (_base64 | st.binary(max_size=5).map(lambda one: b64encode(one).decode())).map(quoted)
        case Time():
            return _clocks.map(quoted)
        case Timestamp():
            return _epochs.map(str) if format_ and format_.startswith("epoch[") else _instants.map(quoted)
        case Struct(members):
            return _object([(one.name, one.type, one.required) for one in members], format_)
        case ListOf(item):
            return st.lists(written(item, format_), max_size=3).map(",".join).map("[{}]".format)
        case MapOf(value):
            entry = st.builds("{}:{}".format, _texts.map(quoted), written(value, format_))
            return st.lists(entry, max_size=3).map(", ".join).map("{{{}}}".format)


def _object(members: list[tuple[str, Any, bool]], format_: str | None) -> st.SearchStrategy[str]:
    @st.composite
    def build(draw: st.DrawFn) -> str:
        entries = [
            f"{quoted(name)}: {draw(written(type_, format_))}"
            for name, type_, required in members
            if required or draw(st.booleans())
        ]
        entries += draw(st.sampled_from([[]] * 9 + [[f'"other": {one}'] for one in ODD] + [entries[:1]]))
        return "{" + ",".join(draw(st.permutations(entries))) + "}"

    return build()


def documents(schema: RowSchema) -> st.SearchStrategy[bytes]:
    """Return values for a schema, some of which are no JSON."""

    @st.composite
    def build(draw: st.DrawFn) -> bytes:
        entries = [
            f"{quoted(field.name)}:{draw(written(field.type, field.format))}"
            for field in schema.declared
            if field.required or draw(st.booleans())
        ]
        more: list[list[str]] = [[]] * 6 + [
            entries[:1],
            ['"other":1,"x": [ "\\ud83d\\ude00" ]'],
            ['"other": 1', '"\\u006fther":"2"'],
        ]
        entries += draw(st.sampled_from(more))
        text = "{" + ", ".join(entries) + "}"
        match draw(st.integers(0, 25)):
            case 0:
                return text.encode()[: draw(st.integers(0, len(text.encode())))]
            case 1:
                return text.encode().replace(b"1", b"\xff", 1)
            case 2:
                return draw(st.sampled_from(NO_ROWS))
            case _:
                return text.encode()

    return build()


def batch_of_values(values: list[bytes | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"key": pa.nulls(len(values), pa.binary()), "value": pa.array(values, pa.binary())}
    )
