"""Each rule that decides which object a record is in has a version, which changes with what the rule does."""

import ast
import hashlib
import inspect
import io
import json as json_text
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logpersister.compiled.topic import CompiledTopic
from logpersister.formats import registry
from logpersister.formats.archive.entries import KEY_BYTES
from logpersister.formats.base import Encoder, ObjectIdentity
from logpersister.formats.kafka.write import KafkaFormat
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import Format, OutputSpec
from logpersister.manifest.revisions.revision import resource_of, revision_of, under_rules
from logpersister.pipeline import rules as rule_numbers
from logpersister.pipeline.reader.decode import select
from logpersister.pipeline.rules import begun_by_others, noted_rules, other_rules, rules_of
from logpersister.ranges import Range, TopicPartition
from logpersister.records import (
    field_paths,
    field_times,
    frames,
    hiding,
    keeping,
    key_folders,
    keyed_rows,
    late,
    paths,
    type_names,
    zones,
)
from logpersister.records.escaping import QUARANTINE
from logpersister.records.schema import HEADERS
from logpersister.records.type_layout import layout_of
from logpersister.storage import names
from logpersister.values import rows
from logpersister.values.avro import rows as avro_rows
from logpersister.values.csv.block import CsvSpec
from logpersister.values.field import FieldSpec
from logpersister.values.json import document_parser
from logpersister.values.parser import Parsing
from logpersister.values.protobuf import rows as protobuf_rows
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.reading import native_rows, parsers
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.values.thrift.source import ThriftSource
from tests.unit.formats.samples import with_headers
from tests.unit.manifest.documents import accepted
from tests.unit.pipeline import row_behaviours
from tests.unit.reader.test_verbatim import LOG
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.batches import batch_of
from tests.unit.records.kinds import of_csv, of_json, of_messagepack, of_regex, of_thrift
from tests.unit.records.messagepack_samples import Written, packed
from tests.unit.records.test_keeping import HEADERS as SOME_HEADERS
from tests.unit.records.test_keeping import TABLE, kept, spec_of
from tests.unit.records.test_keeping import records as records_of
from tests.values import columns_of as value_columns

BERLIN = [{"date": {"granularity": "day", "timezone": "Europe/Berlin"}}]
UTC = [{"date": {"granularity": "day"}}, {"date": {"granularity": "hour", "timezone": "Etc/UTC"}}]


def used(**spec: Any) -> Mapping[str, int | str]:
    return rules_of(accepted({f"spec.{field.replace('__', '.')}": value for field, value in spec.items()}))


def test_only_what_a_spec_uses_is_among_its_rules() -> None:
    assert used() == {"format:text": 1, "names": 1}
    assert used(value={"json": {}}) == {"format:text": 1, "names": 1, "parser:json": 1}
    schema = {"fields": [{"name": "n", "type": "int8"}]}
    all_of_rows = {"format:parquet": 2, "names": 1, "rows:json": 2}
    assert used(output={"parquet": {}}, value={"json": schema}) == all_of_rows
    lenient: list[dict[str, Any]] = [
        {"unknownFields": "keep"},
        {"faults": {"overflow": "setNull"}},
        {"fields": [{"name": "n", "type": "int8", "default": 1}]},
    ]
    for more in lenient:
        assert used(output={"parquet": {}}, value={"json": schema | more}) == all_of_rows | {"rows:faults": 1}
    avro = {"registry": {"url": "http://registry:8081"}, **schema}
    assert used(value={"avro": avro}) == {"format:text": 1, "names": 1, "rows:avro": 2}
    assert used(output__partitionBy=UTC) == {"format:text": 1, "names": 1, "paths": 1}
    by_text = [{"date": {"granularity": "day", "field": "n", "format": "epoch[s]"}}]
    of_times = {"format:text": 1, "names": 1, "paths": 1, "paths:fields": 2, "rows:json": 2, "times": 1}
    assert used(output__partitionBy=by_text, value={"json": schema}) == of_times
    dates = {"fields": [{"name": "n", "type": "date"}]}
    by_date = [{"date": {"granularity": "day", "field": "n"}}]
    assert used(output__partitionBy=by_date, value={"json": dates}) == of_times
    columns = {"fields": [{"name": "n", "type": "timestamp[s]", "format": "iso8601"}]}
    assert used(value={"json": columns}) == {"format:text": 1, "names": 1, "rows:json": 2, "times": 1}
    zone = zones.zone_rules("Europe/Berlin")
    assert used(output__partitionBy=BERLIN) == {"format:text": 1, "names": 1, "paths": 1, "zone:Europe/Berlin": zone}
    assert used(keep=[{"header": "a", "in": ["b"]}]) == {"format:text": 1, "keep": 1, "names": 1}
    types = {"header": "a", "entries": [{"names": ["b"], "keep": [{"header": "c", "in": ["d"]}]}]}
    assert "keep" in used(types=types)
    assert len({zone, zones.zone_rules("Europe/Paris"), zones.zone_rules("Europe/Berlin")}) == 2


