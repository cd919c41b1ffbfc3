"""Avro values whose writers change while a member runs, with a real registry that is sometimes away."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.examples import example
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack import SchemaRegistry
from tests.stack.topics import Record, produce
from tests.unit.records.avro_samples import encoded

FIELDS = [
    {"name": "id", "type": "int64", "required": True},
    {"name": "at", "type": "timestamp[ms]"},
    {"name": "price", "type": "decimal(10,2)"},
    {"name": "country", "type": "string"},
    {"name": "rate", "type": "float64"},
]
ID = {"name": "id", "type": "long"}
AT = {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}
PRICE = {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}}
RATE = {"name": "rate", "type": "double"}
COUNTRY = {"name": "country", "type": ["null", {"type": "enum", "name": "Country", "symbols": ["DE", "FR"]}]}
SOURCE = {"name": "source", "type": "string", "default": "web"}
NOTE = {"name": "note", "type": "string", "default": "none"}
WHEN = {"name": "when", "aliases": ["at"], "type": ["null", AT["type"]]}
NOON = 1_795_262_400_000


def record_of(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Click", "namespace": "acme", "fields": list(fields)}


FIRST, SECOND, TEXT = (
    record_of(ID, AT, RATE),
    record_of(PRICE, ID, COUNTRY),
    record_of({"name": "id", "type": "string"}),
)


class Writers:
    """Two versions of one subject, and a writer of another one whose values fit nothing."""

    def __init__(self, registry: SchemaRegistry, subject: str) -> None:
        self._registry, self._subject = registry, subject
        self.first = registry.register(subject, FIRST)
        self.text = registry.register(f"{subject}-other", TEXT)
        self.second = 0

    def begin_second(self) -> None:
        self.second = self._registry.register(self._subject, SECOND)

    def values(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield values of both writers in turn, as far as both write."""
        for number in range(begin, end):
            if number % 2 and self.second:
                value = {"price": number.to_bytes(3, "big"), "id": number, "country": "DE" if number % 3 else None}
                yield encoded(SECOND, value, self.second)
            else:
                rate = math.nan if number % 3 else math.inf
                yield encoded(FIRST, {"id": number, "at": NOON + number, "rate": rate}, self.first)


def write(scene: Scene, topic: str, values: Iterator[bytes] | list[bytes]) -> None:
    records = (Record(value, partition=partition) for value in values for partition in (0, 1))
    produce(scene.kafka.bootstrap, topic, records)


def test_writers_change_while_the_registry_is_away(
    scene: Scene, topic: CreateTopic, registry: SchemaRegistry, verify: Verify, unique: str, capsys: Any
) -> None:
    name = topic(2)
    writers = Writers(registry, f"{unique}-value")
    good = {"id": 1, "at": 2, "rate": 3.0}
    bad = [
        b"",
        b"{}",
        b"\0\0\0\1",
        encoded(TEXT, {"id": "x"}, writers.text),
        encoded(FIRST, good, 999_999),
        encoded(FIRST, good, writers.first)[:-1],
    ]
    write(scene, name, [*writers.values(0, 300), *bad])
    columns = {"kafkaColumns": ["partition", "offset"]}
    value = {"avro": {"fields": FIELDS, "registry": {"url": registry.url}}}
    manifest = scene.manifest(
        kafka={"topics": [name]}, output={"parquet": columns}, upload={"maxAge": "2s"}, value=value
    )
    assert main(["check", "-f", str(manifest)]) == Exit.OK
    assert f"{registry.url}: knows schemas" in capsys.readouterr().out
    member = scene.member(manifest, "one")
    scene.group.wait_current(name, explain=member.tail)
    before = set(scene.bucket.names(name))
    assert len(before) == 2 + 2  # rows and quarantine of one range of each partition

    writers.begin_second()
    registry.suspend()
    try:
        write(scene, name, writers.values(300, 500))
        member.wait("ranges wait for the registry", lambda: "schema registry" in member.tail())
        assert set(scene.bucket.names(name)) == before
        member.kill()
        member.wait_gone()
        after = scene.member(manifest, "two")
    finally:
        registry.resume()
    scene.group.wait_current(name, explain=after.tail)

    verify(manifest, "--deep", finds={}, compared=[2 * (500 + len(bad))])
    rows, reasons = scene.bucket.rows_and_reasons(name)
    assert [one["kafka_offset"] for one in rows if one["kafka_partition"] == 0] == [
        offset for offset in range(500 + len(bad)) if not 300 <= offset < 300 + len(bad)
    ]
    assert [one["id"] for one in rows if one["kafka_partition"] == 1] == list(range(500))
    last = rows[-1]
    assert (str(last["price"]), last["country"], last["at"]) == ("4.99", "DE", None)
    assert (rows[300]["at"].timestamp() * 1000, rows[300]["rate"]) == (NOON + 300, math.inf)
    assert math.isnan(rows[2]["rate"])
    assert reasons == Counter({"no_header": 6, "other_schema": 2, "unknown_schema": 2, "not_avro": 2})


