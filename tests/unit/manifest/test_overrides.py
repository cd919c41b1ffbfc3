"""What holds for a topic: the first entry of ``spec.overrides`` that names it, and the group's blocks."""

from datetime import timedelta
from typing import Any

import pytest

from logpersister.manifest.revision import resource_of, revision_of
from tests.unit.manifest.documents import accepted, problems

CLICKS: dict[str, Any] = {"fields": [{"name": "id", "type": "int64"}]}
ORDERS: dict[str, Any] = {"fields": [{"name": "price", "type": "decimal(10,2)"}]}
GROUP: dict[str, Any] = {
    "spec.kafka.topics": ["clicks", "orders", "raw.a", "raw.b"],
    "spec.parser": {"type": "json"},
    "spec.schema": CLICKS,
    "spec.output": {"format": "parquet"},
    "spec.upload": {"maxBytes": "64Mi"},
}
RAW: dict[str, Any] = {"topicPattern": "^raw", "parser": {"type": "bytes"}, "output": {"format": "jsonl"}}
ORDERS_FIRST: dict[str, Any] = {"topics": ["orders"], "schema": ORDERS, "upload": {"maxAge": "1m"}}


def hash_of(topic: str, *overrides: dict[str, Any], **changes: Any) -> str:
    resource = accepted({**GROUP, **changes, "spec.overrides": list(overrides)})
    return revision_of(resource.for_topic(topic), "1").hash


