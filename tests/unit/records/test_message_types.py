"""Types in messages of protobuf: by hand, and as the official library reads any values."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import escape_value
from logpersister.records.message_types import MessageTypes
from logpersister.records.schema import RECORDS, RECORDS_WITH_HEADERS
from logpersister.records.topic_layout import layout_for
from logpersister.records.type_names import TypeNames
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.protobuf.text import read_text
from logpersister.values.reading.writers import WriterSchema
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from tests.examples import examples
from tests.unit.manifest.documents import spec_with
from tests.unit.records.avro_samples import KnownWriters
from tests.unit.records.batches import placed

BODY = """
message Order { %(o)s int64 id = 1; %(o)s string name = 2; %(o)s Order next = 3; }
message Meta { %(o)s google.protobuf.Any any = 1; oneof inner { Order o = 2; int64 n = 3; } %(o)s Meta meta = 4; }
message Envelope {
  %(o)s string id = 1;
  %(o)s Meta meta = 2;
  oneof payload {
    Order order = 10; Order refund = 11; string text = 12; bytes raw = 13; int32 number = 14; Kind kind = 15;
    google.protobuf.Any boxed = 16; fixed64 big = 17; float small = 18; %(group)s
  }
  %(o)s google.protobuf.Any any = 20;
  repeated Order many = 21;
}
"""
PROTO3 = 'syntax = "proto3"; package shop; import "google/protobuf/any.proto"; enum Kind { NONE = 0; SOME = 3; }' + (
    BODY % {"o": "", "group": ""}
)
PROTO2 = 'syntax = "proto2"; package shop; import "google/protobuf/any.proto"; enum Kind { NONE = 0; SOME = 3; }' + (
    BODY % {"o": "optional", "group": "group Grouped = 19 { optional int64 id = 1; }"}
)
WAYS: Sequence[dict[str, Any]] = (
    {"any": {}},
    {"any": {"field": "any"}},
    {"any": {"field": "boxed"}},
    {"any": {"field": "meta.any"}},
    {"any": {"field": "meta.meta.any"}},
    {"oneof": {"name": "payload"}},
    {"oneof": {"name": "payload", "parse": "field"}},
    {"oneof": {"name": "meta.inner"}},
    {"oneof": {"name": "meta.inner", "parse": "field"}},
)


def class_of(text: str) -> type[Message]:
    """Return the class of the envelope."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(any_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(read_text(text, "t.proto"))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Envelope"))


CLASSES: Mapping[str, type[Message]] = {text: class_of(text) for text in (PROTO2, PROTO3)}


def schema_of(text: str) -> RowSchema:
    fields = (FieldSpec(name="id", type="string"),)  # messages with themselves in them are no columns
    return RowSchema(source=ProtobufSource(text, "shop.Envelope"), fields=fields)


def types_of(way: dict[str, Any]) -> TypesSpec:
    return TypesSpec.model_validate({**way, "entries": [{"names": ["a"]}], "others": {"action": "store"}})


Judged = list[tuple[str, bytes] | str | None]


def of_members(way: dict[str, Any], schema: RowSchema, values: Sequence[bytes | None], **parser: Any) -> Judged:
    """Return of each value its type and what parsers get, or why it has none."""
    writers = parser.pop("writers", None)
    types = types_of(way)
    found_by = MessageTypes(TypeNames(types), Parsing(type="protobuf", **parser), schema, writers)
    rows: list[Any] = [{"offset": offset, "timestamp": 0, "value": value} for offset, value in enumerate(values)]
    batch = pa.RecordBatch.from_pylist(rows, schema=RECORDS)
    found = found_by.find(batch)
    bodies: list[Any] = found_by.inside(batch).column("value").to_pylist()
    judged: Judged = []
    for index, body in zip(found.indices.tolist(), bodies, strict=True):
        place = found.places[index]
        judged.append((place.segment, body) if place.reason is None else place.reason)
    return judged


def of_library(way: dict[str, Any], text: str, value: bytes) -> str | None:
    """Return the type of a message as the official library reads it."""
    message: Any = any_pb2.Any() if way == {"any": {}} else CLASSES[text]()
    message.ParseFromString(value)
    path: str = way["oneof"]["name"] if "oneof" in way else way["any"].get("field", "")
    *steps, last = path.split(".")
    for step in steps:
        if not message.HasField(step):
            return None
        message = getattr(message, step)
    if "oneof" in way:
        found = message.WhichOneof(last)
        is_number = found in ("n", "number", "kind", "big", "small")
        return None if way["oneof"].get("parse") == "field" and is_number else found
    if last:
        message = getattr(message, last) if message.HasField(last) else any_pb2.Any()
    return message.type_url.split("/")[-1] or None


