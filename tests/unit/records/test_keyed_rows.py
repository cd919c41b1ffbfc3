"""Rows with a column of the key: what a bad key does, and a null value."""

import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of, make_parser
from logpersister.values.avro.rows import fingerprint
from logpersister.values.hiding import HashSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.writers import WriterSchema
from logpersister.values.row_schema import RowSchema
from tests.unit.formats.samples import Record, batch
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.header_samples import GLUE_ID, framed
from tests.unit.records.judging import Judged, judged
from tests.values import columns_of

JSON = Parsing.model_validate({"type": "json", "quarantine": {"format": "parquet", "keepValue": False}})
AVRO_KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}, {"name": "x", "type": "int"}]}
MESSAGES = 'syntax = "proto3"; message Other { int64 id = 1; } message Key { int64 id = 1; }'
WRITERS = KnownWriters(
    {
        7: AVRO_KEY,
        8: {"type": "record", "name": "Other", "fields": []},
        11: WriterSchema(MESSAGES, kind="protobuf"),
        GLUE_ID: AVRO_KEY,
    }
)


def schema_with(kind: str, column: str = "key", **key: Any) -> RowSchema:
    fields = [{"name": "n", "type": "int32", "required": True}, {"name": "s", "type": "string"}]
    value = {"fields": fields, "registry": {"url": "http://r:1"}}
    return columns_of({"json": value}, {kind: key, "column": column})


TEXT = schema_with("text", type="int64")
ID = {"name": "id", "type": "int64"}
REQUIRED = {**ID, "required": True}
OF_JSON = schema_with("json", "of", fields=[REQUIRED, {"name": "at", "type": "timestamp[s]", "format": "epoch[ms]"}])
OF_AVRO = schema_with("avro", fields=[ID])
PROTO = 'syntax = "proto2"; message Key { required int64 id = 1; optional string of = 2; }'
IDL = "struct Key { 1: required i64 id, 2: optional string of }"
AVRO_TEXT = json.dumps(AVRO_KEY)
OF_MESSAGES = schema_with("protobuf", writer=PROTO)
OF_REGISTERED = schema_with("protobuf", fields=[REQUIRED])
OF_GLUE = schema_with("avro", registry={"url": "glue://eu-west-1"}, fields=[ID])
OF_STRUCTS = schema_with("thrift", idl=IDL, protocol="compact")
OF_MAPS = schema_with("messagepack", fields=[REQUIRED])
OF_PLAIN = schema_with("avro", "k", writer=AVRO_TEXT)
OF_FINGERPRINTS = schema_with(
    "avro", singleObject={}, schema=AVRO_TEXT, registry={"url": "http://r:1", "subject": "clicks-key"}
)
OF_FRAMED_JSON = schema_with("json", framing="confluent", fields=[ID])

Pair = tuple[bytes | None, bytes | None]


def records(pairs: list[Pair]) -> pa.RecordBatch:
    return batch([Record(offset, 0, key, value) for offset, (key, value) in enumerate(pairs)])


def of_parser(schema: RowSchema, pairs: list[Pair]) -> Judged:
    parser = make_parser(JSON, schema, WRITERS)
    assert parser is not None
    return judged(parser.parse(records(pairs)))


AVRO = encoded(AVRO_KEY, {"id": 3, "x": 4}, 7)
BARE = AVRO[5:]
FINGERPRINTED = framed(BARE, "singleObject", fingerprint(AVRO_TEXT))
A, NO_ROW = b'{"n": 1, "s": "a"}', b'{"n": "1"}'
ROW, NULLS = {"n": 1, "s": "a"}, {"n": None, "s": None}


