"""Fields of any name, and columns of names that engines take: what is renamed, and what is left out and named."""

import json
from typing import Any

import pytest

from logpersister.records.renaming import renaming
from logpersister.schemas.written_column import column_name, unusable_name
from logpersister.values.avro.source import AvroSource
from logpersister.values.json.columns import columns_of
from logpersister.values.row_schema import RowSchema
from logpersister.values.value import ValueSpec
from tests.unit.records.judging import judged_by
from tests.unit.records.kinds import of_json

NESTED = "struct<`user agent`: string, `a.b`: int32>"
FIELDS = [
    {"name": "service.name", "type": "string"}, {"name": "2xx", "type": "int64"},
    {"name": "user agent", "type": "string"}, {"name": "Gr\u00f6\u00dfe", "type": "int64"},
    {"name": 'say "\\', "type": "bool"}, {"name": "service", "type": NESTED}, {"name": "kafka_x", "type": "int8"},
]  # fmt: skip
RENAME = {
    "service.name": "service_name", "2xx": "ok", "user agent": "agent", 'say "\\': "say", "service.user agent": "agent",
    "service.a.b": "a_b", "kafka_x": "x",
}  # fmt: skip


def schema_of(rename: dict[str, str], kind: str = "json", **block: Any) -> RowSchema:
    renames = [{"field": field, "to": to} for field, to in rename.items()]
    schema = ValueSpec.model_validate({kind: block, "rename": renames}).row_schema
    assert schema is not None
    return schema


def test_fields_of_any_name_become_columns() -> None:
    schema = schema_of(RENAME, fields=FIELDS)
    value = {
        "service.name": "api", "2xx": 17, "user agent": "x", "Gr\u00f6\u00dfe": 4, 'say "\\': True,
        "service": {"user agent": "y", "a.b": 1}, "kafka_x": 2,
    }  # fmt: skip
    values: list[bytes | None] = [json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode(), b"{}"]
    parser = renaming(of_json(schema.as_written, "drop"), schema.renames)
    rows, refused = judged_by(parser, values)
    expected = {
        "service_name": "api", "ok": 17, "agent": "x", "Gr\u00f6\u00dfe": 4, "say": True,
        "service": {"agent": "y", "a_b": 1}, "x": 2,
    }  # fmt: skip
    assert (rows, refused) == ([expected, expected, dict.fromkeys(expected)], [])


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("service.name", "service_name"),
        ("user agent", "user_agent"),
        ("kafka_x", "_kafka_x"),
        *((f"a{sign}b", "a_b") for sign in "\u00a0\u2003\u3000\u200b\ufeff\u2060\u2028\u202e\ufffe\ue000"),
    ],
)
def test_an_error_says_which_name_would_do(name: str, to: str) -> None:
    assert column_name(name) == to
    assert unusable_name(to) is None
    with pytest.raises(ValueError, match=rf"give it another by spec.value.rename: {{field: {name}, to: {to}}}"):
        schema_of({}, fields=[{"name": name, "type": "string"}])


@pytest.mark.parametrize("name", ["\u0646\u0627\u0645\u200c\u062e", "\u5024\u3005", "a\u0301", "\U0001f600", "\u2161"])
def test_letters_of_all_scripts_are_names(name: str) -> None:
    assert unusable_name(name) is None
    assert schema_of({}, fields=[{"name": name, "type": "string"}]).columns[0].name == name


PROPERTIES: dict[str, Any] = {
    "id": {"type": "string"}, "service.name": {"type": "string"}, "ID": {"type": "string"},
    "of": {"type": "object", "properties": {"a b": {"type": "string"}, "c": {"type": "boolean"}}},
    "all": {"type": "array", "items": {"type": "object", "properties": {"2": {"type": "string"}}}},
}  # fmt: skip


def test_what_has_no_name_for_a_column_is_left_out_alone() -> None:
    text = json.dumps({"properties": PROPERTIES})
    assert [one.name for one in columns_of(text)] == [*PROPERTIES]
    schema = schema_of({}, jsonSchema=text)
    assert [(one.name, str(one.type)) for one in schema.columns] == [("id", "string"), ("of", "struct<c: bool>")]
    assert [one.path for one in schema.remarks if one.is_left_out] == ["service.name", "ID", "of.a b", "all[].2", "all"]
    schema = schema_of({"service.name": "service", "ID": "other", "of.a b": "b"}, jsonSchema=text)
    columns = [(one.name, str(one.type)) for one in schema.columns]
    assert columns == [
        ("id", "string"), ("service", "string"), ("other", "string"), ("of", "struct<b: string, c: bool>"),
    ]  # fmt: skip


@pytest.mark.parametrize(("dropped", "kept"), [("userId", "userid"), ("userid", "userId")])
def test_a_field_that_is_not_stored_takes_its_name_from_no_other(dropped: str, kept: str) -> None:
    fields = [{"name": name, "type": "long"} for name in ("userId", "userid")]
    avro = json.dumps({"type": "record", "name": "R", "fields": fields})
    schema = RowSchema(source=AvroSource(avro), drop=(dropped,))
    assert [one.name for one in schema.columns] == [kept]
    assert not schema.remarks


def test_what_can_be_no_column_costs_no_field_beside_it() -> None:
    union, inner = ["string", "int"], [{"name": "x", "type": ["string", "int"]}, {"name": "y", "type": "int"}]
    fields = [
        {"name": "id", "type": "long"},
        {"name": "u", "type": union},
        {"name": "g", "type": {"type": "record", "name": "G", "fields": inner}},
        {"name": "l", "type": {"type": "array", "items": union}},
        {"name": "big", "type": {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}},
    ]
    schema = RowSchema(source=AvroSource(json.dumps({"type": "record", "name": "R", "fields": fields})))
    assert [(one.name, str(one.type)) for one in schema.columns] == [
        ("id", "int64"), ("g", "struct<y: int32 not null>"), ("big", "binary[base64]"),
    ]  # fmt: skip
    told = {one.path: (one.is_left_out, one.text) for one in schema.remarks}
    assert told == {
        "u": (True, "it is one of several types"),
        "g.x": (True, "it is one of several types"),
        "l": (True, "it is one of several types"),
        "big": (False, "its digits are bytes: no column has a decimal of more than 38 digits"),
    }
