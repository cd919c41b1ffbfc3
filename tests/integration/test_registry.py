"""The client of schema registries with a real one, and with one that is away."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from logpersister.manifest.secrets import Secrets
from logpersister.registry import RegistryAccess, RegistryClient, RegistryError, open_schemas
from logpersister.registry.kinds import KINDS
from logpersister.values.protobuf.columns import columns_of
from tests.stack import SchemaRegistry
from tests.unit.manifest.documents import accepted

GEO = {"type": "record", "name": "Geo", "namespace": "acme", "fields": [{"name": "lat", "type": "double"}]}

PLACE = 'syntax = "proto3"; package acme.geo; message Place { string country = 1; }'
CLICK = """syntax = "proto3"; package acme;
import "google/protobuf/timestamp.proto"; import "geo.proto"; import "google/type/money.proto";
message Click {
  int64 id = 1; google.protobuf.Timestamp at = 2; acme.geo.Place place = 3; google.type.Money price = 6;
}
message View { int64 id = 1; string page = 9; }
"""


@pytest.fixture
def client(registry: SchemaRegistry) -> Iterator[RegistryClient]:
    found = RegistryClient(RegistryAccess(registry.url), attempts=1)
    yield found
    found.close()


def record(*fields: str) -> object:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": "int"} for name in fields]}


def test_versions_before_the_latest_that_it_cannot_read(registry: SchemaRegistry, unique: str) -> None:
    for fields in (("a",), ("a", "b"), ("b",)):
        registry.register(unique, record(*fields))
    value = {"avro": {"registry": {"url": registry.url, "subject": unique}}}
    schemas = open_schemas(accepted({"spec.value": value, "spec.output": {"parquet": {}}}), Secrets())
    assert schemas is not None
    with closing(schemas):
        of_topic = schemas.of("clicks")
        assert of_topic is not None
        found = of_topic.unreadable_before("clicks", of_topic.current("clicks"))
    assert found == {1: "b: it is required, has no default, and is not in the writer's schema"}


def test_references_of_references(registry: SchemaRegistry, client: RegistryClient, unique: str) -> None:
    registry.register(f"{unique}-geo", GEO)
    place = {"type": "record", "name": "acme.Place", "fields": [{"name": "geo", "type": "Geo"}]}
    of_geo = {"name": "acme.Geo", "subject": f"{unique}-geo", "version": 1}
    registry.register(f"{unique}-place", place, [of_geo])
    visit = {"type": "record", "name": "acme.Visit", "fields": [{"name": "at", "type": "Place"}]}
    of_place = {"name": "acme.Place", "subject": f"{unique}-place", "version": 1}
    written = registry.register(unique, visit, [of_place])
    for schema in (client.latest(unique).schema, client.schema(written)):
        found = json.loads(KINDS["avro"].self_contained(schema))
        assert found["fields"][0]["type"]["fields"][0]["type"] == GEO


def test_references_of_protobuf(registry: SchemaRegistry, client: RegistryClient, unique: str) -> None:
    """Also to what registries have built in."""
    registry.register(f"{unique}-geo", PLACE, kind="PROTOBUF")
    of_geo = {"name": "geo.proto", "subject": f"{unique}-geo", "version": 1}
    written = registry.register(unique, CLICK, [of_geo], kind="PROTOBUF")
    for schema in (client.latest(unique).schema, client.schema(written)):
        found = columns_of(KINDS["protobuf"].self_contained(schema), "Click")
        assert {one.name: str(one.type) for one in found} == {
            "id": "int64",
            "at": "timestamp[us]",
            "place": "struct<country: string>",
            "price": "struct<currency_code: string, units: int64, nanos: int32>",
        }


def test_what_the_registry_does_not_know(registry: SchemaRegistry, client: RegistryClient, unique: str) -> None:
    registry.register(unique, record("a"))
    for ask in (
        lambda: client.schema(999_999),
        lambda: client.latest(f"{unique}-other"),
        lambda: client.version(unique, 9),
        lambda: client.versions(f"{unique}-other"),
    ):
        with pytest.raises(RegistryError, match="not found") as caught:
            ask()
        assert caught.value.kind == "unknown"
    elsewhere = RegistryClient(RegistryAccess(registry.url.removesuffix("/v7")), attempts=1)
    with pytest.raises(RegistryError, match="check the url") as caught:
        elsewhere.latest(unique)
    elsewhere.close()
    assert caught.value.kind == "rejected"
