"""Protobuf values with a real registry: references, messages of one file, columns that follow the registry."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify
from tests.integration.test_member_avro import write
from tests.stack import SchemaRegistry

CreateTopic = Callable[..., str]

GEO = 'syntax = "proto3"; package acme.geo; message Place { string country = 1; }'
CLICK = """syntax = "proto3"; package acme;
import "google/protobuf/timestamp.proto"; import "geo.proto"; import "google/type/money.proto";
message Click {
  int64 id = 1; google.protobuf.Timestamp at = 2; acme.geo.Place place = 3; google.type.Money price = 6; %s
}
message View { int64 id = 1; string page = 9; }
"""
NOON = 1_795_262_400


def varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def click(number: int, more: bytes = b"") -> bytes:
    """Return a click at noon; places come in two pieces, which are one."""
    return (
        b"\x08" + varint(number) + b"\x12\x06\x08" + varint(NOON) + b"\x1a\x00\x1a\x04\x0a\x02DE\x32\x02\x10\x07" + more
    )


def test_columns_follow_the_registry(
    scene: Scene, topic: CreateTopic, registry: SchemaRegistry, verify: Verify, unique: str, capsys: Any
) -> None:
    name = topic(2)
    place = f"{unique}-place"
    registry.register(place, GEO, kind="PROTOBUF")
    references = [{"name": "geo.proto", "subject": place, "version": 1}]
    first = registry.register(f"{name}-value", CLICK % "", references, kind="PROTOBUF")

    def header(writer: int, indexes: bytes = b"\0") -> bytes:
        return b"\0" + writer.to_bytes(4, "big") + indexes

    def values(begin: int, end: int) -> Iterator[bytes]:
        for number in range(begin, end):
            if number % 2 and second:
                yield header(second) + click(number, b"\x20\x01\x2a\x03app")
            else:
                yield header(first) + click(number)

    second = 0
    output = {"parquet": {"kafkaColumns": ["partition", "offset"]}}

    def manifest(**more: Any) -> Path:
        value = {"protobuf": {"registry": {"url": registry.url}, **more}}
        return scene.manifest(kafka={"topics": [name]}, output=output, value=value)

    bad = [b"", header(first) + b"\x08", header(first, b"\x02\x02") + b"\x08\x07", header(9999) + b"\x08\x07"]
    write(scene, name, [*values(0, 50), *bad])
    assert main(["check", "-f", str(manifest())]) == Exit.OK
    assert f"{name}: 4 columns of version 1" in capsys.readouterr().out
    infer = ["schema", "infer", "-f", str(manifest()), "--registry", registry.url, "--parser", "protobuf"]
    assert main(infer) == Exit.OK
    spec = yaml.safe_load(capsys.readouterr().out)["spec"]
    assert {one["name"]: one["type"] for one in spec["value"]["protobuf"]["fields"]} == {
        "id": "int64",
        "at": "timestamp[us]",
        "place": "struct<country: string>",
        "price": "struct<currency_code: string, units: int64, nanos: int32>",
    }
    member = scene.member(manifest())
    scene.group.wait_current(name, explain=member.tail)

    second = registry.register(
        f"{name}-value", CLICK % "Kind kind = 4; string source = 5; enum Kind { NONE = 0; WEB = 1; }", references,
        kind="PROTOBUF",
    )  # fmt: skip
    write(scene, name, values(50, 100))
    scene.group.wait_current(name, explain=member.tail)
    member.terminate()
    assert main(["try", "-f", str(manifest()), "--rows", "1"]) == Exit.OK
    assert "source" in capsys.readouterr().out

    verify(manifest(), "--deep", finds={}, compared=[2 * (100 + len(bad))])
    rows, reasons = scene.bucket.rows_and_reasons(name)
    of_one = [row for row in rows if row["kafka_partition"] == 0]
    assert [row["id"] for row in of_one] == [*range(50), 7, *range(50, 100)]
    assert reasons == {"no_header": 2, "not_protobuf": 2, "unknown_schema": 2}
    assert (of_one[0]["at"].timestamp(), of_one[0]["place"]) == (NOON, {"country": "DE"})
    assert of_one[0]["price"] == {"currency_code": "", "units": 7, "nanos": 0}
    assert [(row["kind"], row["source"]) for row in of_one[-2:]] == [("NONE", ""), ("WEB", "app")]

    plain = scene.manifest(
        kafka={"topics": [name], "groupId": f"{unique}-plain"},
        storage={"prefix": "plain"},
        output={"jsonl": {}},
        value={"protobuf": {"schema": "message Any { optional int64 id = 1; }"}},
    )
    assert main(["try", "-f", str(plain), "--rows", "1"]) == Exit.OK
    out = capsys.readouterr().out
    assert "not_protobuf" in out, "a header is no field"