def test_where_late_records_go_is_a_rule_unless_they_stand_where_others_do() -> None:
    for to, expected in (("append", {}), ("folder", {"late": 1}), ("quarantine", {"late": 1, "format:parquet": 2})):
        found = used(output__partitionBy=UTC[:1], finish={"late": to})
        assert found == {"format:text": 1, "names": 1, "paths": 1} | expected


def test_which_key_fields_are_hashed_with_is_among_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [{"name": "mail", "type": "string"}]
    hidden = {"json": {"fields": fields}, "hash": {"fields": ["mail"], "secretName": "people"}}

    def keys() -> list[int | str | None]:
        found = used(output={"jsonl": {}}, value=hidden, quarantine={"keepValue": True})
        return [found["rows:hiding"], found["rows:hiding:key"]]

    assert keys() == [1, "none"]
    told = set()
    for key in ("a key of many characters", "another key of many characters"):
        monkeypatch.setenv("LOGPERSISTER_SECRET_PEOPLE_KEY", key)
        assert key not in str(keys())
        told.add(keys()[1])
    assert len(told) == 2


def test_other_rules_are_another_revision_and_those_that_are_not_used_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def revisions() -> list[str]:
        resources = [accepted({"spec.output.partitionBy": by}) for by in (BERLIN, UTC, [])]
        return [revision_of(resource, "1.0", rules_of(resource)).hash for resource in resources]

    before = revisions()
    assert len(set(before)) == 3
    zones.zone_rules.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(zones, "_file", lambda _: b"another edition of tzdata")
        after = revisions()
    zones.zone_rules.cache_clear()
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True, True]
    monkeypatch.setattr(paths, "RULES", 2)
    assert [old == new for old, new in zip(before, revisions(), strict=True)] == [False, False, True]


def test_a_document_of_a_release_that_noted_none_has_the_rules_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = accepted({"spec.output.partitionBy": BERLIN, "spec.value": {"json": {}}})
    document = revision_of(resource, "0.1.0").document
    ours = rules_of(resource)
    monkeypatch.setattr("logpersister.pipeline.rules.version", lambda _: "2026.6")
    assert (noted_rules(document, ours), other_rules(document, resource)) == (ours, "")
    monkeypatch.setattr("logpersister.pipeline.rules.version", lambda _: "2031.1")
    assert other_rules(document, resource) == (
        "logpersister 0.1.0 under other rules: zone:Europe/Berlin (there of tzdata 2026.6, here "
        f"{ours['zone:Europe/Berlin']})"
    )


def test_what_was_promised_anew_may_have_been_begun_by_any_build() -> None:
    resource = accepted({"spec.value": {"json": {}}})
    ours = rules_of(resource)
    theirs = {**ours, "parser:json": 7, "parser:strict": 1}
    first = revision_of(resource, "1.0", theirs)
    anew = under_rules(first.document, first.hash, theirs, ours)
    back = under_rules(anew.document, anew.hash, ours, theirs)
    assert under_rules(back.document, back.hash, theirs, ours) == anew, "it does not go on for ever"
    assert len({first.hash, anew.hash, back.hash}) == 3
    assert resource_of(anew.document).spec == resource_of(first.document).spec
    assert begun_by_others(first.document, resource) == other_rules(first.document, resource)
    differing = "parser:json (there 7, here 1), parser:strict (there 1, here none)"
    for document in (first.document, anew.document, back.document):
        assert begun_by_others(document, resource) == f"logpersister 1.0 under other rules: {differing}"
    assert other_rules(anew.document, resource) == ""
    ours_first = under_rules(
        under_rules(revision_of(resource, "1.0", ours).document, "0", ours, theirs).document, "1", theirs, ours
    )
    assert begun_by_others(ours_first.document, resource) == (
        "logpersister 1.0 under other rules: others have had it meanwhile"
    )


