"""Topics that mix records of many types: each type is a data set of its own, whatever happens to the process."""

import json
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.harness.examples import example
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds, said, said_json
from tests.stack import SchemaRegistry
from tests.stack.topics import Record, produce
from tests.unit.records.avro_samples import encoded

DAY = 86_400_000
NOON = 20_000 * DAY + DAY // 2
ROWS: dict[str, Any] = {
    "value": {"json": {"fields": [{"name": "id", "type": "int64"}]}},
    "output": {
        "parquet": {"kafkaColumns": ["offset"], "sortBy": [{"field": "kafka_offset", "order": "descending"}]},
    },
}


def events(names: list[str | None], begin: int = 0) -> Iterator[Record]:
    """Yield records whose type is in a header, in turn, on one day after the other."""
    for number in range(begin, begin + 60):
        name = names[number % len(names)]
        headers = [] if name is None else [("event-type", b"wrong"), ("event-type", name.encode())]
        yield Record(json.dumps({"id": number}).encode(), b"key", headers=headers, timestamp=NOON)


def records_by_folder(scene: Scene, topic: str) -> Counter[str]:
    """Return how many records each folder of a topic has, by the objects' own facts."""
    found: Counter[str] = Counter()
    for key in scene.bucket.names(topic):
        found[key.split("/")[-2]] += int(scene.bucket.metadata(key)["records"])
    return found


def rows(scene: Scene, topic: str, folder: str) -> list[dict[str, Any]]:
    """Return the rows of a folder, in the order of offsets."""
    keys = [key for key in scene.bucket.names(topic) if f"/{folder}/" in key and key.endswith(".parquet")]
    found = [row for key in keys for row in scene.bucket.rows(key)]
    return sorted(found, key=lambda row: int(row["kafka_offset"]))


