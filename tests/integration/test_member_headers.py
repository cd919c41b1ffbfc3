"""Values behind headers: JSON Schema and fingerprints with a real registry."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pytest
import yaml

from tests.integration.harness.examples import example
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, said
from tests.stack import SchemaRegistry
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, produce
from tests.unit.records.avro_samples import encoded

Json = dict[str, Any]
pytestmark = pytest.mark.usefixtures("logging_as_before")

TEXT, WHOLE, WHEN = {"type": "string"}, {"type": "integer"}, {"type": "string", "format": "date-time"}
PLACE = {"type": "object", "properties": {"country": TEXT}, "required": ["country"]}
USER = 'syntax = "proto3"; package acme; message Other { } message User { int64 id = 1; string name = 2; }'
ORDER: Json = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
NEWER = {**ORDER, "fields": [{"name": "note", "type": "string"}, {"name": "id", "type": "int"}]}
FOREIGN = {**ORDER, "name": "Foreign"}


def schema_of(required: Sequence[str], **properties: Json) -> str:
    draft = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps({"$schema": draft, "type": "object", "properties": properties, "required": required})


def by_id(schema_id: int, body: bytes | Json) -> bytes:
    """Return a value as Confluent's serializers write it."""
    return b"\0" + schema_id.to_bytes(4, "big") + (body if isinstance(body, bytes) else json.dumps(body).encode())


def by_fingerprint(schema: Json, value: Json) -> bytes:
    """Return a value in Avro's single-object encoding."""
    canonical = fastavro.schema.to_parsing_canonical_form(schema)
    fingerprint = bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
    return b"\xc3\x01" + fingerprint + encoded(schema, value)[5:]


def write(scene: Scene, topic: str, values: Sequence[bytes], keys: Sequence[bytes | None] = ()) -> None:
    records = (
        Record(value, keys[place] if keys else None, partition)
        for place, value in enumerate(values)
        for partition in (0, 1)
    )
    produce(scene.kafka.bootstrap, topic, records)