# What the rules do


TIMES = [
    -1,
    0,
    1,
    59_999,
    86_399_999,
    951_782_400_000,
    1_774_746_000_000,
    1_792_890_000_000,
    253_370_764_800_000,
    2**62,
]
VALUES = [
    None, b"", b"{}", b" [1, 2.5e3, true, null] ", b'{"a": 1, "a": 2}', b"{} {}", b"[NaN]", b"-0", b"01", b"1e400",
    b"\xff", b'"\\ud83d"', b'"\x01"', b"\xef\xbb\xbf{}", b"[" * 128 + b"]" * 128, b"[" * 129 + b"]" * 129, b'{"a":1,}',
    b"'a'", b"\n7\t", b"line\nbreak", b"back\\slash",
]  # fmt: skip
SCHEMA = value_columns(
    {
        "json": {
            "fields": [
                {"name": "id", "type": "int32", "required": True},
                {"name": "any", "type": "json"},
                {"name": "at", "type": "timestamp[ms]"},
                {"name": "price", "type": "decimal(5,2)"},
                {"name": "tags", "type": "map<string, list<float32 not null>>"},
            ]
        }
    }
)
ROWS = [
    b'{"id": 1, "at": "2026-11-21T05:00:00.9999+01:00", "price": "1.50", "tags": {"a": [1, 0.1]}}',
    b'{"id": 1, "at": "2026-11-21 05:00:00"}', b'{"id": 1.0}', b'{"id": "1"}', b'{"id": 2147483648}', b'{"id": null}',
    b'{"id": 1, "price": 1.505}', b'{"id": 1, "price": 1e2}', b'{"id": 1, "tags": {"a": [], "a": []}}',
    b'{"id": 1, "x": 0}', b'{"id": 1, "id": 1}', b'{"id": 1, "tags": {"a": [1e39]}}', b'{"id": 1, "at": "yesterday"}',
    b'{"ID": 1}',
]  # fmt: skip
UNITS = ("s", "ms", "us", "ns")
LEVELS = [
    {"date": {"granularity": "day"}},
    {"offset": {"every": 7}},
    {"date": {"granularity": "minute", "prefix": "m_"}},
]


def layouts() -> Iterable[bytes]:
    batch = batch_of(TIMES, [index * 5 for index in range(len(TIMES))])
    for by in (LEVELS, LEVELS[1:], LEVELS[2:], []):
        found = paths.make_layout(OutputSpec.model_validate({"partitionBy": by}).partition_by).assign(batch)
        yield from (found.paths[index].encode() for index in found.indices)


def late_ones() -> Iterable[bytes]:
    """Where each record stands by horizons around the ends of folders."""
    hours = [{"date": {"granularity": "hour", "timezone": "Etc/UTC"}}]
    instants = [*TIMES[1:-1], 1_792_886_400_000, 1_792_890_000_000, 1_792_893_600_000]
    batch = batch_of(TIMES, [index * 5 for index in range(len(TIMES))])
    for to, by in product(("folder", "quarantine"), (hours, LEVELS[:1])):
        spec = accepted({"spec.output": {"partitionBy": by}, "spec.finish": {"late": to}}).spec
        for horizon in instants:
            lateness = CompiledTopic(spec, lambda _: None).lateness_at(horizon)
            assert lateness is not None
            found = lateness.place(paths.make_layout(spec.output.partition_by).assign(batch))
            yield from (found.paths[index].encode() for index in found.indices)
            if found.refused is not None:
                yield repr([found.refused.rows.tolist(), found.refused.reasons.to_pylist()]).encode()


def json() -> Iterable[bytes]:
    refused = document_parser.JsonParser().parse(batch_of([0] * len(VALUES), values=VALUES)).refused
    assert refused is not None
    yield refused.rows.tobytes()


def rows_of_a_schema() -> Iterable[bytes]:
    """What becomes rows, and which: repr of Python's values, so that no other Arrow changes it."""
    unknown: Any
    for unknown in ("drop", "refuse"):
        values = [*VALUES, *(b'{"id": 5, "any": %s}' % (value or b"null") for value in VALUES), *ROWS]
        yield from said(of_json(SCHEMA, unknown), values)


