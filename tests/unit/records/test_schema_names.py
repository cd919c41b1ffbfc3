"""Types by the names of schemas, and what nobody knows is never judged."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from logpersister.manifest.spec import Spec
from logpersister.records.schema import RECORDS_WITH_HEADERS
from logpersister.records.topic_layout import layout_for
from logpersister.registry.errors import RegistryError
from logpersister.values.avro.rows import fingerprint
from logpersister.values.reading.writers import WriterSchema
from tests.unit.manifest.documents import spec_with
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.batches import placed
from tests.unit.records.header_samples import framed

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}],
}
REFUND = {**ORDER, "name": "sales.Refund", "namespace": "ignored"}
BARE = {**ORDER, "name": "Order", "namespace": ""}
UNION = ["null", ORDER, "string", {**ORDER, "name": "Return"}]
AVRO: Mapping[int, Any] = {
    1: ORDER,
    2: REFUND,
    3: BARE,
    4: UNION,
    5: WriterSchema('"string"'),
    6: WriterSchema("no JSON"),
    7: WriterSchema(None, "it is registered as PROTOBUF"),
    8: WriterSchema('{"type": "record", "name": 7, "fields": []}'),
    9: WriterSchema('{"type": "record", "name": "\\ud800", "fields": []}'),
}
FILE = """syntax = "proto3"; package shop;
message Order { int64 id = 1; message Line { int64 id = 1; map<string, int32> marks = 2; message Tax { } } }
message Refund { int64 id = 1; }"""
PROTOBUF: Mapping[int, Any] = {
    1: WriterSchema(FILE),
    2: WriterSchema('syntax = "proto3"; message Plain { }'),
    3: WriterSchema("no schema"),
    4: WriterSchema(None, "it is registered as AVRO"),
}


def spec_of(kind: str, **block: Any) -> Spec:
    entries = [
        {"names": ["shop.Order"], "value": {kind: {"fields": [{"name": "id", "type": "int64"}]}}},
        {"pattern": ".", "value": {"bytes": {}}},
    ]
    return spec_with(
        value={kind: block or {"registry": {"url": "http://r:8081"}}},
        output={"jsonl": {}},
        types={"schemaName": "record", "entries": entries},
    )


def judged(spec: Spec, writers: Any, values: Sequence[bytes | None]) -> list[tuple[str, str | None]]:
    """Return of each value the folder, and why it is in quarantine."""
    rows: list[Any] = [
        {"offset": offset, "timestamp": 0, "value": value, "headers": []} for offset, value in enumerate(values)
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)
    return [(path, reason) for _, (path, reason, *_) in sorted(placed(batch, layout_for(spec, writers)).items())]


def avro(schema_id: int, body: bytes = b"\x02") -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + body


NO_TYPE, UNKNOWN = ("_quarantine", "no_type"), ("_quarantine", "unknown_schema")


def test_records_of_avro_have_their_full_names() -> None:
    cases = {
        encoded(ORDER, {"id": 7}): ("type=shop.Order", None),
        avro(1, b"\xff"): ("_quarantine", "not_avro"),
        avro(2): ("type=sales.Refund", None),
        avro(3): ("type=Order", None),
        avro(4, b"\x02\x0e"): ("type=shop.Order", None),
        avro(4, b"\x06\x0e"): ("type=shop.Return", None),
        avro(4, b"\x00"): NO_TYPE,
        avro(4, b"\x08"): NO_TYPE,
        avro(4, b""): NO_TYPE,
        avro(5): NO_TYPE,
        avro(6): NO_TYPE,
        avro(7): NO_TYPE,
        avro(8): NO_TYPE,
        avro(9): NO_TYPE,
        avro(99): UNKNOWN,
        avro(2**31): UNKNOWN,
        b"\x01\0\0\0\x01\x02": NO_TYPE,
        None: NO_TYPE,
    }
    found = judged(spec_of("avro"), lambda _: KnownWriters(AVRO), [*cases])
    assert dict(zip(cases, found, strict=True)) == cases


def test_messages_of_protobuf_have_their_full_names() -> None:
    cases = {
        avro(1, b"\0\x08\x07"): ("type=shop.Order", None),
        avro(1, b"\x02\0\x08\x07"): ("type=shop.Order", None),
        avro(1, b"\x02\x02\x08\x07"): ("type=shop.Refund", None),
        avro(1, b"\x04\0\0"): ("type=shop.Order.Line", None),
        avro(1, b"\x06\0\0\0"): ("type=shop.Order.Line.Tax", None),
        avro(1, b"\x04\0\x02"): NO_TYPE,
        avro(1, b"\x02\x01"): NO_TYPE,
        avro(1, b"\x04\0"): NO_TYPE,
        avro(2, b"\0"): ("type=Plain", None),
        avro(3, b"\0"): NO_TYPE,
        avro(4, b"\0"): NO_TYPE,
        avro(99, b"\0"): UNKNOWN,
        avro(99, b""): NO_TYPE,
    }
    found = judged(spec_of("protobuf"), lambda _: KnownWriters(PROTOBUF), [*cases])
    assert dict(zip(cases, found, strict=True)) == cases
    eight = b"\0" + (1).to_bytes(8, "big")
    named = [eight + b"\x0c\x0a\x0ashop.Order\x08\x07", eight + b"\x07\x0a\x05Order", eight + b"\x03\x0a\x01X"]
    found = judged(
        spec_of("protobuf", registry={"url": "http://r:8081", "framing": "apicurio"}),
        lambda _: KnownWriters(PROTOBUF),
        named,
    )
    assert found == [("type=shop.Order", None), ("type=shop.Order", None), NO_TYPE]


def test_names_are_found_behind_the_headers_of_glue() -> None:
    glue = spec_of("avro", registry={"url": "glue://eu-central-1"})
    cases = {
        framed(b"\x02", "glue", 1): ("type=shop.Order", None),
        framed(b"\x02", "glue", 2, deflated=True): ("type=sales.Refund", None),
        framed(b"\x06\x0e", "glue", 4, deflated=True): ("type=shop.Return", None),
        framed(b"\x02", "glue", 99): UNKNOWN,
        framed(b"\x02", "glue", 2**127): UNKNOWN,
        b"\x03\x05" + framed(b"\x02", "glue", 1)[2:]: ("_quarantine", "bad_compression"),
        b"\x03\x01" + framed(b"\x02", "glue", 1)[2:]: NO_TYPE,
        avro(1): NO_TYPE,
    }
    found = judged(glue, lambda _: KnownWriters(AVRO), [*cases])
    assert dict(zip(cases, found, strict=True)) == cases
    glue = spec_of("protobuf", registry={"url": "glue://eu-central-1"})
    names = sorted(
        f"shop.{name}" for name in ("Order", "Order.Line", "Order.Line.MarksEntry", "Order.Line.Tax", "Refund")
    )
    messages = {framed(bytes([place]) + b"\x08\x07", "glue", 1): name for place, name in enumerate(names)}
    found = judged(glue, lambda _: KnownWriters(PROTOBUF), [*messages, framed(b"\x05", "glue", 1)])
    assert found == [*((f"type={name}", None) for name in messages.values()), NO_TYPE]


def test_fingerprints_name_what_the_manifest_or_a_subject_has() -> None:
    order, refund, unknown = (fingerprint(json.dumps(one)) for one in (ORDER, REFUND, UNION))
    values = [framed(b"\x02", "singleObject", one) for one in (order, refund, unknown)]
    by_manifest = spec_of("avro", singleObject={"schemas": [json.dumps(REFUND)]}, schema=json.dumps(ORDER))
    found = judged(by_manifest, lambda _: None, [*values, b"\xc3\x02" + values[0][2:]])
    assert found == [("type=shop.Order", None), ("type=sales.Refund", None), UNKNOWN, NO_TYPE]
    by_subject = spec_of("avro", singleObject={}, registry={"url": "http://r:8081", "subject": "events"})
    found = judged(by_subject, lambda _: KnownWriters({order: ORDER}), values)
    assert found == [("type=shop.Order", None), UNKNOWN, UNKNOWN]


def test_while_the_registry_is_away_nothing_is_judged() -> None:
    class Away(KnownWriters):
        def schemas(self, ids: object) -> Any:
            raise RegistryError("unreachable", "away")

    with pytest.raises(RegistryError):
        judged(spec_of("avro"), lambda _: Away({}), [avro(1)])
