"""Values behind the headers of registries, and without any: the native parsers against oracles of tests.judges."""

import json
import random
import struct
import zlib
from dataclasses import replace
from typing import Any

import fastavro
import fastavro.schema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.splitting import MOST_BYTES, pieces
from logpersister.values.avro.rows import AvroRows, fingerprint
from logpersister.values.avro.source import AvroSource
from logpersister.values.field import FieldSpec
from logpersister.values.key import KeySpec
from logpersister.values.parser import Framing, Parsing
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.reading.columns import portion_of
from logpersister.values.reading.writers import WriterSchema
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.values.rows import rows_of
from logpersister.verify.comparison import same
from tests.examples import examples
from tests.judges.rows import RowOracle
from tests.unit.records.avro_samples import KnownWriters, encoded, evolving_topics, topics
from tests.unit.records.header_samples import GLUE_ID, damaged, framed, place_in_file
from tests.unit.records.judging import Judged, alone, judged_by, of_oracle
from tests.unit.records.protobuf_samples import class_of, files, filled, text_of
from tests.unit.records.row_samples import batch_of_values, documents, schemas
from tests.unit.records.test_rows import schema_of

FRAMINGS: list[Framing] = ["plain", "confluent", "apicurio", "glue"]
CLICK = {"type": "record", "name": "Click", "namespace": "acme", "fields": [{"name": "id", "type": "long"}]}
FORMER = {**CLICK, "fields": [{"name": "nr", "type": "int"}]}
TEXT = {**CLICK, "fields": [{"name": "id", "type": "string"}]}
SEVEN = b"\x0e"


def judged_alike(parser: Any, oracle: Any, values: list[bytes | None]) -> Judged:
    """Return what both say of values."""
    ours, theirs = judged_by(parser, values), of_oracle(oracle, values)
    assert same(list(ours), list(theirs)), (ours, theirs)
    return ours


def of_avro(schema: RowSchema, framing: Framing, writers: KnownWriters | None, values: list[bytes | None]) -> Judged:
    return judged_by(AvroRows(schema, framing, writers), values)


# Avro without a header, and with a fingerprint


def test_a_writer_of_the_manifest_and_columns_beside_it() -> None:
    fields = (FieldSpec(name="id", type="float64"), FieldSpec(name="more", type="string"))
    schema = RowSchema(fields, source=AvroSource(writers=(json.dumps(CLICK),)))
    rows, refused = of_avro(schema, "plain", None, [SEVEN, None, b"", SEVEN + b"\0"])
    assert rows == [{"id": 7.0, "more": None}, None]
    assert refused == [(2, "not_avro", None), (3, "not_avro", None)]


ADDED = {"name": "of", "type": "string", "default": "web"}


def test_fingerprints_name_the_schemas_of_the_manifest_and_of_others() -> None:
    reader = {**CLICK, "fields": [{"name": "id", "type": "long", "aliases": ["nr"]}]}
    schema = RowSchema(source=AvroSource(json.dumps(reader), writers=(json.dumps(FORMER), json.dumps(TEXT))))
    of_registry = {**CLICK, "fields": [{"name": "x", "type": "boolean"}, {"name": "id", "type": "long"}]}
    registered = fingerprint(json.dumps(of_registry))
    writers = KnownWriters({registered: of_registry})
    ids = [fingerprint(json.dumps(one)) for one in (reader, FORMER, TEXT)]
    values: list[bytes | None] = [
        framed(SEVEN, "singleObject", ids[0]),
        framed(SEVEN, "singleObject", ids[1]),
        framed(SEVEN, "singleObject", ids[2]),
        framed(b"\1" + SEVEN, "singleObject", registered),
        framed(SEVEN, "singleObject", 1),
        framed(SEVEN, "singleObject", ids[0])[:9],
        b"\xc3\x02" + framed(SEVEN, "singleObject", ids[0])[2:],
    ]
    rows, refused = of_avro(schema, "singleObject", writers, values)
    assert rows == [{"id": 7}] * 3
    assert refused == [
        (2, "other_schema", None),
        (4, "unknown_schema", None),
        (5, "no_header", None),
        (6, "no_header", None),
    ]
    assert writers.asked[0] == sorted([1, registered]), "those of the manifest are known"
    without = of_avro(schema, "singleObject", None, values)
    assert [reason for _, reason, _ in without[1]] == ["other_schema", *["unknown_schema"] * 2, *["no_header"] * 2]