def test_types_by_a_header_and_a_type_that_is_declared_later(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    name = topic(1)
    shape = example("types")
    manifest = scene.manifest(kafka={"topics": [name]}, **shape)
    produce(scene.kafka.bootstrap, name, events(["click", "audit.a", "noise", "new", None, "audit.b"]))
    told = said("try", "-f", str(manifest))
    assert "type=clicks" in told
    assert "unknown_type" in told
    assert "left out, as their entries say: 10 records" in told
    assert "ROW 1" in said("try", "-f", str(manifest), "--type", "click")
    scene.run_until_current(manifest)
    stored = {"type=clicks": 10, "type=audit.a": 10, "type=audit.b": 10, "_quarantine": 20}
    assert records_by_folder(scene, name) == stored
    assert [row["id"] for row in rows(scene, name, "type=clicks")] == list(range(0, 60, 6))

    # A range of which nothing is stored, and records after it; then the new type is declared.
    produce(scene.kafka.bootstrap, name, events(["noise"], 60))
    scene.run_until_current(manifest)
    document = verify(manifest, "--deep")
    assert kinds(document) == {("left-out", 0): 1}
    assert document["ok"]
    shape["types"]["entries"].append({"names": ["new"], **ROWS})
    manifest = scene.manifest(kafka={"topics": [name]}, **shape)
    produce(scene.kafka.bootstrap, name, events(["new", "click"], 120))
    scene.run_until_current(manifest)
    listed = said_json("quarantine", "ls", "-f", str(manifest))
    assert {one["reason"]: one["records"] for one in listed["reasons"]} == {"accepted": 10, "no_type": 10}
    said("quarantine", "replay", "-f", str(manifest))
    assert records_by_folder(scene, name) == {**stored, "type=clicks": 40, "type=new": 40, "_quarantine": 10}
    document = verify(manifest, "--deep")
    assert document["ok"]
    assert document["topics"][0]["compared"] == 110
    assert [row["id"] for row in rows(scene, name, "type=new")][:10] == list(range(3, 60, 6))


def frame(type_: int, milliseconds: int, number: int) -> bytes:
    """Return an event as Garmadon writes it; the body has one field."""
    header, body = b"\x0a\x03app\x32\x04host\x62\x04tags", bytes([8, number])
    return struct.pack(">iqii", type_, milliseconds, len(header), len(body)) + header + body


def test_frames_of_three_days_out_of_order(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    name = topic(2)
    finish = {"policy": ["successFile"], "allowedLateness": "1h"}
    manifest = scene.manifest(kafka={"topics": [name]}, finish=finish, **example("garmadon"))
    values = [frame(1001 + number % 3, NOON - number % 4 * DAY + number, number) for number in range(120)]
    produce(scene.kafka.bootstrap, name, [Record(values[number], partition=number % 2) for number in range(120)])
    produce(scene.kafka.bootstrap, name, [Record(b"broken", partition=0), Record(None, key=b"k", partition=0)])
    scene.run_until_current(manifest)
    keys = [key.partition("type=")[2] for key in scene.bucket.names(name) if "type=" in key]
    folders = {key.rpartition("/")[0] for key in keys}
    days = {"dt=2024-10-01", "dt=2024-10-02", "dt=2024-10-03", "dt=2024-10-04"}
    assert folders == {f"{of}/{day}" for of in ("container", "1002", "1003") for day in days}
    # One partition has no frame of the 4th, so for all that is known frames of the 3rd may come.
    assert {key for key in keys if key.endswith("_SUCCESS")} == {
        f"{of}/{day}/_SUCCESS" for of in ("container", "1002", "1003") for day in sorted(days)[:2]
    }
    found = rows(scene, name, "type=container")
    assert sorted(row["id"] for row in found) == list(range(0, 120, 3))
    assert found[0]["header"] == {"application_id": "app", "user_name": None, "hostname": "host"}
    of_frames = {row["id"]: (row["event_type"], row["event_time"].timestamp()) for row in found}
    assert of_frames == {id_: (1001, (NOON - id_ % 4 * DAY + id_) / 1000) for id_ in range(0, 120, 3)}
    document = verify(manifest, "--deep", finds={})
    assert document["topics"][0]["compared"] == 122


def of_schema(name: str, *fields: str) -> dict[str, Any]:
    """Return the Avro schema of a record of the shop, whose fields are numbers."""
    inner = [{"name": field, "type": "long"} for field in ("id", *fields)]
    return {"type": "record", "name": name, "namespace": "shop", "fields": inner}


def test_types_by_the_names_of_schemas(
    scene: Scene, topic: CreateTopic, registry: SchemaRegistry, verify: Verify, unique: str
) -> None:
    """As Confluent's RecordNameStrategy registers them; the registry is away for a while."""
    name = topic(1)
    order, refund, later = of_schema("Order"), of_schema("Refund"), of_schema("Order", "more")
    strange, union = of_schema("Strange"), [of_schema("Order", "in_union"), of_schema("audit.Login")]
    ids = {
        place: registry.register(f"{unique}-{place}", one) for place, one in enumerate((order, refund, strange, union))
    }

    def values(begin: int) -> Iterator[Record]:
        for number in range(begin, begin + 60):
            kind = number % 6
            if kind < 3:
                yield Record(encoded((order, refund, strange)[kind], {"id": number}, ids[kind]))
            elif kind == 3:
                yield Record(b"\0" + ids[3].to_bytes(4, "big") + b"\x00" + bytes([number << 1 & 0x7F, 2]))
            else:
                yield Record(encoded(order, {"id": number}, 999_999) if kind == 4 else b"no header")

    shape = example("types-registry")
    shape["value"]["avro"]["registry"] = {"url": registry.url}
    shape["types"]["entries"][2]["output"] = {"text": {"compression": "none"}}
    manifest = scene.manifest(kafka={"topics": [name]}, **shape)
    produce(scene.kafka.bootstrap, name, values(0))
    told = said("try", "-f", str(manifest))
    assert "type=orders" in told
    assert "unknown_schema" in told
    member = scene.member(manifest, "one")
    scene.group.wait_current(name, explain=member.tail)
    stored = {"type=orders": 20, "type=shop.Refund": 10, "_quarantine": 30}
    assert records_by_folder(scene, name) == stored

    # A writer that the member does not know, while nobody can tell of which type its records are.
    ids[0] = registry.register(f"{unique}-0", later)
    registry.suspend()
    try:
        produce(scene.kafka.bootstrap, name, [Record(encoded(later, {"id": 60, "more": 1}, ids[0]))])
        member.wait("ranges wait for the registry", lambda: "schema registry" in member.tail())
        assert records_by_folder(scene, name) == stored, "nothing is judged meanwhile"
    finally:
        registry.resume()
    scene.group.wait_current(name, explain=member.tail)
    member.terminate()
    assert records_by_folder(scene, name) == {**stored, "type=orders": 21}
    found = rows(scene, name, "type=orders")
    assert [row["id"] for row in found] == [number for number in range(61) if number % 6 in (0, 3)]

    # The type is declared, and its records come out of quarantine.
    shape["types"]["entries"].append(
        {"names": ["shop.Strange"], "value": {"avro": {"fields": [{"name": "id", "type": "int64"}]}}}
    )
    manifest = scene.manifest(kafka={"topics": [name]}, **shape)
    said("quarantine", "replay", "-f", str(manifest))
    assert records_by_folder(scene, name) == {**stored, "type=orders": 21, "type=shop.Strange": 10, "_quarantine": 20}
    document = verify(manifest, "--deep")
    assert (document["ok"], kinds(document), document["topics"][0]["compared"]) == (True, {}, 61)


def boxed(name: str, message: bytes) -> bytes:
    """Return an envelope with a message of the shop; the type URL comes twice, and the last one counts."""

    def sized(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    url = sized(1, b"type.googleapis.com/shop.Nothing") + sized(1, f"type.googleapis.com/shop.{name}".encode())
    return sized(1, b"id") + sized(2, url) + sized(2, sized(2, message))


@pytest.mark.soak
def test_types_in_envelopes(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    name = topic(1)
    manifest = scene.manifest(kafka={"topics": [name]}, **example("types-any"))
    kinds_of = ("OrderPlaced", "OrderPaid", "Strange")
    values = [boxed(kinds_of[number % 3], bytes([8, number])) for number in range(60)]
    bad = [boxed("OrderPaid", b"\x08"), b"\x0a", boxed("", b""), b""]
    produce(scene.kafka.bootstrap, name, [Record(value, b"key") for value in (*values, *bad, None)])
    assert "ROW 1" in said("try", "-f", str(manifest), "--type", "shop.OrderPaid")
    scene.run_until_current(manifest)
    assert records_by_folder(scene, name) == {"type=placed": 20, "type=shop.OrderPaid": 20, "_quarantine": 25}
    assert [row["order"] for row in rows(scene, name, "type=shop.OrderPaid")] == list(range(1, 60, 3))
    document = verify(manifest, "--deep")
    assert (document["ok"], kinds(document), document["topics"][0]["compared"]) == (True, {}, 65)