def rows_of_avro() -> Iterable[bytes]:
    """Rows and reasons of what a writer has written, of which each byte is once another one."""
    schema = RowSchema(fields=tuple(one for one in SCHEMA.fields or () if one.name != "any"))
    written = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "id", "type": ["null", "int"]},
            {"name": "left out", "type": {"type": "array", "items": "string"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 1}},
            {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "float"}}},
        ],
    }
    value = {"id": 5, "left out": ["a"], "at": 1_795_237_200_000_001, "price": b"\x03", "tags": {"a": [1.0, 0.1]}}
    writers = KnownWriters({1: written, 0x41: {"type": "record", "name": "r", "fields": []}})
    yield from said(avro_rows.AvroRows(schema, "confluent", writers), changed(encoded(written, value)))


def rows_of_messagepack() -> Iterable[bytes]:
    """Rows and reasons of a value, of which each byte is once another one."""
    schema = RowSchema(fields=tuple(one for one in SCHEMA.fields or () if one.name != "any"))
    at = Written(b"\xd7\xff" + (5 << 34 | 1_795_237_200).to_bytes(8, "big"))
    good = packed({"id": 5, "left out": {3: ["a"]}, "at": at, "price": "1.5", "tags": {"a": [1.0, 2]}})
    unknown: Any
    for unknown in ("drop", "refuse"):
        yield from said(of_messagepack(schema, unknown), changed(good))


PLAIN = RowSchema(fields=tuple(one for one in SCHEMA.fields or () if one.name != "tags"))
LINES = [
    b"1,{},2026-11-21T05:00:00Z,1.50", b"1, {} ,,", b",,,", b'"1","",,', b"1", b"1,2,3,4,5", b"1,2,3,4\r\n", b"1\n,,,",
    b"1,[1,2026-11-21,1e1", b'1,"[1,2]",2026-11-21T05:00:00+01:00,1000', b"\xff,,,", b"x,null,,", b"1.0,,,", b"1,-,-,-",
]  # fmt: skip


def rows_of_csv() -> Iterable[bytes]:
    for syntax in (CsvSpec(), CsvSpec(quote="", escape='"', null_text="-")):
        yield from said(of_csv(PLAIN, syntax), LINES)


def rows_of_a_pattern() -> Iterable[bytes]:
    pattern = r"(?P<id>\S+?),(?P<any>.*?)(?:,(?P<at>\d[^,]*))?,\s*(?P<price>[^,]*)"
    for null in (None, "-"):
        yield from said(of_regex(PLAIN, RegexSpec(pattern=pattern, null_text=null)), LINES)


def changed(good: bytes) -> list[bytes | None]:
    """Return a value, of which each byte is once another one, and none."""
    return [b"", good, *(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :] for at in range(len(good)))]


def said(parser: parsers.Parser, values: Sequence[bytes | None]) -> Iterable[bytes]:
    parsed = parser.parse(batch_of([0] * len(values), values=values))
    made: Any = parsed.rows
    assert parsed.refused is not None
    yield repr(made.to_pylist()).encode()
    yield repr([one.to_pylist() for one in (parsed.refused.reasons, parsed.refused.fields)]).encode()


def parquet() -> Iterable[bytes]:
    """Columns, rows and row groups; the bytes are those of `tests.unit.formats.test_parquet_bytes`."""
    parquet = {"kafkaColumns": ["topic", "partition", "offset", "timestamp", "key"], "rowGroupBytes": "64Ki"}
    for lost, path, schema in product(("skip", "null"), ("dt=1", QUARANTINE), (AS_THEY_ARE, SCHEMA)):
        file_format = make_format(OutputSpec.of("parquet", tombstones=lost, **parquet), schema=schema)
        encoder: Encoder = file_format.encoder(ObjectIdentity(Range(TopicPartition("clicks", 3), 0, 100), path))
        values = [b'{"id": %d}' % number if number % 9 else None for number in range(9000)]
        batch = batch_of([7] * len(values), values=values, keys=values[::-1])
        if path == QUARANTINE:
            texts = pa.array(["x"] * len(values))
            batch = batch.append_column("reason", texts).append_column("field", texts)
        elif schema.has_columns:
            made = of_json(SCHEMA, "drop").parse(batch).rows
            assert made is not None
            batch = batch.append_column("row", made)
        if path == QUARANTINE:
            batch = batch.filter(batch.column("value").is_valid())
        content = b"".join(bytes(piece) for piece in (*encoder.encode(batch), *encoder.finish()))
        file = pq.ParquetFile(io.BytesIO(content))
        groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        yield repr((file_format.extension, str(file.schema_arrow), groups, file.read().to_pydict())).encode()