@pytest.mark.slow
@examples(100)
@given(st.data())
def test_fingerprints_are_those_of_fastavro(data: st.DataObject) -> None:
    schema = data.draw(topics())[0]
    text = json.dumps(schema)
    theirs = fastavro.schema.fingerprint(fastavro.schema.to_parsing_canonical_form(schema), "CRC-64-AVRO")
    assert fingerprint(text).to_bytes(8, "little").hex() == theirs


def test_names_in_namespaces_count_in_full() -> None:
    inner = {"type": "record", "name": "In", "fields": [{"name": "e", "type": "b.E"}, {"name": "o", "type": "Out"}]}
    enum = {"type": "enum", "name": "b.E", "symbols": ["A"], "doc": "left out"}
    fields = [{"name": "e", "type": enum}, {"name": "i", "type": [inner, {"type": "map", "values": "In"}]}]
    schema = {"type": "record", "name": "Out", "namespace": "a", "fields": fields, "aliases": ["x"]}
    text = json.dumps(schema)
    theirs = fastavro.schema.fingerprint(fastavro.schema.to_parsing_canonical_form(schema), "CRC-64-AVRO")
    assert fingerprint(text).to_bytes(8, "little").hex() == theirs


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_avro_behind_other_headers_and_any_damage_is_judged(data: st.DataObject) -> None:
    written, declared, values = data.draw(evolving_topics())
    framing: Framing = data.draw(st.sampled_from(["plain", "glue", "singleObject"]))
    text, reader = json.dumps(written), json.dumps(declared)
    known = data.draw(st.booleans()) or framing == "plain"
    schema = RowSchema(source=AvroSource(reader, writers=(text,) if known and framing != "glue" else ()))
    number = {"plain": 0, "glue": GLUE_ID, "singleObject": fingerprint(text)}[framing]
    found = [
        data.draw(damaged(framed(encoded(written, value)[5:], framing, number, deflated=data.draw(st.booleans()))))
        for value in data.draw(st.lists(values, max_size=6))
    ]
    parser = AvroRows(schema, framing, None if framing == "plain" else KnownWriters({number: written}))
    assert same(list(judged_by(parser, [*found, None])), list(alone(parser, [*found, None])))


# JSON


@pytest.mark.slow
@examples(100)
@given(st.data())
def test_json_behind_a_header_is_judged_as_by_the_oracle(data: st.DataObject) -> None:
    schema, framing = data.draw(schemas()), data.draw(st.sampled_from(FRAMINGS))
    deflated = data.draw(st.booleans())
    found = [
        data.draw(damaged(framed(text, framing, 258, deflated=deflated)))
        for text in data.draw(st.lists(documents(schema), max_size=6))
    ]
    parser = Parsing(type="json", framing=framing)
    judged_alike(rows_of(parser, schema, None), RowOracle(schema, "drop", framing=framing), [*found, None])


# compression


def stored(body: bytes, *, checksum: int | None = None) -> bytes:
    """Return a zlib stream of one block that is not compressed."""
    size = struct.pack("<HH", len(body), 0xFFFF - len(body))
    return b"\x78\x01\x01" + size + body + struct.pack(">I", zlib.adler32(body) if checksum is None else checksum)


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (zlib.compress(SEVEN), None),
        (zlib.compress(SEVEN)[:-1], "bad_compression"),
        (zlib.compress(SEVEN) + b"\0", "bad_compression"),
        (stored(SEVEN, checksum=0), "bad_compression"),
        (b"", "bad_compression"),
        (zlib.compress(bytes(100_000)), "bad_compression"),
        (zlib.compress(SEVEN + b"\0"), "not_avro"),
        (zlib.compress(SEVEN + bytes(3000)), "not_avro"),
    ],
    ids=repr,
)
def test_compression_by_hand(stream: bytes, reason: str | None) -> None:
    good = framed(SEVEN, "glue", GLUE_ID)
    value = b"\x03\x05" + good[2:18] + stream
    found = of_avro(schema_of(("id", "int64")), "glue", KnownWriters({GLUE_ID: CLICK}), [good, value, good])
    assert found == ([{"id": 7}] * (2 if reason else 3), [(1, reason, None)] if reason else [])


