"""A JSON Schema with those that it refers to becomes one document."""

import json
from typing import Any

import jsonschema
import pytest

from logpersister.registry.answers import Schema
from logpersister.registry.kinds import KINDS
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.json.columns import columns_of


def schema(name: str = "", *references: Schema, **document: Any) -> Schema:
    return Schema(json.dumps(document), "JSON", references, name)


def test_references_are_found_by_their_names_and_by_their_own_ones() -> None:
    country = schema("country.json", type="string")
    place = schema(
        "place.json", type="object", properties={"city": {"type": "string"}, "country": {"$ref": "country.json"}}
    )
    money = schema("money", **{"$id": "https://example.com/money.json"}, type="number")
    order = schema(
        "", country, place, money,
        **{"$defs": {"own": {"type": "integer"}}},
        type="object",
        properties={
            "id": {"$ref": "#/$defs/own"}, "to": {"$ref": "place.json"}, "sum": {"$ref": "money"},
            "tax": {"$ref": "https://example.com/money.json"},
        },
        required=["id", "to", "sum"],
    )  # fmt: skip
    bundled = KINDS["json"].self_contained(order)
    assert {one.name: str(one.type) for one in columns_of(bundled)} == {
        "id": "int64",
        "to": "struct<city: string, country: string>",
        "sum": "float64",
        "tax": "float64",
    }
    judge = jsonschema.Draft202012Validator(json.loads(bundled))
    good = {"id": 1, "to": {"city": "Bonn", "country": "DE"}, "sum": 1.5, "tax": 0}
    assert judge.is_valid(good)
    assert not judge.is_valid(good | {"to": {"country": 7}})
    assert not judge.is_valid(good | {"sum": "1.5"})


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Schema("{}", "AVRO"), "it is registered as AVRO, not as JSON Schema"),
        (Schema("{", "JSON"), "it is no JSON"),
        (Schema("[]", "JSON"), "it is no JSON object"),
        (Schema("{}", "JSON", (Schema("true", "JSON", name="a"),)), "or what it refers to is none"),
    ],
)
def test_what_is_no_schema(found: Schema, told: str) -> None:
    with pytest.raises(SchemaTextError, match=told):
        KINDS["json"].self_contained(found)