def columns_of(format_: Format, *kafka: str) -> Iterable[bytes]:
    """Rows of every kind of column; documents, text and other bytes."""
    settings: dict[str, Any] = {"compression": "none", "tombstones": "null"}
    envelope = OutputSpec.of(format_, **settings | ({"kafkaColumns": [*kafka]} if kafka else {}))
    with_headers = batch_of([7, -1, 2**60], values=[b"{\n}", None, b"\xff"], keys=[b"k", b"\xff", None])
    headers = pa.array([[{"key": b"a", "value": None}, {"key": b"\xff", "value": b"b"}], [], []], HEADERS)
    with_headers = with_headers.append_column("headers", headers)
    made = of_json(SCHEMA, "drop").parse(batch_of([0] * len(ROWS), values=ROWS)).rows
    assert made is not None
    good = batch_of([7] * len(made), values=[b"{}"] * len(made)).append_column("row", made)
    for batch, schema in ((with_headers, AS_THEY_ARE), (good, SCHEMA)):
        for kind in ("bytes", "json"):
            parser = Parsing.model_validate({"type": kind})
            file_format = make_format(envelope, parser, schema)
            encoder: Encoder = file_format.encoder(ObjectIdentity(Range(TopicPartition("clicks", 3), 0, 100), "dt=1"))
            yield file_format.extension.encode()
            yield b"".join(map(bytes, (*encoder.encode(batch), *encoder.finish())))


def named() -> Iterable[bytes]:
    for topic in ("clicks", "ä.b", "..", "_quarantine", "_logpersister"):
        yield names.object_key("a/b", topic, "dt=1/hr=2", 3, 4, 5, ".txt.gz").encode()


def format_of(output: Mapping[str, Any]) -> Callable[[], Iterable[bytes]]:
    def encoded() -> Iterable[bytes]:
        file_format = make_format(OutputSpec.model_validate(output))
        identity = ObjectIdentity(Range(TopicPartition("clicks", 3), 0, 100), "dt=1")
        encoder: Encoder = file_format.encoder(identity)
        batch = batch_of([7] * len(VALUES), values=VALUES, keys=VALUES[::-1])
        yield file_format.extension.encode()
        yield b"".join(map(bytes, (*encoder.encode(batch), *encoder.finish())))

    return encoded


def rows_of_protobuf() -> Iterable[bytes]:
    """The same of protobuf messages, twice in each other so that there is something to merge."""
    text = """syntax = "proto3"; message R { optional int32 i = 1; oneof o { string a = 2; I b = 3; }
        repeated sint64 n = 4; map<string, I> m = 5; E e = 6; message I { double x = 1; E e = 2; }
        enum E { E0 = 0; E1 = 1; } }"""
    good = bytes.fromhex("0805120161 1a0b0900000000000004401001 22020304 2a080a016212031a0178 3001 1a021001")
    parser = protobuf_rows.ProtobufRows(RowSchema(source=ProtobufSource(text)), "plain", None)
    yield from said(parser, changed(good))


def rows_of_thrift() -> Iterable[bytes]:
    """The same of structs of Thrift, in both protocols."""
    idl = """enum E { A, B } struct I { 1: required double x; 2: bool b = true }
        struct R { 1: i32 i; 2: string a = "a"; 3: list<I> n; 4: map<E, i16> m; 5: set<binary> s; 6: E e = B }"""
    schema = RowSchema(source=ThriftSource(idl=idl, struct="R"))
    binary = bytes.fromhex(
        "08000100000005 0b00020000000178 0f00030c00000001 0400013ff8000000000000 02000200 00"
        "0d000408060000000100000001 0007 0e00050b00000001 00000001ff 08000600000000 00"
    )
    compact = bytes.fromhex("150a 180178 191c 17000000000000f83f 12 00 1b0154 020e 1a18 01ff 1500 00")
    protocol: Any
    for protocol, good in (("binary", binary), ("compact", compact)):
        yield from said(of_thrift(schema, protocol), changed(good))


