"""Random schemas of writers with columns that fit them more or less, and values as the official encoding has them."""

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import fastavro
from hypothesis import strategies as st

from logpersister.schemas.types import Timestamp, leaves, parse_type
from logpersister.values.field import FieldSpec
from logpersister.values.reading.writers import NO_ID, WriterSchema
from logpersister.values.row_schema import RowSchema

Json = Any
Sample = tuple[Json, str, "st.SearchStrategy[Any]"]
"""A type of the writer, the type of a column that mostly fits, and values."""

_longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300) | st.integers(0, 2 * 10**12)
_ints = st.integers(-(2**31), 2**31 - 1) | st.integers(-300, 300)
_texts = st.text(max_size=8) | st.sampled_from(
    ["2026-11-21", "2026-11-21T05:00:00Z", "23:59:59.5", "12.50", "-1", "", "0000-01-01"]
)
_singles = st.floats(width=32)
_bytes = st.binary(max_size=20)


def _logical(base: str, name: str, **more: int) -> Json:
    return {"type": base, "logicalType": name, **more}


def _fixed(size: int, **more: Json) -> Json:
    return {"type": "fixed", "name": "f", "size": size, **more}


PRIMITIVES: list[tuple[Json, list[str], Any]] = [
    ("boolean", ["bool"], st.booleans()),
    ("int", ["int8", "int16", "int32", "int64", "float32", "float64", "date", "time[ms]", "timestamp[s]"], _ints),
    ("long", ["int64", "int32", "float32", "float64", "time[us]", "timestamp[ns]", "timestamp[ms]"], _longs),
    ("float", ["float32", "float64"], _singles),
    ("double", ["float64", "float32"], st.floats()),
    ("string", ["string", "date", "time[us]", "time[ms]", "timestamp[us]", "decimal(4,2)", "binary[base64]"], _texts),
    ("bytes", ["binary[base64]", "string", "decimal(10,2)"], _bytes),
    (_logical("int", "date"), ["date", "int32", "timestamp[s]"], _ints),
    (_logical("int", "time-millis"), ["time[ms]", "time[us]"], st.integers(-1, 86_400_000)),
    (_logical("long", "time-micros"), ["time[ms]", "time[us]"], st.integers(-1, 86_400_000_000)),
    (_logical("long", "timestamp-millis"), ["timestamp[ms]", "timestamp[s]", "timestamp[ns]", "int64"], _longs),
    (_logical("long", "timestamp-micros"), ["timestamp[us]", "timestamp[ms]"], _longs),
    (_logical("long", "local-timestamp-nanos"), ["timestamp[ns]", "timestamp[us]"], _longs),
    (_logical("bytes", "decimal", precision=8, scale=2), ["decimal(10,2)", "decimal(38,10)", "decimal(4,1)"], _bytes),
    (_logical("string", "uuid"), ["string"], _texts),
    (_fixed(16, logicalType="uuid"), ["string", "binary[base64]"], st.binary(min_size=16, max_size=16)),
    (_fixed(3), ["binary[base64]", "decimal(6,0)", "string"], st.binary(min_size=3, max_size=3)),
    ({"type": "enum", "name": "e", "symbols": ["A", "Bee"]}, ["string", "int32"], st.sampled_from(["A", "Bee"])),
]


def _renamed(node: Json, names: Iterable[int]) -> Json:
    """Return a schema in which no two types have one name."""
    if isinstance(node, list):
        return [_renamed(one, names) for one in node]
    if not isinstance(node, dict):
        return node
    found = {
        key: _renamed(value, names) if key in ("type", "items", "values") else value for key, value in node.items()
    }
    if "fields" in node:
        found["fields"] = [{**one, "type": _renamed(one["type"], names)} for one in node["fields"]]
    if "name" in node:
        found["name"] = f"n{next(names)}"  # type: ignore[call-overload]
    return found


@st.composite
def samples(draw: st.DrawFn, depth: int = 3) -> Sample:
    """Return a type with a column and values."""
    kind = draw(st.sampled_from(["primitive", "primitive", "nullable", "array", "map", "record"]))
    if kind == "primitive" or depth == 0:
        written, columns, values = draw(st.sampled_from(PRIMITIVES))
        return written, draw(st.sampled_from([columns[0], columns[0], *columns])), values
    if kind == "record":
        return draw(_records(depth - 1))
    inner, column, values = draw(samples(depth - 1))
    if kind == "nullable":
        if isinstance(inner, list):
            return inner, column, values
        return draw(st.sampled_from([["null", inner], [inner, "null"]])), column, st.none() | values
    item = column + draw(st.sampled_from(["", "", " not null"]))
    if kind == "array":
        return {"type": "array", "items": inner}, f"list<{item}>", st.lists(values, max_size=3)
    keys = st.text("abc\u00e4", max_size=2)
    return {"type": "map", "values": inner}, f"map<string, {item}>", st.dictionaries(keys, values, max_size=3)


@st.composite
def _records(draw: st.DrawFn, depth: int) -> Sample:
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=3, unique=True))
    inner = {name: draw(samples(depth)) for name in names}
    fields = [{"name": name, "type": written} for name, (written, _, _) in inner.items()]
    values = st.fixed_dictionaries({name: one for name, (_, _, one) in inner.items()})
    members = [
        f"{name}: {column}{draw(st.sampled_from(['', ' not null']))}"
        for name, (_, column, _) in inner.items()
        if draw(st.integers(0, 9))
    ]
    if draw(st.integers(0, 9)) == 0 or not members:
        members.append("extra: string")
    members = draw(st.permutations(members))
    return {"type": "record", "name": "r", "fields": fields}, f"struct<{', '.join(members)}>", values