def reasons_of(*bodies: bytes) -> list[str]:
    """Return why Avro values of zeros are refused, which are too long, or are read, and too long for their schema."""
    values: list[bytes | None] = [b"\x03\x05" + bytes(16) + zlib.compress(one) for one in bodies]
    return [reason for _, reason, _ in of_avro(schema_of(("id", "int64")), "glue", KnownWriters({0: CLICK}), values)[1]]


def test_a_stream_becomes_no_longer_than_its_length_allows() -> None:
    size = next(size for size in range(4096, 1 << 16) if size == 4096 + 64 * len(zlib.compress(bytes(size))))
    assert len(zlib.compress(bytes(size + 1))) == len(zlib.compress(bytes(size)))
    assert reasons_of(bytes(size), bytes(size + 1), bytes(1 << 26)) == ["not_avro", *["bad_compression"] * 2]


@pytest.mark.slow
def test_no_stream_becomes_longer_than_64_mib() -> None:
    noise = random.Random(7).randbytes(1 << 20)
    bodies = [noise.ljust(size, b"\0") for size in (1 << 26, (1 << 26) + 1)]
    assert all(64 * len(zlib.compress(one)) > 1 << 26 for one in bodies)
    assert reasons_of(*bodies) == ["not_avro", "bad_compression"]


def test_values_that_may_be_deflated_become_rows_in_smaller_pieces() -> None:
    """As many rows as others become, which are 64 times as long when they are parsed."""
    of_glue, plain = Parsing(type="json", framing="glue"), Parsing(type="json")
    schema = schema_of(("id", "int64"))
    key = KeySpec.model_validate({"json": {"framing": "glue", "fields": [{"name": "id", "type": "int64"}]}}).compiled
    assert portion_of(plain, AS_THEY_ARE) is None
    for parser, columns in ((of_glue, schema), (plain, replace(schema, key=key))):
        portion = portion_of(parser, columns)
        assert portion is not None
        assert portion.bytes is not None
        assert 64 * portion.bytes <= MOST_BYTES
        batch = batch_of_values([bytes(1000)] * 1000)
        assert not portion.holds(batch)
        assert all(64 * piece.num_rows * 1000 <= MOST_BYTES for piece in pieces(batch, portion))
    whole = portion_of(plain, schema)
    assert whole is not None
    assert whole.holds(batch_of_values([bytes(1000)] * 1000))


# protobuf of Glue


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_messages_of_glue_are_read_as_their_serializers_write_them(data: st.DataObject) -> None:
    file = data.draw(files())
    schema = RowSchema(source=ProtobufSource(text_of(file)))
    made = class_of(file)
    number = bytes([place_in_file(file, "t.M")])
    messages = [data.draw(filled(made())) for _ in range(data.draw(st.integers(1, 3)))]
    bodies = [number + one.SerializeToString() for one in messages]
    writers = KnownWriters({GLUE_ID: WriterSchema(text_of(file))})
    parser, columns = Parsing(type="protobuf", framing="glue"), schema
    values: list[bytes | None] = [
        framed(body, "glue", GLUE_ID, deflated=bool(place % 2)) for place, body in enumerate(bodies)
    ]
    plain = Parsing(type="protobuf", framing="plain")
    bare: list[bytes | None] = [body[1:] for body in bodies]
    ours, theirs = judged_by(rows_of(parser, columns, writers), values), judged_by(rows_of(plain, columns, None), bare)
    assert same(list(ours), list(theirs)), "the header changes nothing"
    broken: list[bytes | None] = [data.draw(damaged(one or b"")) for one in values]
    glue = rows_of(parser, columns, writers)
    assert same(list(judged_by(glue, broken)), list(alone(glue, broken)))