def times_of_fields() -> Iterable[bytes]:
    """What texts and numbers say in each notation, as columns and as folders."""
    texts = [
        "2026-11-21", "20261121T05", "2026-11-21T05:00:00,5+0100", "2016-12-31 23:59:60Z", "2026-11-21T24:00", "-1",
        "1795237200123", "21/Nov/2026:05:00:00 +0100", "21/nov/2026:05:00:00 +0100", "", "253370764800000",
    ]  # fmt: skip
    notations = ["rfc3339", "iso8601", "pattern[dd/MMM/yyyy:HH:mm:ss Z]", *(f"epoch[{one}]" for one in UNITS)]
    values = [json_text.dumps({"text": text}).encode() for text in texts]
    for notation in notations:
        for type_ in ("timestamp[ms]", "string"):
            is_text = type_ == "string"
            schema = RowSchema((FieldSpec(name="text", type=type_, format=None if is_text else notation),))
            date = {"granularity": "minute", "field": "text"} | ({"format": notation} if is_text else {})
            output = OutputSpec.model_validate({"partitionBy": [{"date": date}]})
            found = layout_of(output, Parsing(type="json"), schema).assign(batch_of([0] * len(texts), values=values))
            yield from (found.paths[index].encode() for index in found.indices)


def records_that_are_kept() -> Iterable[bytes]:
    """Offsets that conditions keep, of all operators, of the table of `test_keeping`."""
    for type_, notation, values, cases in TABLE:
        field = {"name": "f", "type": type_} | ({} if notation is None else {"format": notation})
        documents: list[Any] = [*({"f": value} for value in values), {"f": None}, {}]
        found = records_of([*(json_text.dumps(one).encode() for one in documents), None])
        for operators in (*(operators for operators, _ in cases), {"absent": True}, {"absent": False}):
            of_absent = {} if "absent" in operators else {"orAbsent": True}
            for condition in (operators, operators | of_absent):
                yield str(kept(spec_of([field], [{"field": "f", **condition}]), found)).encode()
    for header in ({"in": ["prod"]}, {"notIn": ["prod"]}, {"notIn": ["prod"], "orAbsent": True}, {"absent": True}):
        spec = spec_of([{"name": "f", "type": "string"}], [{"header": "env", **header}])
        yield str(kept(spec, with_headers(records_of([b"{}"] * len(SOME_HEADERS)), SOME_HEADERS))).encode()


def record_batches() -> Iterator[bytes]:
    """Which batches of a log each range of it has."""
    yield KafkaFormat.extension.encode()
    for start, end in combinations(range(18), 2):
        found = select(memoryview(b"".join(one.encode() for one in LOG)), start, end, read_committed=True)
        stored = b"".join(found.pieces)
        kept = [one.base_offset for one in LOG if one.encode() in stored]
        yield repr((kept, found.records, found.first, found.last)).encode()


def names_of_keys() -> Iterator[bytes]:
    """Folders of keys, and keys in names of files."""
    for key in (None, b"", b"a-Z_9.", b"_late", b".", b"..", b"unknown", "ä~/".encode(), b"\xff" * 80, b"x" * 191):
        yield from (key_folders.key_name(key, most).encode() for most in (key_folders.MOST_BYTES, KEY_BYTES))


TRIED = [
    "paths", "late", "times", "parser:json", "rows:json", "rows:avro", "rows:protobuf", "rows:thrift",
    "rows:messagepack", "rows:csv", "rows:regex", "keep", "format:parquet", "format:jsonl", "format:avro", "names",
    "format:text", "format:text, escaped", "format:sequencefile", "paths:fields", "rows:faults", "rows:hiding",
    "rows:key", "rows:head", "rows:numbers", "types", "format:orc", "format:kafka", "format:archive", "keys:names",
]  # fmt: skip
"""The rule of each behaviour below."""
WITH_ANOTHER = {"heads:protobuf": "rows:protobuf"}
"""Rules that are the number of another one."""
SAY_THEMSELVES = {"rows:hiding:key"}
"""Rules that are a digest of all that they do."""