def test_json_schema_and_fingerprints_follow_a_registry_that_is_sometimes_away(
    scene: Scene, topic: CreateTopic, registry: SchemaRegistry, registry_proxy: FaultProxy, verify: Verify, unique: str
) -> None:
    url = registry_proxy.endpoint + registry.path
    clicks, orders = topic(2), topic(2)
    registry.register(f"{unique}-place", json.dumps(PLACE), kind="JSON")
    references = [{"name": "place.json", "subject": f"{unique}-place", "version": 1}]
    place = {"$ref": "place.json"}

    def begin(required: Sequence[str], **properties: Json) -> int:
        return registry.register(f"{clicks}-value", schema_of(required, **properties), references, kind="JSON")

    first, second = begin(["id", "at"], id=WHOLE, at=WHEN, place=place), 0
    of_keys = registry.register(f"{clicks}-key", USER, kind="PROTOBUF")
    registry.register(f"{orders}-value", ORDER)
    of_orders: Json = {
        "fields": [{"name": "id", "type": "int64", "required": True}],
        "registry": {"url": url},
        "singleObject": {},
    }
    avro: list[Json] = [{"topics": [orders], "value": {"avro": of_orders}}]

    def manifest(**pinned: Any) -> Path:
        shape = example("json-schema")
        shape["value"]["json"]["registry"] = {"url": url, **pinned}
        return scene.manifest(kafka={"topics": [clicks, orders]}, overrides=avro, **shape)

    def values(begin: int, end: int) -> Iterator[bytes]:
        for number in range(begin, end):
            if number % 2 and second:
                yield by_id(second, {"id": number, "source": "app", "place": {"country": "FR"}})
            else:
                yield by_id(first, {"id": number, "at": "2026-11-21T12:00:00Z", "place": {"country": "DE"}, "x": 1})

    bad = [b"{}", by_id(first, b"{"), by_id(first, {"id": 7}), by_id(first, {"id": "7", "at": "x"}), by_id(first, b"")]
    user = by_id(of_keys, b"\2\2" + b"\x08\x07\x12\x03Ada")
    keys = [None, user, by_id(of_keys, b"\0\x08\x07"), user, b"plain"]
    write(scene, clicks, [*values(0, 100), *bad, *values(100, 105)], [user] * (100 + len(bad)) + keys)
    write(scene, orders, [*(by_fingerprint(ORDER, {"id": n}) for n in range(50)), b"\xc3\1", b"\0\0\0\0\1\2"])

    assert f"{clicks}: 4 columns of version 1" in said("check", "-f", str(manifest()))
    header = ["--registry", url, "--framing", "confluent", "--parser", "json", "--topic", clicks]
    spec = yaml.safe_load(said("schema", "infer", "-f", str(manifest()), *header))["spec"]
    found = spec["value"]["json"]
    assert found["framing"] == "confluent"
    assert {one["name"]: one["type"] for one in found["fields"]} == {
        "id": "int64",
        "at": "timestamp[us]",
        "place": "struct<country: string>",
    }
    told = said("try", "-f", str(manifest()), "--topic", clicks, "--last", "300", "--rows", "1")
    assert "struct<name: string>" in told
    assert "quarantine: 12 of 220 values" in told
    member = scene.member(manifest())
    scene.group.wait_current(clicks, orders, explain=member.tail)
    before = scene.bucket.names(clicks)

    second = begin(["id"], id=WHOLE, at=WHEN, place=place, source={"type": ["string", "null"]})
    registry.register(f"{orders}-value", NEWER)
    registry_proxy.stop()
    try:
        write(scene, clicks, [*values(105, 200)], [user] * 95)
        write(scene, orders, [by_fingerprint(NEWER, {"id": 50, "note": "x"}), by_fingerprint(FOREIGN, {"id": 51})])
        member.wait("ranges wait for the registry", lambda: "schema registry" in member.tail())
        assert scene.bucket.names(clicks) == before
    finally:
        registry_proxy.start()
    scene.group.wait_current(clicks, orders, explain=member.tail)
    files = [one for one in scene.bucket.names(clicks) if "_quarantine" not in one]
    ranges = member.events("range.written", topic=clicks)
    assert len(files) <= len(ranges), "writers that alternate make no more files"

    begin(["id", "source"], id=TEXT, at=WHEN, place=place, source=TEXT)
    write(scene, clicks, [*values(200, 210)], [user] * 10)
    told = (
        "of version 2, id: the writer's schema has int64, which cannot become string; "
        "source: it is required, and the writer's schema does not require it"
    )
    member.wait("the new version is refused", lambda: told in member.tail())
    scene.group.wait_current(orders, explain=member.tail)
    member.terminate()
    scene.run_until_current(manifest(version=2))
    said("quarantine", "replay", "-f", str(manifest(version=2)), "--topic", clicks)

    document = verify(manifest(version=2), "--deep", finds={})
    compared = {one["topic"]: one["compared"] for one in document["topics"]}
    assert compared == {clicks: 2 * (210 + len(bad)), orders: 2 * 54}
    rows, reasons = scene.bucket.rows_and_reasons(clicks)
    assert reasons == {"no_header": 4, "not_json": 4, "wrong_type": 2}
    of_one = [row for row in rows if row["kafka_partition"] == 0]
    assert [row["id"] for row in of_one if row["kafka_offset"] != 102] == [*range(104), *range(105, 210)]
    assert [(row["id"], row["at"]) for row in of_one if row["kafka_offset"] == 102] == [(7, None)], "by version 2"
    assert [row["key"] for row in of_one[101:104]] == [None, {"name": "Ada"}, {"name": None}]
    assert (of_one[-1]["source"], of_one[-1]["place"], of_one[-1]["at"]) == ("app", {"country": "FR"}, None)
    rows, reasons = scene.bucket.rows_and_reasons(orders)
    assert sorted(row["id"] for row in rows) == sorted([*range(51)] * 2)
    assert reasons == {"no_header": 4, "unknown_schema": 2}