@pytest.mark.parametrize(
    ("schema", "pairs", "rows", "refused"),
    [
        (TEXT, [(b"-7", A), (None, A), (b"5", None)], [ROW | {"key": -7}, ROW | {"key": None}, NULLS | {"key": 5}], []),
        (TEXT, [(b"", A), (b"x", None), (b"\xff", A), (b"9\n", A), (b"1", NO_ROW), (b"x", NO_ROW), (b"1", A)],
         [ROW | {"key": 1}],
         [(0, "bad_text", "key"), (1, "bad_text", "key"), (2, "not_utf8", "key"), (3, "bad_text", "key"),
          (4, "wrong_type", "n"), (5, "wrong_type", "n")]),
        (schema_with("text"), [(b"a\nb\x00", A), (b"", A)], [ROW | {"key": "a\nb\0"}, ROW | {"key": ""}], []),
        (OF_JSON, [(b'{"at": 2500, "more": [], "id": 1}', A), (None, None)],
         [ROW | {"of": {"id": 1, "at": 2}}, NULLS | {"of": None}], []),
        (OF_JSON, [(b'{"at": 1}', A), (b"[]", A), (b"null", A), (b'{"id": 1, "at": ""}', None)], [],
         [(0, "missing", "of.id"), (1, "not_an_object", "of"), (2, "not_an_object", "of"), (3, "wrong_type", "of.at")]),
        (OF_AVRO, [(AVRO, A), (b"", A), (b"\0\0\0\0\x09" + AVRO[5:], A)],
         [ROW | {"key": {"id": 3}}], [(1, "no_header", "key"), (2, "unknown_schema", "key")]),
        (OF_MESSAGES, [(b"\x08\7\x12\1a", A), (b"\x08\7", None), (None, A), (b"", A), (b"\x08", A), (b"\x10\1", A)],
         [ROW | {"key": {"id": 7, "of": "a"}}, NULLS | {"key": {"id": 7, "of": None}}, ROW | {"key": None}],
         [(3, "missing", "key.id"), (4, "not_protobuf", "key"), (5, "missing", "key.id")]),
        (OF_REGISTERED, [(framed(b"\2\2\x08\7", "confluent", 11), A), (framed(b"\0\x08\1", "confluent", 7), A),
                         (b"\x08", A), (framed(b"\0\x08\1", "confluent", 10), A)],
         [ROW | {"key": {"id": 7}}],
         [(1, "other_schema", "key"), (2, "no_header", "key"), (3, "unknown_schema", "key")]),
        (OF_GLUE, [(framed(BARE, "glue", GLUE_ID, deflated=True), A), (framed(BARE, "glue", GLUE_ID), A), (AVRO, A),
                   (framed(b"", "glue", GLUE_ID, deflated=True)[:-1], A), (framed(b"", "glue", 1), A)],
         [ROW | {"key": {"id": 3}}] * 2,
         [(2, "no_header", "key"), (3, "bad_compression", "key"), (4, "unknown_schema", "key")]),
        (OF_STRUCTS, [(b"\x16\x0e\x18\1a\0", A), (b"\0", A), (b"x", A)], [ROW | {"key": {"id": 7, "of": "a"}}],
         [(1, "missing", "key.id"), (2, "not_thrift", "key")]),
        (OF_MAPS, [(b"\x82\xa2id\7\xa1x\xc0", A), (b"\x80", A), (b"\7", A), (b"\xc1", A)], [ROW | {"key": {"id": 7}}],
         [(1, "missing", "key.id"), (2, "not_an_object", "key"), (3, "not_messagepack", "key")]),
        (OF_FINGERPRINTS, [(FINGERPRINTED, A), (BARE, A), (b"\xc3\1" + bytes(8), A)],
         [ROW | {"key": {"id": 3, "x": 4}}], [(1, "no_header", "key"), (2, "unknown_schema", "key")]),
        (OF_FRAMED_JSON, [(framed(b'{"id": 1}', "confluent", 5), A), (b'{"id": 1}', A)], [ROW | {"key": {"id": 1}}],
         [(1, "no_header", "key")]),
    ],
)  # fmt: skip
def test_by_hand(schema: RowSchema, pairs: list[Pair], rows: list[Any], refused: list[Any]) -> None:
    assert of_parser(schema, pairs) == (rows, refused)


KEYS = [
    None, b"", b"7", b"x", b"\xff", b'{"id": 1}', b'{"id": 1, "at": 9}', b"{", AVRO, BARE, FINGERPRINTED, b"\x08\7",
    framed(b"\0\x08\7", "confluent", 11), framed(BARE, "glue", GLUE_ID, deflated=True), b"\x16\x0e\0", b"\x81\xa2id\7",
    encoded(AVRO_KEY, {"id": 3, "x": 4}, 8), b"\0\0\0\0\7",
]  # fmt: skip


@given(
    st.sampled_from(
        [TEXT, OF_JSON, OF_AVRO, OF_MESSAGES, OF_REGISTERED, OF_GLUE, OF_STRUCTS, OF_MAPS, OF_PLAIN, OF_FINGERPRINTS]
    ),
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from([None, A, NO_ROW, b"{"])), min_size=1, max_size=12),
)
def test_keys_and_values_do_not_touch_their_neighbours(schema: RowSchema, pairs: list[Pair]) -> None:
    rows, refused = [], []
    for place, pair in enumerate(pairs):
        made, why = of_parser(schema, [pair])
        rows += made
        refused += [(place, *more) for _, *more in why]
    assert of_parser(schema, pairs) == (rows, refused)


def test_a_key_names_folders_and_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGPERSISTER_SECRET_PSEUDONYMS_KEY", "0123456789abcdef-key")
    schema = schema_with("json", fields=[{"name": "mail", "type": "string"}, {"name": "land", "type": "string"}])
    hashed = replace(schema, hash=HashSpec(fields=("key.mail",), secret_name="pseudonyms"))
    output = OutputSpec.model_validate({"parquet": {}, "partitionBy": [{"field": "key.land", "prefix": "land="}]})
    key = json.dumps({"mail": "a@example.org", "land": "DE"}).encode()
    written = records([(key, A), (key, None), (None, A), (b"[", A)])

    found = dict(by_path(written, TopicLayout.of_one_type(layout_of(output, JSON, hashed))))

    assert sorted(found) == ["_quarantine", "land=DE", "land=__HIVE_DEFAULT_PARTITION__"]
    assert found["land=DE"].column("offset").to_pylist() == [0, 1]
    rows = found["land=DE"].column("row").to_pylist()
    mail = hmac.new(b"0123456789abcdef-key", b"a@example.org", hashlib.sha256).hexdigest()
    assert rows == [values | {"key": {"mail": mail, "land": "DE"}} for values in (ROW, NULLS)]
    assert found["land=__HIVE_DEFAULT_PARTITION__"].column("offset").to_pylist() == [2]