def test_every_rule_has_a_behaviour() -> None:
    source = ast.parse(inspect.getsource(rule_numbers))
    keys = [key for node in ast.walk(source) if isinstance(node, ast.Dict) for key in node.keys]
    keys += [
        node.slice for node in ast.walk(source) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    named = {key.value for key in keys if isinstance(key, ast.Constant)}
    kinds = {"format": registry.RULES, "rows": rows.RULES, "parser": rule_numbers._PARSERS}
    named -= {key for kind in kinds.values() for key in kind} | {"text"}  # a table by kind, which is not one of rules
    named |= {f"{rule}:{kind}" for rule, of in kinds.items() for kind in of}
    assert named - SAY_THEMSELVES - WITH_ANOTHER.keys() == {rule.partition(",")[0] for rule in TRIED}


@pytest.mark.parametrize(
    ("behaviour", "version", "known"),
    [
        (layouts, paths.RULES, (1, "4db1424ebe05")),
        (late_ones, late.RULES, (1, "6e44762e0a8a")),
        (times_of_fields, field_times.RULES, (1, "b2470a5c8e68")),
        (json, document_parser.RULES, (1, "42a5f71b6595")),
        (rows_of_a_schema, rows.RULES["json"], (2, "fa04c81524e5")),
        (rows_of_avro, rows.RULES["avro"], (2, "76456a15622b")),
        (rows_of_protobuf, rows.RULES["protobuf"], (2, "218930abf9aa")),
        (rows_of_thrift, rows.RULES["thrift"], (1, "d09ce7a0b64a")),
        (rows_of_messagepack, rows.RULES["messagepack"], (2, "7dad080057c2")),
        (rows_of_csv, rows.RULES["csv"], (2, "bd26327f827f")),
        (rows_of_a_pattern, rows.RULES["regex"], (2, "b936814716fe")),
        (records_that_are_kept, keeping.RULES, (1, "5ea65955b6da")),
        (parquet, used(output={"parquet": {}})["format:parquet"], (2, "04fdd4c55089")),
        (partial(columns_of, "jsonl"), used(output={"jsonl": {}})["format:jsonl"], (2, "c45d9e5418d1")),
        (
            partial(columns_of, "avro", "topic", "partition", "offset", "timestamp", "key"),
            used(output={"avro": {}})["format:avro"],
            (1, "81e435f486c9"),
        ),
        (named, names.RULES, (1, "9499985f501b")),
        (format_of({"text": {"compression": "none"}}), used()["format:text"], (1, "d963d443b6b9")),
        (
            format_of({"text": {"compression": "none", "tombstones": "empty", "delimiterInValue": "escape"}}),
            used()["format:text"],
            (1, "2d110e84fa86"),
        ),
        (
            format_of({"sequencefile": {"compression": "none", "key": "messagepack"}}),
            used(output={"sequencefile": {}})["format:sequencefile"],
            (1, "9b360fd71ea3"),
        ),
        (row_behaviours.folders_by_fields, field_paths.RULES, (2, "2b644f9b5e5c")),
        (row_behaviours.rows_with_faults, native_rows.FAULT_RULES, (1, "00f4097f5597")),
        (row_behaviours.hidden_rows, hiding.RULES, (1, "94501a9fc2e6")),
        (row_behaviours.rows_with_keys, keyed_rows.RULES, (1, "f66273c42c8d")),
        (row_behaviours.rows_with_heads, keyed_rows.RULES, (1, "122144a62c2f")),
        (row_behaviours.rows_of_numbers, frames.NUMBER_RULES, (1, "e8721dc85066")),
        (row_behaviours.types_of_records, type_names.RULES, (2, "b617210c47e8")),
        (
            partial(row_behaviours.orc_file, (AS_THEY_ARE, SCHEMA)),
            used(output={"orc": {}})["format:orc"],
            (2, "5c73bd6df0e4"),
        ),
        (record_batches, used(output={"kafka": {}})["format:kafka"], (1, "be352dd3a4fb")),
        (
            format_of({"archive": {"compression": "none"}}),
            used(output={"archive": {}})["format:archive"],
            (2, "92ec6933fbbd"),
        ),
        (names_of_keys, key_folders.RULES, (1, "ca4102e29b89")),
    ],
    ids=TRIED,
)
def test_a_rule_that_does_something_else_has_another_version(
    behaviour: Callable[[], Iterable[bytes]], version: int, known: tuple[int, str]
) -> None:
    """When this fails, raise ``RULES`` beside the code of that rule, then note here what it does now."""
    digest = hashlib.sha256(b"\0".join(behaviour())).hexdigest()[:12]
    assert (version, digest) == known