def test_columns_follow_the_registry(
    scene: Scene, topic: CreateTopic, registry: SchemaRegistry, verify: Verify, capsys: Any
) -> None:
    name = topic(2)
    subject = f"{name}-value"
    old, new = record_of(ID, AT), record_of(ID, WHEN, {**RATE, "default": -1.5}, SOURCE)

    def values(begin: int, end: int) -> Iterator[bytes]:
        for number in range(begin, end):
            if number % 2 and second:
                yield encoded(new, {"id": number, "when": None, "rate": 0.5, "source": "app"}, second)
            else:
                yield encoded(old, {"id": number, "at": NOON}, first)

    first, second = registry.register(subject, old), 0
    output = {"partitionBy": [], "parquet": {"kafkaColumns": ["partition", "offset"]}}

    def manifest(generation: int = 1, **pinned: Any) -> Path:
        avro = {"registry": {"url": registry.url, "secretName": None, **pinned}}
        spec = example("avro-latest", output=output, value={"avro": avro})
        return scene.manifest(kafka={"topics": [name]}, generation=generation, **spec)

    write(scene, name, values(0, 100))
    assert main(["check", "-f", str(manifest(subject="nobodys"))]) == Exit.OK
    assert f"warning  registry  {name}: schema registry" in capsys.readouterr().out
    assert main(["check", "-f", str(manifest())]) == Exit.OK
    assert f"{name}: 2 columns of version 1" in capsys.readouterr().out
    member = scene.member(manifest())
    scene.group.wait_current(name, explain=member.tail)

    second = registry.register(subject, new)
    write(scene, name, values(100, 200))
    scene.group.wait_current(name, explain=member.tail)
    before = scene.bucket.names(name)
    assert len(before) == len(member.events("range.written")), "writers that alternate make no more files"
    assert main(["try", "-f", str(manifest()), "--rows", "1"]) == Exit.OK
    assert "source" in capsys.readouterr().out

    registry.register(
        subject, record_of(ID, WHEN, RATE | {"default": -1.5}, SOURCE, {"name": "note", "type": "string"})
    )
    write(scene, name, values(200, 210))
    told = "cannot read values of the versions from 2 on: of version 2, note: it is required, has no default"
    member.wait("the new version is refused", lambda: told in member.tail())
    member.terminate()
    assert scene.bucket.names(name) == before

    # The message names three remedies. A version that can, and a restart:
    registry.register(subject, record_of(ID, WHEN, RATE | {"default": -1.5}, SOURCE, NOTE))
    scene.run_until_current(manifest())
    assert len(scene.bucket.names(name)) == len(before) + 2
    # the version before by its number, while the latest one cannot:
    last = record_of({"name": "id", "type": "string"}, NOTE)
    fifth = registry.register(subject, last)
    write(scene, name, values(210, 220))
    scene.run_until_current(manifest(version=4))

    verify(manifest(version=4), "--deep", finds={}, compared=[2 * 220])
    rows, _ = scene.bucket.rows_and_reasons(name)
    of_one = [row for row in rows if row["kafka_partition"] == 0]
    assert [row["id"] for row in of_one] == list(range(220))
    named = {"at", "when", "rate", "source", "note"}
    assert [sorted(row.keys() & named) for row in (of_one[0], of_one[199], of_one[-1])] == [
        ["at"],
        ["rate", "source", "when"],
        ["note", "rate", "source", "when"],
    ]
    assert [(row["when"] is None, row["rate"], row["source"]) for row in of_one[100:102]] == [
        (False, -1.5, "web"),
        (True, 0.5, "app"),
    ]

    # a higher generation, which goes on with what cannot read the rest:
    write(scene, name, (encoded(last, {"id": str(number), "note": ""}, fifth) for number in range(220, 230)))
    scene.run_until_current(manifest(generation=2))
    newest = [row for row in scene.bucket.rows_and_reasons(name)[0] if row["kafka_partition"] == 0][220:]
    assert [(row["id"], *sorted(row.keys() & named)) for row in newest] == [
        (str(one), "note") for one in range(220, 230)
    ]