@pytest.mark.parametrize(
    ("topic", "same_as"),
    [
        ("clicks", {}),
        ("orders", {"spec.schema": ORDERS, "spec.upload": {"maxBytes": "64Mi", "maxAge": "1m"}}),
        ("raw.a", {"spec.parser": {"type": "bytes"}, "spec.schema": None, "spec.output": {"format": "jsonl"}}),
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
        assert hash_of(topic, RAW, ORDERS_FIRST) == hash_of(topic, ORDERS_FIRST | {"schema": CLICKS}, RAW)
    assert hash_of("orders", RAW, ORDERS_FIRST) == hash_of("orders", ORDERS_FIRST)
    assert hash_of("clicks", RAW) == hash_of("clicks"), "a manifest without overrides has the same"
    assert hash_of("raw.a", RAW) == hash_of("raw.b", RAW), "topics of one shape share a revision"


def test_a_manifest_without_overrides_is_its_own() -> None:
    resource = accepted({**GROUP, "spec.upload": {"maxAge": "1m"}})
    assert resource.for_topic("raw.a") is resource
    assert resource.spec.limits_of("raw.a").max_age == timedelta(minutes=1)
    assert list(resource.spec.variants()) == [resource.spec]


SINGLE_OBJECT = {"type": "avro", "framing": "singleObject"}


@pytest.mark.parametrize(
    ("registry", "key", "subjects"),
    [
        ({}, None, ("clicks-value", None)),
        ({"subject": "all.{topic}"}, None, ("all.clicks", None)),
        ({"subject": "all"}, None, ("all", None)),
        ({"subject": "all"}, {}, ("all", "clicks-key")),
        ({"subject": "all"}, {"subject": "keys.{topic}"}, ("all", "keys.clicks")),
        ({"subject": "all"}, {"subject": "keys"}, ("all", "keys")),
        ({"url": "glue://eu-central-1"}, {}, ("clicks", "clicks")),
    ],
)
def test_a_topic_has_the_subjects_whose_fingerprints_are_asked_for(
    registry: dict[str, Any], key: dict[str, Any] | None, subjects: tuple[str, str | None]
) -> None:
    schema: dict[str, Any] = {**CLICKS, "registry": {"url": "http://r:8081", **registry}}
    if key is not None:
        schema["key"] = {"type": "struct<a: string>", "parser": "avro", "framing": "singleObject", **key}
    parser = SINGLE_OBJECT | {"quarantine": {"format": "parquet"}}
    resource = accepted({**GROUP, "spec.parser": parser, "spec.schema": schema})
    found = resource.for_topic("clicks").spec.row_schema
    assert found is not None
    assert found.registry is not None
    assert (found.registry.subject, None if found.key is None else found.key.subject) == subjects
    assert resource.for_topic("clicks").for_topic("orders").spec.row_schema == found, "it is named once"
    of_own = [resource.for_topic(topic).spec.row_schema for topic in ("clicks", "orders")]
    assert resource.spec.names_subjects is (of_own[0] != of_own[1])


def test_topics_share_a_revision_where_ids_say_all() -> None:
    registry = {"registry": {"url": "http://r:8081"}}
    for parser, schema in (({"type": "avro"}, CLICKS | registry), ({"type": "json", "framing": "confluent"}, CLICKS)):
        resource = accepted({**GROUP, "spec.parser": parser, "spec.schema": schema})
        assert not resource.spec.names_subjects
        assert resource.for_topic("clicks").spec == resource.spec


def test_entries_of_types_have_the_subjects_and_the_writers_of_their_topic() -> None:
    entry: dict[str, Any] = {"names": ["a.A"], "schema": CLICKS}
    types: dict[str, Any] = {"schemaName": "record", "entries": [entry], "others": {"action": "drop"}}
    record = '{"type": "record", "name": "A", "namespace": "a", "fields": [{"name": "id", "type": "long"}]}'
    for schema in ({"registry": {"url": "http://r:8081"}}, {"avro": record}):
        resource = accepted({**GROUP, "spec.parser": SINGLE_OBJECT, "spec.schema": schema, "spec.types": types})
        assert resource.spec.names_subjects is ("registry" in schema)
        found = resource.for_topic("clicks").spec.of_types()[0].row_schema
        assert found is not None
        if "registry" in schema:
            assert found.registry is not None
            assert found.registry.subject == "clicks-value"
        else:
            assert found.written_by("singleObject") == (record,)


def test_what_is_kept_is_a_column_of_each_topic_whose_parser_says_so() -> None:
    lenient = {"type": "json", "unknownFields": "keep", "restColumn": "others"}
    renamed = {"fields": CLICKS["fields"], "rename": [{"field": "id", "to": "number"}]}
    types = {
        "header": "h",
        "entries": [
            {"names": ["a"], "schema": ORDERS},
            {"names": ["b"], "parser": {"type": "json"}, "schema": ORDERS},
        ],
        "others": {"action": "store"},
    }
    overrides = [
        {"topics": ["orders"], "schema": ORDERS},
        {"topics": ["raw.a"], "parser": {"type": "json", "unknownFields": "keep"}, "schema": renamed},
        {"topics": ["raw.b"], "parser": {"type": "json"}, "schema": ORDERS},
    ]
    changes = {**GROUP, "spec.parser": lenient, "spec.overrides": overrides, "spec.types": types}
    spec = accepted(changes).spec
    of_types = [one.row_schema for one in spec.for_topic("clicks").of_types()]
    schemas = [spec.for_topic(topic).row_schema for topic in ("orders", "raw.a", "raw.b")]
    names = [[column.name for column in one.columns] for one in (*of_types, *schemas) if one is not None]
    kept = [["price", "others"], ["price"], ["id", "others"]]
    assert names == [*kept, ["price", "others"], ["number", "_rest"], ["price"]]


def test_what_does_not_go_together_with_what_is_kept_is_told_where_it_is() -> None:
    entry = {"topics": ["orders"], "schema": {"fields": [{"name": "_REST", "type": "int8"}]}}
    lenient = {**GROUP, "spec.parser": {"type": "json", "unknownFields": "keep"}}
    (problem,) = problems({**lenient, "spec.overrides": [entry]})
    assert str(problem).startswith("spec.overrides[0]: does not go together with spec.parser.restColumn, which then is")
    types = {"header": "h", "entries": [{"names": ["a"], "output": {"format": "text"}}]}
    (problem,) = problems({**lenient, "spec.types": types})
    assert str(problem).startswith("spec.types.entries[0]: does not go together with spec.parser.unknownFields, which")


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
