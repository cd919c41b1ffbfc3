"""Topics that mix records of many types: each type is a data set of its own, whatever happens to the process."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.integration.harness.examples import example
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds, said, said_json
from tests.stack import SchemaRegistry
from tests.stack.fault_proxy import FaultProxy
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


def of_schema(name: str, *fields: str) -> dict[str, Any]:
    """Return the Avro schema of a record of the shop, whose fields are numbers."""
    inner = [{"name": field, "type": "long"} for field in ("id", *fields)]
    return {"type": "record", "name": name, "namespace": "shop", "fields": inner}


def test_types_by_the_names_of_schemas(
    scene: Scene, topic: CreateTopic, registry: SchemaRegistry, registry_proxy: FaultProxy, verify: Verify, unique: str
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
                yield Record(b"no header")

    shape = example("types-registry")
    shape["value"]["avro"]["registry"] = {"url": registry_proxy.endpoint + registry.path}
    shape["types"]["entries"][2]["output"] = {"text": {"compression": "none"}}
    manifest = scene.manifest(kafka={"topics": [name]}, **shape)
    produce(scene.kafka.bootstrap, name, values(0))
    told = said("try", "-f", str(manifest))
    assert "type=orders" in told
    assert "unknown_type" in told
    member = scene.member(manifest, "one")
    scene.group.wait_current(name, explain=member.tail)
    stored = {"type=orders": 20, "type=shop.Refund": 10, "_quarantine": 30}
    assert records_by_folder(scene, name) == stored

    # A writer that the member does not know, while nobody can tell of which type its records are.
    ids[0] = registry.register(f"{unique}-0", later)
    registry_proxy.stop()
    try:
        produce(scene.kafka.bootstrap, name, [Record(encoded(later, {"id": 60, "more": 1}, ids[0]))])
        member.wait("ranges wait for the registry", lambda: "schema registry" in member.tail())
        assert records_by_folder(scene, name) == stored, "nothing is judged meanwhile"
    finally:
        registry_proxy.start()
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