@st.composite
def topics(draw: st.DrawFn) -> tuple[Json, RowSchema, "st.SearchStrategy[Any]"]:
    """Return the schema of a writer, columns, and values that it may write."""
    written, column, values = draw(_records(3))
    fields = []
    for member in getattr(parse_type(column), "members", ()):
        timed = any(isinstance(leaf, Timestamp) for leaf in leaves(member.type))
        notation = draw(st.sampled_from([None, "epoch[ms]", "epoch[s]", "epoch[ns]"])) if timed else None
        fields.append(FieldSpec(name=member.name, type=str(member.type), required=member.required, format=notation))
    return _renamed(written, iter(range(100_000))), RowSchema(fields=tuple(fields)), values


ADDED: list[tuple[Json, Json]] = [
    ("long", -7),
    ("boolean", True),
    ("float", 0.1),
    ("string", '\u00e4"b'),
    ("bytes", "\u00ff\u0001"),
    (["null", "int"], None),
    (["double", "null"], 2),
    (_logical("bytes", "decimal", precision=8, scale=2), "\u00fe\u0001"),
    (_logical("long", "timestamp-millis"), 5),
    ({"type": "array", "items": ["int", "null"]}, [1, None, 300]),
    ({"type": "map", "values": "string"}, {"a": "b", "": ""}),
]
"""Fields that no writer has, with their defaults."""
_WIDER: Mapping[str, list[str]] = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"]}


@st.composite
def readers(draw: st.DrawFn, written: Json, path: str = "", *, may_wrap: bool = True) -> Json:
    """Return a schema by which what another one has written may be read, mostly."""
    if isinstance(written, list):
        branches = [draw(readers(one, path, may_wrap=False)) for one in written]
        return branches if draw(st.integers(0, 9)) else branches[written.index("null") - 1]
    if isinstance(written, dict):
        found = dict(written)
        for inner in ("items", "values"):
            if inner in found:
                found[inner] = draw(readers(found[inner], path + inner[0]))
        if "fields" in found:
            found["fields"] = draw(_evolved_fields(found["fields"], path))
    else:
        found = draw(st.sampled_from([written, *_WIDER.get(written, [])]))
    return ["null", found] if may_wrap and draw(st.integers(0, 4)) == 0 else found


@st.composite
def _evolved_fields(draw: st.DrawFn, written: list[Json], path: str) -> Json:
    """Return fields of which some are left out, renamed or new."""
    fields = []
    for field in written:
        evolved = {"name": field["name"], "type": draw(readers(field["type"], f"{path}_{field['name']}"))}
        match draw(st.integers(0, 9)):
            case 0:
                continue
            case 1:
                evolved |= {"name": f"{field['name']}2", "aliases": ["other", field["name"]]}
            case 2 if field["type"] == "long":
                evolved |= {"default": 1}
        fields.append(evolved)
    for number, (type_, default) in enumerate(draw(st.lists(st.sampled_from(ADDED), max_size=2))):
        fields.append({"name": f"new{number}", "type": type_, "default": default})
    if draw(st.integers(0, 4)) == 0 or not fields:
        inner = {"name": "x", "type": "double", "default": 1.5}, {"name": "y", "type": "int"}
        struct = {"type": "record", "name": f"added{path}", "fields": list(inner)}
        default = draw(st.sampled_from([{"y": 1}, {"y": 2, "x": 3}]))
        fields.append({"name": "struct", "type": struct, "default": default})
    if draw(st.integers(0, 19)) == 0:
        fields.append({"name": "required", "type": "int"})
    return draw(st.permutations(fields))


@st.composite
def evolving_topics(draw: st.DrawFn) -> tuple[Json, Json, "st.SearchStrategy[Any]"]:
    """Return the schema of a writer, the schema that declares the columns, and values that the writer may write."""
    written, _, values = draw(topics())
    return written, {**written, "fields": draw(_evolved_fields(written["fields"], ""))}, values


def without_meanings(node: Json) -> Json:
    """Return a schema without logical types: so values are numbers and bytes in Python, too."""
    if isinstance(node, list):
        return [without_meanings(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: without_meanings(value) for key, value in node.items() if key != "logicalType"}
    if "fields" in found:
        found["fields"] = [{**one, "type": without_meanings(one["type"])} for one in node["fields"]]
    return found


def encoded(schema: Json, value: Any, writer_id: int = 1, size: int = 4) -> bytes:
    """Return a value as a serializer writes it: a zero byte, the id, and the record."""
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(without_meanings(schema)), value)
    return b"\0" + writer_id.to_bytes(size, "big") + file.getvalue()


class KnownWriters:
    """Schemas by id, which nobody has to be asked for."""

    def __init__(self, schemas: Mapping[int, Json | WriterSchema], guids: Mapping[int, int] | None = None) -> None:
        self._schemas = schemas
        self._guids = guids or {}
        self.asked: list[list[int]] = []

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        wanted = list(ids)
        self.asked.append(wanted)
        return {one: self._known(one) for one in wanted}

    def ids(self, guids: Iterable[int]) -> Mapping[int, int]:
        return {one: self._guids.get(one, NO_ID) for one in guids}

    def of_subject(self, subject: str) -> "KnownWriters":
        return self

    def _known(self, writer_id: int) -> WriterSchema:
        found = self._schemas.get(writer_id)
        if found is None:
            return WriterSchema(None, f"nobody knows schema {writer_id}", is_unknown=True)
        return found if isinstance(found, WriterSchema) else WriterSchema(json.dumps(found))