@st.composite
def envelopes(draw: st.DrawFn, made: type[Message], depth: int = 2) -> bytes:
    """Return some fields of a message, each perhaps several times."""
    values = st.one_of(st.just(b""), st.just(b"\x08\x07"), st.binary(max_size=4))
    urls = st.sampled_from(["", "/", "a", "type.googleapis.com/shop.Order", "x/y/shop.Refund", "ü/ü"])
    anys = st.builds(lambda url, value: any_pb2.Any(type_url=url, value=value).SerializeToString(), urls, values)
    metas = st.lists(
        st.one_of(
            anys.map(lambda one: _sized(1, one)), st.just(_sized(2, b"\x08\x01")), st.just(b"\x18\x05"), values,
            *([metas_inside(anys)] if depth else []),
        ),
        max_size=3,
    ).map(b"".join)  # fmt: skip
    fields = st.one_of(
        st.just(_sized(1, b"id")),
        metas.map(lambda one: _sized(2, one)),
        st.sampled_from([10, 11, 12, 13, 99]).flatmap(lambda number: values.map(lambda one: _sized(number, one))),
        st.sampled_from(
            [b"\x70\x05", b"\x78\x03", b"\x78\x04", b"\x78\x83\x80\x80\x80\x10", b"\x72\x01a", b"\x55abcd"]
        ),
        anys.map(lambda one: _sized(16, one)),
        anys.map(lambda one: _sized(20, one)),
        st.just(b"\x89\x01abcdefgh"),
        st.just(b"\x95\x01abcd"),
        st.just(b"\x9b\x01\x08\x01\x9c\x01"),
        anys,
    )
    data = bytearray(b"".join(draw(st.lists(fields, max_size=5))))
    if data and draw(st.integers(0, 6)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def metas_inside(anys: "st.SearchStrategy[bytes]") -> "st.SearchStrategy[bytes]":
    return anys.map(lambda one: _sized(4, _sized(1, one)))


def _sized(number: int, data: bytes) -> bytes:
    tag = number << 3 | 2
    head = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
    return head + bytes([len(data)]) + data


@pytest.mark.slow
@examples(200)
@given(st.data(), st.sampled_from([PROTO2, PROTO3]), st.sampled_from(WAYS))
def test_members_and_the_official_library_say_the_same(data: st.DataObject, text: str, way: dict[str, Any]) -> None:
    values = data.draw(st.lists(st.none() | envelopes(CLASSES[text]), min_size=1, max_size=4))
    schema = schema_of(text)
    found = of_members(way, schema, values, framing="plain")
    for value, ours in zip(values, found, strict=True):
        try:
            expected = None if value is None else of_library(way, text, value)
        except DecodeError:
            continue  # it looks at all of a message
        assert ours == "no_type" if expected is None else isinstance(ours, tuple) and ours[0] == _folder(expected), (
            value
        )


def _folder(name: str) -> str:
    return f"type={escape_value(name)}"


ORDER, LATER = b"\x08\x07", b"\x12\x01x"


@pytest.mark.parametrize(
    ("way", "value", "expected"),
    [
        ({"oneof": {"name": "payload"}}, _sized(10, ORDER) + _sized(10, LATER), ("type=order", ORDER + LATER)),
        ({"oneof": {"name": "payload"}}, _sized(10, ORDER) + _sized(11, LATER), ("type=refund", LATER)),
        ({"oneof": {"name": "payload", "parse": "field"}}, _sized(10, ORDER) + b"\x70\x05", "no_type"),
        ({"oneof": {"name": "payload", "parse": "field"}}, b"\x70\x05" + _sized(13, ORDER), ("type=raw", ORDER)),
        ({"oneof": {"name": "payload"}}, _sized(10, ORDER)[:-1], "no_type"),
        ({"any": {"field": "boxed"}}, _sized(16, _sized(1, b"t/a")) + _sized(12, b""), "no_type"),
        (
            {"any": {"field": "any"}},
            _sized(20, _sized(1, b"t/a") + _sized(2, b"1")) + _sized(20, _sized(1, b"t/b")),
            ("type=b", b"1"),
        ),
        ({"any": {}}, _sized(2, b"1") + _sized(1, b"shop.Order"), ("type=shop.Order", b"1")),
        ({"any": {}}, _sized(1, b"t/\xff"), "no_type"),
        ({"any": {}}, None, "no_type"),
    ],
)
def test_what_comes_last_counts(way: dict[str, Any], value: bytes | None, expected: object) -> None:
    schema = schema_of(PROTO3)
    assert of_members(way, schema, [value], framing="plain") == [expected]


def test_each_writer_has_a_schema_of_its_own() -> None:
    other = 'syntax = "proto3"; message Envelope { oneof payload { int64 a = 1; string b = 2; } } message Bare { }'
    packed = descriptor_pb2.FileDescriptorSet(file=[read_text(other)]).SerializeToString()
    schemas = {
        1: WriterSchema(PROTO3),
        2: WriterSchema(other),
        3: WriterSchema("no schema"),
        4: WriterSchema(None, "it is registered as AVRO"),
        5: WriterSchema(base64.b64encode(packed).decode()),
    }

    def behind(schema_id: int, places: bytes, message: bytes) -> bytes:
        return b"\0" + schema_id.to_bytes(4, "big") + places + message

    cases: dict[bytes, object] = {
        behind(1, b"\x02\x04", _sized(10, ORDER)): ("type=order", ORDER),
        behind(1, b"\0", _sized(10, ORDER)): "no_type",  # an Order, which has no such oneof
        behind(2, b"\0", b"\x08\x01"): ("type=a", b""),
        behind(2, b"\x02\x02", b"\x08\x01"): "no_type",
        behind(5, b"\0", _sized(2, b"x")): ("type=b", b"x"),
        behind(3, b"\0", b"\x08\x01"): "no_type",
        behind(4, b"\0", b"\x08\x01"): "no_type",
        behind(9, b"\0", b"\x08\x01"): "unknown_schema",
        behind(2**31, b"\0", b"\x08\x01"): "unknown_schema",
        behind(9, b"", b""): "no_type",
        b"no header": "no_type",
    }
    way = {"oneof": {"name": "payload"}}
    assert of_members(way, AS_THEY_ARE, [*cases], writers=KnownWriters(schemas)) == [*cases.values()]
    itself = behind(9, b"\0", _sized(1, b"t/a"))
    assert of_members({"any": {}}, AS_THEY_ARE, [itself], writers=KnownWriters({})) == [("type=a", b"")], (
        "nobody is asked"
    )


def spec_of(types: dict[str, Any], **more: Any) -> Spec:
    block = {"schema": PROTO3, "message": "shop.Envelope", "fields": [{"name": "id", "type": "string"}]}
    return spec_with(value={"protobuf": block}, output={"jsonl": {}}, types=types, **more)


def rows_of(spec: Spec, values: Sequence[bytes]) -> list[tuple[str, Any]]:
    """Return folder and row of each value, or why it is refused."""
    records: list[Any] = [
        {"offset": offset, "timestamp": 0, "value": value, "headers": []} for offset, value in enumerate(values)
    ]
    batch = pa.RecordBatch.from_pylist(records, schema=RECORDS_WITH_HEADERS)
    told = sorted(placed(batch, layout_for(spec, lambda _: None)).items())
    return [(path, row if reason is None else reason) for _, (path, reason, _, row) in told]


def test_parsers_get_the_value_of_an_any() -> None:
    """Entries name a message of the topic's schema, or have one of their own."""
    entries = [
        {
            "names": ["shop.Order"],
            "value": {"protobuf": {"message": "shop.Order", "fields": [{"name": "id", "type": "int64"}]}},
        },
        {"names": ["shop.Other"], "value": {"protobuf": {"schema": "message Other { optional int64 id = 1; }"}}},
        {"names": ["json"], "value": {"json": {"fields": [{"name": "a", "type": "int32"}]}}},
        {"names": ["raw"], "value": {"bytes": {}}},
    ]
    spec = spec_of({"any": {"field": "any"}, "entries": entries})

    def boxed(name: bytes, value: bytes) -> bytes:
        return _sized(20, _sized(1, b"t/" + name) + _sized(2, value))

    values = [
        boxed(b"shop.Order", ORDER),
        boxed(b"shop.Other", b"\x08\x09"),
        boxed(b"json", b'{"a": 5}'),
        boxed(b"shop.Order", b"\x08"),
        boxed(b"stranger", b""),
    ]
    assert rows_of(spec, values) == [
        ("type=shop.Order", {"id": 7}),
        ("type=shop.Other", {"id": 9}),
        ("type=json", {"a": 5}),
        ("_quarantine", "not_protobuf"),
        ("_quarantine", "unknown_type"),
    ]


def test_parsers_get_the_whole_value_of_a_oneof_or_its_field() -> None:
    value = _sized(1, b"x") + _sized(10, ORDER)
    entries: list[Any] = [{"names": ["order"], "value": {"protobuf": {"fields": [{"name": "id", "type": "string"}]}}}]
    assert rows_of(spec_of({"oneof": {"name": "payload"}, "entries": entries}), [value]) == [
        ("type=order", {"id": "x"})
    ]
    entries = [
        {
            "names": ["order"],
            "value": {"protobuf": {"message": "shop.Order", "fields": [{"name": "id", "type": "int64"}]}},
        }
    ]
    spec = spec_of({"oneof": {"name": "payload", "parse": "field"}, "entries": entries})
    assert rows_of(spec, [value]) == [("type=order", {"id": 7})]


@pytest.mark.parametrize("way", [{"any": {"field": "any"}}, {"oneof": {"name": "payload", "parse": "field"}}])
def test_fields_of_the_whole_message_are_a_column_of_every_type(way: dict[str, dict[str, Any]]) -> None:
    [(kind, place)] = way.items()
    names = ["order"] if kind == "oneof" else ["Order"]
    entries = [
        {"names": names, "value": {"protobuf": {"message": "shop.Order", "fields": [{"name": "id", "type": "int64"}]}}}
    ]
    spec = spec_of({kind: {**place, "column": "envelope"}, "entries": entries})
    part = _sized(20, _sized(1, b"t/Order") + _sized(2, ORDER)) if kind == "any" else _sized(10, ORDER)
    [good, bad] = rows_of(spec, [_sized(1, b"x") + part, part + _sized(1, b"\xff")])
    assert good == (f"type={'Order' if kind == 'any' else 'order'}", {"id": 7, "envelope": {"id": "x"}})
    assert bad == ("_quarantine", "not_utf8")
