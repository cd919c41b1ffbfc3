"""Schemas that headers of records name are read as those whose id stands before values and keys."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from logpersister.manifest.spec import Spec
from logpersister.pipeline.splitting import sides
from logpersister.records.schema import FIELD, REASON, RECORDS_WITH_HEADERS, ROW
from logpersister.records.topic_layout import layout_for
from logpersister.values.reading import record_headers
from logpersister.values.reading.record_headers import OF_KEYS, OF_VALUES
from logpersister.values.reading.writers import WriterSchema
from tests.unit.manifest.documents import spec_with
from tests.unit.records.avro_samples import KnownWriters

ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}
FILE = 'syntax = "proto3"; package shop; message Other { } message Order { int64 id = 1; }'
GUID, NOBODYS = (UUID(f"59e8adcb-3a8e-3c0d-9dca-5e3a7a2b4c4{one}") for one in (1, 2))
WRITERS = KnownWriters({7: ORDER, 8: WriterSchema(FILE, kind="protobuf")}, {GUID.int: 7})
MESSAGES = KnownWriters(WRITERS._schemas, {GUID.int: 8})
Header = tuple[bytes, bytes | None]
BY_GUID, BY_ID = b"\1" + GUID.bytes, b"\0\0\0\0\7"


NAMES = {"registry": {"url": "http://r:8081"}}
ROWS = {"fields": [{"name": "id", "type": "int64"}]}


def spec_of(kind: str, block: Mapping[str, Any], **more: Any) -> Spec:
    return spec_with(value={kind: block}, output={"parquet": {"kafkaColumns": ["offset"]}}, **more)


def judged(spec: Spec, writers: Any, records: Sequence[tuple[bytes | None, bytes | None, Sequence[Header]]]) -> Any:
    """Return the row of each record, or why it is in quarantine."""
    rows: list[Any] = [
        {
            "offset": offset,
            "timestamp": 0,
            "key": key,
            "value": value,
            "headers": [{"key": name, "value": of} for name, of in headers],
        }
        for offset, (key, value, headers) in enumerate(records)
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)
    found: dict[int, Any] = {}
    for side in sides(batch, layout_for(spec, lambda _: writers)):
        columns: dict[str, list[Any]] = {name: side.rows.column(name).to_pylist() for name in side.rows.schema.names}
        assert {*columns} <= {*RECORDS_WITH_HEADERS.names, ROW, REASON, FIELD}
        values = [records[offset][1] for offset in columns["offset"]]
        assert columns["value"] == values, "what is stored as it was is as it was"
        of_side = columns["reason"] if "reason" in columns else [tuple(one.values()) for one in columns[ROW]]
        found |= dict(zip(columns["offset"], of_side, strict=True))
    return [found[offset] for offset in range(len(records))]


def test_values_of_avro_whose_id_is_in_a_header() -> None:
    cases: list[tuple[bytes | None, bytes | None, list[Header]]] = [
        (None, b"\x0e", [(OF_VALUES, BY_GUID)]),
        (None, b"\x0e", [(OF_VALUES, BY_ID)]),
        (None, BY_ID + b"\x0e", []),
        (None, b"\x0e", [(OF_VALUES, b"no"), (b"other", b"x"), (OF_VALUES, BY_GUID)]),
        (None, BY_ID + b"\x0e", [(OF_VALUES, b"\1short")]),
        (None, BY_ID + b"\x0e", [(OF_VALUES, None), (OF_KEYS, BY_GUID)]),
        (None, b"\x0e", [(OF_VALUES, b"\1" + NOBODYS.bytes)]),
        (None, b"\x0e", []),
        (None, BY_ID + b"\x0e", [(OF_VALUES, BY_GUID)]),
    ]
    wanted = [(7,)] * 6 + ["unknown_schema", "no_header", "not_avro"]
    assert judged(spec_of("avro", NAMES | ROWS), WRITERS, cases) == wanted
    assert judged(spec_of("avro", NAMES | ROWS), WRITERS, cases[2:3]) == [(7,)], "no record has such a header"


def test_values_of_protobuf_and_json_and_keys() -> None:
    second = b"\2\2"  # the indexes of the message
    assert judged(
        spec_of("protobuf", NAMES | ROWS),
        MESSAGES,
        [(None, b"\x08\7", [(OF_VALUES, BY_GUID + second)]), (None, b"\0\0\0\0\x08" + second + b"\x08\7", [])],
    ) == [(7,), (7,)]
    documents = [(None, b'{"id": 7}', [(OF_VALUES, BY_GUID)]), (None, BY_ID + b'{"id": 7}', [])]
    assert judged(spec_of("json", ROWS | {"framing": "confluent"}), None, documents) == [(7,), (7,)]
    records = [(b"\2", b"\x0e", [(OF_KEYS, BY_GUID), (OF_VALUES, BY_GUID)]), (b"\2", BY_ID + b"\x0e", [])]
    with_keys = spec_of("avro", NAMES | ROWS, key={"avro": ROWS})
    assert judged(with_keys, WRITERS, records) == [(7, {"id": 1}), "no_header"]


@pytest.mark.parametrize(
    ("kind", "types", "value", "header"),
    [
        ("avro", {"schemaName": "record"}, b"\x0e", BY_GUID),
        ("protobuf", {"schemaName": "record"}, b"\x08\7", BY_GUID + b"\2\2"),
        ("json", {"field": "of"}, b'{"id": 7, "of": "shop.Order"}', BY_GUID),
    ],
)
def test_types_of_values_whose_schema_a_header_names(
    kind: str, types: dict[str, Any], value: bytes, header: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[bytes] = []

    def last_header(batch: pa.RecordBatch, name: bytes) -> Any:
        looked_for.append(name)
        return found_in(batch, name)

    found_in = record_headers.last_header
    monkeypatch.setattr(record_headers, "last_header", last_header)
    framing = {"framing": "confluent"} if kind == "json" else {}
    entry = {"names": ["shop.Order"], "value": {kind: ROWS | framing}}
    spec = spec_of(kind, NAMES | framing, types={**types, "entries": [entry], "others": {"action": "drop"}})
    writers = MESSAGES if kind == "protobuf" else WRITERS
    assert judged(spec, writers, [(None, value, [(OF_VALUES, header)])]) == [(7,)]
    nobodys = (None, value, [(OF_VALUES, b"\1" + NOBODYS.bytes + header[17:])])
    refused = "unknown_schema" if "schemaName" in types else (7,)
    assert judged(spec, writers, [nobodys, (None, value, [(OF_VALUES, header)])]) == [refused, (7,)]
    [without] = judged(spec, writers, [(None, b"?", [(b"other", b"")])])
    assert without == "no_type"
    assert looked_for == [OF_VALUES] * 3, "once for both: what finds types, and the parser"
