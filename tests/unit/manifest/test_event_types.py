"""``spec.types``: what contradicts what, and what holds for each type."""

from typing import Any

import pytest

from logpersister.forms.problems import ManifestError
from logpersister.manifest.revisions.revision import reached_like, resource_of, revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.registry import open_schemas
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.row_schema import AS_THEY_ARE
from tests.unit.manifest.documents import accepted, problems

FIELDS: list[dict[str, Any]] = [{"name": "id", "type": "int64"}]
ID: dict[str, Any] = {"json": {"fields": FIELDS}}
NAMED: dict[str, Any] = {"names": ["a"], "value": ID}
TEXT = [{"name": "n", "type": "string"}]
FRAME: dict[str, Any] = {"type": {"at": 0}, "body": {"lengthAt": 4}}


def types(*entries: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"spec.types": {"header": "h", "entries": list(entries), **others}}


ENVELOPE = """syntax = "proto3"; import "google/protobuf/any.proto";
message Envelope { google.protobuf.Any event = 1; repeated Order many = 4; oneof payload { Order order = 2; } }
message Order { int64 id = 1; }"""


def in_messages(way: dict[str, Any], **message: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are in messages, with one entry; `message`: what its values are."""
    names = ["order"] if "oneof" in way else ["a"]
    entry = {"names": names} | ({"value": {"protobuf": message}} if message else {})
    return {
        "spec.value": {"protobuf": {"schema": ENVELOPE, "message": "Envelope"}},
        "spec.types": {**way, "entries": [entry]},
    }


def of_headers(protobuf: str, **header: Any) -> dict[str, Any]:
    """Return frames whose headers have a schema."""
    return {**FRAME, "header": {"lengthAt": 8, "schema": {"protobuf": protobuf}, **header}}


def test_the_column_of_headers_is_one_of_each_entry_with_a_schema() -> None:
    frame = of_headers("message M { optional int32 a = 1; }")
    entries = [{"names": ["1"], "value": ID}, {"names": ["2"]}]
    spec = accepted({"spec.types": {"frame": frame, "entries": entries}, "spec.output": {"parquet": {}}}).spec
    first, second, _ = spec.of_types()
    assert [f"{one.name} {one.type}" for one in first.row_schema.columns] == ["id int64", "header struct<a: int32>"]
    assert [one.name for one in first.row_schema.without_key.columns] == ["id"]
    assert second.row_schema == AS_THEY_ARE


def test_an_entry_has_the_messages_of_the_topic() -> None:
    spec = accepted(in_messages({"any": {"field": "event"}}, message="Order")).spec
    of_entry, _ = spec.of_types()
    assert of_entry.parser.framing == "plain"
    assert [one.name for one in of_entry.row_schema.columns] == ["id"]
    whole = accepted(
        in_messages({"oneof": {"name": "payload"}}, fields=[{"name": "order", "type": "struct<id: int64>"}])
    )
    of_entry, _ = whole.spec.of_types()
    assert of_entry.row_schema.source == ProtobufSource(ENVELOPE, "Envelope")
    framed = in_messages({"oneof": {"name": "payload", "parse": "field"}}, schema=ENVELOPE, message="Order")
    of_registry = {"spec.value": {"protobuf": {"registry": {"url": "http://r:8081"}}}}
    of_entry, _ = accepted(framed | of_registry).spec.of_types()
    assert of_entry.parser.framing == "plain", "what is inside of a message has no header"


def test_an_entry_is_the_topic_s_spec_with_what_it_replaces() -> None:
    spec = accepted(
        {
            "spec.value": ID,
            "spec.output": {"parquet": {}},
            **types({"names": ["a"]}, {"names": ["b"], "value": {"bytes": {}}, "output": {"jsonl": {}}}),
        }
    ).spec
    first, second, others = spec.of_types()
    assert (first.types, first.parser, first.row_schema, first.output) == (
        None,
        spec.parser,
        spec.row_schema,
        spec.output,
    )
    assert (second.parser.type, second.row_schema, second.output.format) == ("bytes", AS_THEY_ARE, "jsonl")
    assert (others.parser.type, others.row_schema) == ("bytes", AS_THEY_ARE), "what is not stored is not parsed"
    assert spec.has_folders
    assert spec.has_quarantine
    assert spec.keeps_all_in_quarantine


def test_an_entry_asks_the_registry_of_the_topic() -> None:
    registry = {"url": "http://r:8081", "secretName": "login", "version": 3, "subject": "{topic}-x"}
    other = {"url": "http://other:8081"}
    spec = accepted(
        {
            "spec.value": {"avro": {"registry": registry}},
            **types(
                {"names": ["a"], "value": {"avro": {"fields": FIELDS}}},
                {"names": ["b"], "value": {"avro": {"fields": FIELDS, "registry": other}}},
                {"names": ["c"], "value": ID},
                {"names": ["d"], "value": {"protobuf": {"fields": FIELDS}}},
                {"names": ["e"], "value": ID, "key": {"avro": {"fields": FIELDS}}},
                header=None,
                schemaName="record",
            ),
        }
    ).spec
    assert spec.types is not None
    found = [one.row_schema.registry for one in spec.of_types()]
    ours = [None if one is None else (one.url, one.secret_name, one.version, one.subject) for one in found]
    of_topic = ("http://r:8081", "login", None, "{topic}-x")
    of_keys = (*of_topic[:3], None)
    assert ours[:5] == [of_topic, ("http://other:8081", None, None, None), None, of_topic, of_keys]
    assert open_schemas(accepted({}).model_copy(update={"spec": spec}), Secrets({})) is None, "no columns are asked for"


CONTRADICTIONS: list[tuple[dict[str, Any], str, str]] = [
    (types(NAMED, key=True), "spec.types", "needs exactly one of header, key, field, frame"),
    (types({"names": ["a"], "pattern": "a"}), "spec.types.entries[0]", "needs exactly one of names and pattern"),
    (types({**NAMED, "action": "drop"}), "spec.types.entries[0].action", "its records are not stored"),
    (types({"pattern": "a"}, NAMED), "spec.types.entries[1].names[0]", "already named by spec.types.entries[0]"),
    (types(NAMED, {"names": ["b"], "folder": "a"}), "spec.types.entries[1].folder", "folder of spec.types.entries[0]"),
    (types({"names": ["ü" * 51]}), "spec.types.entries[0].names[0]", "takes more than 100 bytes"),
    (
        types(
            {
                "names": ["a"],
                "value": {"json": {"fields": [{"name": "Type", "type": "string"}]}},
                "output": {"avro": {}},
            }
        ),
        "spec.types.entries[0].value",
        "has a field of the name of the folder type=",
    ),
    (
        types({"names": ["a"], "output": {"partitionBy": [{"date": {"granularity": "day", "prefix": "type="}}]}}),
        "spec.types.entries[0].output.partitionBy",
        "has folders that begin with type=",
    ),
    (
        types({"names": ["a"], "value": {"avro": {"registry": {"url": "http://r:8081"}}}}),
        "spec.types.entries[0].value",
        "declares no columns",
    ),
    (
        types({"names": ["a"], "value": {"json": {"fields": TEXT}, "mask": [{"fields": ["n"]}]}}),
        "spec.types.entries[0].value",
        "hides fields",
    ),
    (types(NAMED, others={"action": "store", "folder": "f"}), "spec.types.others.folder", "is an unknown field"),
    (types({"names": ["a"]}, header=None, schemaName="record"), "spec.types.schemaName", "has no such header"),
    (types({"names": ["a"]}, header=None, any={}), "spec.types", "spec.value is none"),
    (in_messages({"any": {"field": "evnt"}}), "spec.types.any.field", "message Envelope has no field evnt"),
    (in_messages({"any": {"field": "order"}}), "spec.types.any.field", "field order is a Order"),
    (
        in_messages({"oneof": {"name": "payload"}})
        | {"spec.types": {"oneof": {"name": "payload"}, "entries": [{"names": ["order", "ordr"]}]}},
        "spec.types.entries[0].names[1]",
        '"ordr" is not in the message of spec.value; name a field of the oneof (order), or remove it',
    ),
    (in_messages({"oneof": {"name": "order.of"}}), "spec.types.oneof.name", "message Order has no oneof of"),
    (in_messages({"any": {}}), "spec.types.entries[0]", "spec.value.protobuf.schema, which then is missing"),
    (
        in_messages({"any": {}}, message="Order", registry={"url": "http://r:8081"}),
        "spec.types.entries[0].value",
        "needs a header, but parsers get parts of messages",
    ),
    (
        {"spec.types": {"frame": of_headers("message M { optional M m = 1; }"), "entries": [{"names": ["1"]}]}},
        "spec.types.frame.header.schema.protobuf",
        "M has itself in it",
    ),
    (
        {
            "spec.types": {
                "frame": of_headers("message M { optional int32 a = 1; }", column="ID"),
                "entries": [{"names": ["1"], "value": ID}],
            }
        },
        "spec.types.entries[0].value",
        "of the name of the column ID, which spec.types adds",
    ),
    (
        in_messages({"any": {"column": "whole"}})
        | {"spec.value": {"protobuf": {"registry": {"url": "http://r:8081"}}}},
        "spec.types",
        "but spec.value declares no columns",
    ),
    (
        {"spec.types": {"frame": FRAME, "entries": [{"names": ["click"]}]}},
        "spec.types.entries[0].names[0]",
        "is not a whole number",
    ),
    (
        {"spec.types": {"frame": {**FRAME, "header": {"lengthAt": 6}}, "entries": [{"names": ["1"]}]}},
        "spec.types.frame.header.lengthAt",
        "overlaps another number: body.lengthAt, which ends at 8",
    ),
    (
        {"spec.types": {"frame": FRAME, "entries": [{"names": ["1"], "value": {"json": {}}}]}},
        "spec.types.entries[0].value",
        "checks a part of the value",
    ),
]


@pytest.mark.parametrize(("changes", "path", "said"), CONTRADICTIONS)
def test_what_contradicts_is_told_where_it_can_be_put_right(changes: dict[str, Any], path: str, said: str) -> None:
    found = problems(changes)
    assert any(one.startswith(f"{path}: ") and said in one for one in found), found


def test_a_revision_of_types_is_read_back_and_reaches_registries_our_way() -> None:
    def of_avro(secret: str) -> dict[str, Any]:
        return {"avro": {"fields": FIELDS, "registry": {"url": "http://r:8081", "secretName": secret}}}

    resource = accepted(types({"names": ["a"], "value": of_avro("old")}, {"names": ["b"]}))
    document = revision_of(resource, "1").document
    assert resource_of(document).spec.types == resource.spec.types
    now = accepted(types({"names": ["a"], "value": of_avro("new")}))
    reached = resource_of(reached_like(document, revision_of(now, "1").document)).spec
    assert reached.types is not None
    value = reached.types.entries[0].value
    assert value is not None
    assert value.registry is not None
    assert value.registry.secret_name == "new"


def test_folders_may_be_by_a_field_that_every_type_declares() -> None:
    """The topic has no schema then, so that each type is asked."""
    named = {"name": "country", "type": "string"}
    folders = {"partitionBy": [{"field": "country", "prefix": "of="}]}
    changes = {"spec.value": {"json": {}}, "spec.output": {"parquet": {}, **folders}}
    click = {"names": ["click"], "value": {"json": {"fields": [*FIELDS, named]}}}
    view = {"names": ["view"], "value": {"json": {"fields": [named]}}}
    assert accepted(changes | types(click, view)).spec.types is not None
    for entry in (NAMED, {"names": ["view"]}):
        with pytest.raises(ManifestError, match=r"entries\[1\].*cannot name folders"):
            accepted(changes | types(click, entry))
