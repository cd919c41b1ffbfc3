"""What holds for a topic: the first entry of ``spec.overrides`` that names it, and the group's blocks."""

from typing import Any

import pytest

from logpersister.manifest.revisions.revision import resource_of, revision_of
from logpersister.values.row_schema import RowSchema
from tests.unit.manifest.documents import accepted, problems

ID: list[dict[str, Any]] = [{"name": "id", "type": "int64"}]
PRICE: list[dict[str, Any]] = [{"name": "price", "type": "decimal(10,2)"}]
CLICKS: dict[str, Any] = {"json": {"fields": ID}}
ORDERS: dict[str, Any] = {"json": {"fields": PRICE}}
GROUP: dict[str, Any] = {
    "spec.kafka.topics": ["clicks", "orders", "raw.a", "raw.b"],
    "spec.value": CLICKS,
    "spec.output": {"parquet": {}},
    "spec.upload": {"maxBytes": "64Mi"},
}
RAW: dict[str, Any] = {"topicPattern": "^raw", "value": {"bytes": {}}, "output": {"jsonl": {}}}
ORDERS_FIRST: dict[str, Any] = {"topics": ["orders"], "value": ORDERS, "upload": {"maxAge": "1m"}}


def hash_of(topic: str, *overrides: dict[str, Any]) -> str:
    resource = accepted({**GROUP, "spec.overrides": list(overrides)})
    return revision_of(resource.for_topic(topic), "1").hash


@pytest.mark.parametrize(
    ("topic", "same_as"),
    [
        ("clicks", {}),
        ("orders", {"spec.value": ORDERS, "spec.upload": {"maxBytes": "64Mi", "maxAge": "1m"}}),
        ("raw.a", {"spec.value": {"bytes": {}}, "spec.output": {"jsonl": {}}}),
        ("raw.b", {"spec.upload": {"maxBytes": "64Mi", "maxAge": "1h"}}),
    ],
)
def test_a_topic_has_what_a_manifest_without_overrides_would_say(topic: str, same_as: dict[str, Any]) -> None:
    overrides = [{"topics": ["raw.b"], "upload": {"maxAge": "1h"}}, ORDERS_FIRST, RAW]
    alone = accepted({**GROUP, **same_as})
    assert hash_of(topic, *overrides) == revision_of(alone, "1").hash
    found = accepted({**GROUP, "spec.overrides": overrides})
    assert found.for_topic(topic).spec == alone.spec.model_copy(update={"kafka": found.spec.kafka})
    assert found.spec.limits_of(topic) == alone.spec.limits_of(topic)


def test_an_override_changes_nothing_of_other_topics() -> None:
    for topic in ("clicks", "raw.a"):
        assert hash_of(topic, RAW, ORDERS_FIRST) == hash_of(topic, ORDERS_FIRST | {"value": CLICKS}, RAW)
    assert hash_of("orders", RAW, ORDERS_FIRST) == hash_of("orders", ORDERS_FIRST)
    assert hash_of("clicks", RAW) == hash_of("clicks"), "a manifest without overrides has the same"
    assert hash_of("raw.a", RAW) == hash_of("raw.b", RAW), "topics of one shape share a revision"


RECORD = '{"type": "record", "name": "A", "namespace": "a", "fields": [{"name": "id", "type": "long"}]}'


@pytest.mark.parametrize(
    ("registry", "key", "subjects"),
    [
        ({}, None, ("clicks-value", None)),
        ({"subject": "all"}, None, ("all", None)),
        ({"subject": "all"}, {}, ("all", "clicks-key")),
        ({"subject": "all"}, {"subject": "keys.{topic}"}, ("all", "keys.clicks")),
        ({"url": "glue://eu-central-1"}, {}, ("clicks", "clicks")),
    ],
)
def test_a_topic_has_the_subjects_whose_fingerprints_are_asked_for(
    registry: dict[str, Any], key: dict[str, Any] | None, subjects: tuple[str, str | None]
) -> None:
    of_values = {"url": "http://r:8081", **registry}
    changes = {"spec.value": {"avro": {"singleObject": {}, "fields": ID, "registry": of_values}}}
    if key is not None:
        of_keys = {"registry": {"url": of_values["url"], **key}} if key else {}
        changes["spec.key"] = {"avro": {"singleObject": {}, "fields": ID, **of_keys}}
    resource = accepted({**GROUP, **changes})
    found = resource.for_topic("clicks").spec.row_schema
    assert found is not None
    assert found.registry is not None
    assert (found.registry.subject, None if found.key is None else _subject(found.key.schema)) == subjects
    assert resource.for_topic("clicks").for_topic("orders").spec.row_schema == found, "it is named once"
    of_own = [resource.for_topic(topic).spec.row_schema for topic in ("clicks", "orders")]
    assert resource.spec.names_subjects is (of_own[0] != of_own[1])


def _subject(schema: RowSchema) -> str | None:
    return None if schema.registry is None else schema.registry.subject


def test_entries_of_types_have_the_subjects_and_the_writers_of_their_topic() -> None:
    entry: dict[str, Any] = {"names": ["a.A"], "value": {"avro": {"fields": ID}}}
    types: dict[str, Any] = {"schemaName": "record", "entries": [entry], "others": {"action": "drop"}}
    schemas = {"singleObject": {"schemas": [RECORD]}, "schema": RECORD}
    for of_writers in ({"singleObject": {}, "registry": {"url": "http://r:8081"}}, schemas):
        resource = accepted({**GROUP, "spec.value": {"avro": of_writers}, "spec.types": types})
        assert resource.spec.names_subjects is ("registry" in of_writers)
        found = resource.for_topic("clicks").spec.of_types()[0].row_schema
        assert found is not None
        if "registry" in of_writers:
            assert found.registry is not None
            assert found.registry.subject == "clicks-value"
        else:
            assert found.written_by("singleObject") == (RECORD,)


def test_what_does_not_go_together_with_the_key_is_told_where_it_is() -> None:
    key = {**GROUP, "spec.key": {"text": {}, "column": "PRICE"}}
    (problem,) = problems({**key, "spec.overrides": [{"topics": ["orders"], "value": ORDERS}]})
    assert str(problem).startswith("spec.overrides[0]: does not go together with spec.key.column, which then is")
    types = {"header": "h", "entries": [{"names": ["a"], "value": ORDERS}]}
    (problem,) = problems({**key, "spec.types": types})
    assert str(problem).startswith("spec.types.entries[0]: does not go together with spec.key.column, which then is")


def test_the_name_of_another_table_fits_to_the_topics_of_the_entry() -> None:
    table = {"format": "iceberg", "catalog": {"type": "rest", "uri": "https://c"}, "name": "lake.{topic}"}
    [found] = problems(
        {**GROUP, "spec.table": table, "spec.overrides": [ORDERS_FIRST | {"table": {"name": "a.{type}"}}]}
    )
    assert found.startswith('spec.overrides[0].table.name: "a.{type}" has the placeholder of types without spec.types')
    renamed = {"spec.overrides": [{"topics": ["clicks"], "table": {"name": "lake.web"}}]}
    resource = accepted({**GROUP, "spec.table": table, **renamed})
    spec = resource.spec
    of_clicks = resource.for_topic("clicks")
    again = resource_of(revision_of(of_clicks, "1").document)
    assert revision_of(again, "1") == revision_of(of_clicks, "1"), "tasks read it from its snapshot"
    assert [one.name for one in map(spec.table_of, ["clicks", "orders"]) if one is not None] == [
        "lake.web",
        "lake.{topic}",
    ]
