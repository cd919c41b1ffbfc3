"""Columns from a registry: which version, what cannot be columns, and which versions a new one must be able to read."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from logpersister.manifest.revisions.revision import (
    OutputSchema,
)
from logpersister.manifest.secrets import Secrets
from logpersister.registry import RegistryError, RegistrySchemas, Schema, SubjectVersion, open_schemas
from logpersister.registry.client import RegistryClient
from logpersister.registry.errors import RegistryErrorKind, failure
from logpersister.registry.schemas import MOST_EARLIER
from tests.unit.manifest.documents import accepted

URL = "http://registry:8081"
BY_REGISTRY = {"spec.value": {"avro": {"registry": {"url": URL}}}}


def record(**types: Any) -> str:
    fields = [
        {"name": name, **(type_ if isinstance(type_, dict) else {"type": type_})} for name, type_ in types.items()
    ]
    return json.dumps({"type": "record", "name": "Click", "fields": fields})


class FakeSubjects(RegistryClient):
    """A registry of which a test says which versions it has."""

    url = URL

    def __init__(self, subjects: dict[str, dict[int, Schema]]) -> None:
        self.subjects = subjects
        self.error: RegistryErrorKind | None = None
        self.asked: list[int | None] = []
        """Versions that were asked for; None: which there are."""
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def latest(self, subject: str) -> SubjectVersion:
        return self.version(subject, max(self.subjects.get(subject, {0: None})))

    def version(self, subject: str, version: int) -> SubjectVersion:
        self._answer(version, is_known=version in self.subjects.get(subject, {}))
        return SubjectVersion(subject, version, 100 + version, self.subjects[subject][version])

    def versions(self, subject: str) -> tuple[int, ...]:
        self._answer(None, is_known=subject in self.subjects)
        return tuple(self.subjects[subject])

    def _answer(self, version: int | None, *, is_known: bool) -> None:
        self.asked.append(version)
        if self.error is not None or not is_known:
            raise failure(URL, self.error or "unknown", "it fails", "asking")


@pytest.fixture
def client() -> FakeSubjects:
    return FakeSubjects({})


def schemas(
    client: FakeSubjects,
    output: dict[str, Any] | None = None,
    kind: str = "avro",
    keep: Sequence[dict[str, Any]] = (),
    rename: Any = (),
    **registry: Any,
) -> RegistrySchemas:
    changes = {
        "spec.value": {kind: {"registry": {"url": URL, **registry}}, "rename": list(rename)},
        "spec.output": {"parquet": {}, **(output or {})},
        "spec.keep": list(keep),
    }
    resource = accepted(changes)
    assert resource.spec.row_schema is not None
    assert resource.spec.row_schema.registry is not None
    return RegistrySchemas(resource, resource.spec.row_schema.registry, lambda: client)


def versions(*texts: str) -> dict[int, Schema]:
    return {number: Schema(text, "AVRO") for number, text in enumerate(texts, 1)}


V1, V2 = record(id="long"), record(id="long", at={"type": "long", "default": 0})


def test_the_latest_version_or_the_one_that_is_named(client: FakeSubjects) -> None:
    client.subjects = {"clicks-value": versions(V1, V2), "all.clicks": versions(V2)}
    assert schemas(client).current("clicks") == OutputSchema(2, V2)
    assert schemas(client, version="latest").current("clicks") == OutputSchema(2, V2)
    assert schemas(client, version=1).current("clicks") == OutputSchema(1, V1)
    assert schemas(client, subject="all.{topic}").current("clicks") == OutputSchema(1, V2)
    columns = schemas(client).resource_of("clicks").spec.row_schema
    assert columns is not None
    assert [(one.name, one.required, one.default) for one in columns.columns] == [("id", True, None), ("at", True, "0")]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (Schema("syntax = 3", "PROTOBUF"), "it is registered as PROTOBUF, not as Avro"),
        (Schema(record(a=["string", "long"]), "AVRO"), "its field 'a': it is one of several types"),
        (Schema('"string"', "AVRO"), "is not the JSON of an Avro schema of type record"),
        (Schema(record(id="int", dt="string"), "AVRO"), '"dt" is also the name of a folder of output.partitionBy'),
        (Schema(record(seen="string"), "AVRO"), "cannot name folders: values have no such field"),
    ],
    ids=lambda one: one.text if isinstance(one, Schema) else None,
)
def test_what_cannot_be_the_columns(client: FakeSubjects, schema: Schema, told: str) -> None:
    client.subjects = {"clicks-value": {7: schema}}
    levels = [{"date": {"granularity": "day"}}, {"field": "id"}]
    with pytest.raises(RegistryError) as caught:
        schemas(client, {"partitionBy": levels}).current("clicks")
    assert caught.value.kind == "rejected"
    assert "version 7 of subject 'clicks-value' cannot declare the columns of topic clicks: " in str(caught.value)
    assert told in str(caught.value)
    assert "; register a version that can, or name the columns in fields of spec.value" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (record(id="int"), "cannot be compared: values have no such field"),
        (record(id="int", country="long"), "cannot be compared: country is int64"),
    ],
    ids=["gone", "another type"],
)
def test_conditions_are_checked_when_the_columns_are_known(client: FakeSubjects, text: str, told: str) -> None:
    """A topic waits rather than store what its filter was to leave out."""
    good = record(id="int", country="string")
    client.subjects = {"clicks-value": versions(good)}
    found = schemas(client, keep=[{"field": "country", "in": ["DE"]}])
    assert found.current("clicks") == OutputSchema(1, good)
    client.subjects = {"clicks-value": versions(good, text)}
    with pytest.raises(RegistryError) as caught:
        found.current("clicks")
    assert (caught.value.kind, told in str(caught.value)) == ("rejected", True)


def test_columns_of_versions_have_other_names_and_resolve_by_those_of_values(client: FakeSubjects) -> None:
    client.subjects = {"clicks-value": versions(V1, V2)}
    found = schemas(client, rename=[{"field": "id", "to": "number"}])
    columns = found.resource_of("clicks").spec.row_schema
    assert columns is not None
    assert [one.name for one in columns.columns] == ["number", "at"]
    assert found.unreadable("clicks", OutputSchema(2, V2), OutputSchema(1, V1)) is None
    with pytest.raises(RegistryError) as caught:
        schemas(client, rename=[{"field": "user", "to": "person"}]).current("clicks")
    told = 'value.rename[0].field "user" cannot be renamed: values have no such field; register a version that can'
    assert told in str(caught.value)


def test_a_version_must_read_all_since_the_one_before(client: FakeSubjects) -> None:
    text, number = record(id="string"), record(id="long")
    client.subjects = {"clicks-value": versions(number, text, V2)}
    found = schemas(client)
    told = "of version 2, id: the writer's schema has string, which cannot become int64"
    before, now = OutputSchema(1, number), found.current("clicks")
    assert found.unreadable("clicks", now, before) == told
    asked = [*client.asked]
    assert found.unreadable("clicks", now, before) == told
    assert client.asked == asked, "what was found does not change"
    assert found.unreadable("clicks", now, OutputSchema(2, text)) == told
    client.subjects["clicks-value"] = versions(number, number, V2)
    assert schemas(client).unreadable("clicks", now, before) is None
    client.subjects["clicks-value"] = versions(number, number, record(id="long", at="long"))
    found = schemas(client)
    told = "of version 1, at: it is required, has no default, and is not in the writer's schema"
    assert found.unreadable("clicks", found.current("clicks"), before) == told


def test_it_says_which_versions_before_it_cannot_read(client: FakeSubjects) -> None:
    text = record(id="string", at="long")
    client.subjects = {"clicks-value": versions(text, V1, record(id="long", at="long"))}
    found = schemas(client)
    assert found.unreadable_before("clicks", found.current("clicks")) == {
        1: "id: the writer's schema has string, which cannot become int64",
        2: "at: it is required, has no default, and is not in the writer's schema",
    }
    pinned = schemas(client, version=2)
    assert list(pinned.unreadable_before("clicks", pinned.current("clicks"))) == [1]
    client.subjects["clicks-value"][1] = Schema("{}", "JSON")
    first = schemas(client).unreadable_before("clicks", found.current("clicks"))[1]
    assert first == "it is registered as JSON, not as Avro"
    client.subjects["clicks-value"] = versions(text, *[V1] * MOST_EARLIER, V2)
    assert found.unreadable_before("clicks", found.current("clicks")) == {}, "only so many are asked for"


def test_columns_and_versions_of_json_schema(client: FakeSubjects) -> None:
    def of_objects(*required: str, **types: str) -> Schema:
        properties = {name: {"type": type_} for name, type_ in types.items()}
        return Schema(json.dumps({"properties": properties, "required": required}), "JSON")

    client.subjects = {
        "clicks-value": {
            1: of_objects("id", id="integer", at="string"),
            2: of_objects("id", "at", id="number", at="string"),
            3: of_objects("id", "at", id="string", at="string"),
            4: Schema("{}", "JSON"),
            5: of_objects("at", id="number", at="string"),
        }
    }
    found = schemas(client, kind="json")
    first, last = (OutputSchema(number, client.subjects["clicks-value"][number].text) for number in (1, 5))
    assert found.current("clicks") == last
    columns = found.resource_of("clicks").spec.row_schema
    assert columns is not None
    assert [(one.name, str(one.type), one.required) for one in columns.columns] == [
        ("id", "float64", False), ("at", "string", True)
    ]  # fmt: skip
    told = "of version 1, at: it is required, and the writer's schema does not require it"
    assert found.unreadable("clicks", last, first) == told
    second = OutputSchema(2, client.subjects["clicks-value"][2].text)
    told = "of version 3, id: the writer's schema has string, which cannot become float64"
    assert found.unreadable("clicks", last, second) == told
    del client.subjects["clicks-value"][3]
    assert schemas(client, kind="json").unreadable("clicks", last, second) == "of version 4, it names no properties"
    del client.subjects["clicks-value"][4]
    assert schemas(client, kind="json").unreadable("clicks", last, second) is None
    client.subjects["clicks-value"] = {7: Schema('{"type": "string"}', "JSON")}
    with pytest.raises(RegistryError, match="cannot be the columns: its values are no objects; register a version"):
        found.current("clicks")
    client.subjects["clicks-value"] = versions(V1)
    with pytest.raises(RegistryError, match="it is registered as AVRO, not as JSON Schema"):
        found.current("clicks")


def test_a_login_is_read_anew_when_it_is_refused(client: FakeSubjects) -> None:
    client.subjects = {"clicks-value": versions(V1)}
    found = schemas(client)
    client.error = "unauthorized"
    with pytest.raises(RegistryError):
        found.current("clicks")
    assert client.closed == 1
    client.error = None
    assert found.current("clicks").version == 1


def test_a_manifest_that_declares_its_columns_asks_nobody() -> None:
    assert open_schemas(accepted({}), Secrets()) is None
    fields = {"fields": [{"name": "id", "type": "int64"}], "registry": {"url": URL}}
    assert open_schemas(accepted({"spec.value": {"avro": fields}}), Secrets()) is None
    opened = open_schemas(accepted(BY_REGISTRY), Secrets())
    assert opened is not None
    assert opened.of("clicks") is not None
    opened.close()
