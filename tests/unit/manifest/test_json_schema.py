"""JSON Schema: which columns it declares, what it refers to, which versions can read which, and which documents fit."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.types import Column
from logpersister.values.declared_columns import columns_by
from logpersister.values.json.block import JsonSource
from logpersister.values.json.columns import columns_of
from logpersister.values.json.reading import unreadable
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.judges.rows import RowOracle
from tests.unit.records.judging import judged_by, of_oracle
from tests.unit.records.kinds import of_json

Json = Any


def text_of(required: list[str] | None = None, /, **properties: Json) -> str:
    names = [*properties] if required is None else required
    return json.dumps({"type": "object", "properties": properties, "required": names})


def told(text: str, *, as_reader: bool = True) -> dict[str, str]:
    """Return the types of columns, with an exclamation mark where they are required."""
    found = columns_of(text, as_reader=as_reader)
    return {one.name: f"{one.type}{'!' if one.required else ''}" for one in found}


TYPES: list[tuple[Json, str]] = [
    # what a type says
    ({"type": "string"}, "string!"),
    ({"type": "integer"}, "int64!"),
    ({"type": "number"}, "float64!"),
    ({"type": "boolean"}, "bool!"),
    ({"type": ["string", "null"]}, "string"),
    ({"type": ["integer", "number"]}, "float64!"),
    (True, "json"),
    ({}, "json"),
    # formats
    ({"type": "string", "format": "date"}, "date!"),
    ({"type": ["null", "string"], "format": "date-time"}, "timestamp[us]"),
    ({"type": "string", "format": "time"}, "string!"),
    ({"type": "string", "contentEncoding": "base64"}, "binary[base64]!"),
    ({"type": "integer", "format": "date"}, "int64!"),
    # ranges of whole numbers
    ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, "int64!"),
    ({"type": "integer", "maximum": 2**64 - 1}, "decimal(20,0)!"),
    ({"type": "integer", "exclusiveMinimum": -(10**37)}, "decimal(38,0)!"),
    ({"type": "integer", "maximum": 10**38}, "json!"),
    ({"type": "integer", "maximum": 1e3, "exclusiveMaximum": True}, "int64!"),
    # values by name
    ({"enum": ["a", "b"]}, "string!"),
    ({"enum": ["a", None]}, "string"),
    ({"enum": [1, 2]}, "int64!"),
    ({"enum": [2**63]}, "decimal(19,0)!"),
    ({"const": True}, "bool!"),
    # lists and maps
    ({"type": "array", "items": {"type": "string"}}, "list<string not null>!"),
    ({"type": "array", "items": {"type": ["integer", "null"]}}, "list<int64>!"),
    ({"type": "array"}, "list<json>!"),
    ({"type": "array", "prefixItems": [{"type": "string"}]}, "json!"),
    ({"type": "object"}, "json!"),
    ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string, float64 not null>!"),
    ({"additionalProperties": {"type": ["number", "null"]}}, "map<string, float64>"),
    ({"type": "object", "patternProperties": {"^a": {"type": "string"}}}, "json!"),
    # structs
    (
        {"type": "object", "properties": {"a": {"type": "string"}, "b": True}, "required": ["a", "b", "c"]},
        "struct<a: string not null, b: json>!",
    ),
    ({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}, "struct<a: string>"),
    ({"type": "object", "properties": {"a b": {"type": "string"}}}, "struct<`a b`: string>!"),
    ({"type": "object", "properties": {"a": True, "A": True}}, "struct<a: json, A: json>!"),
    # one of several
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string"),
    ({"oneOf": [{"type": "null"}, {"type": "string", "format": "date-time"}]}, "timestamp[us]"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "float64!"),
    ({"oneOf": [{"type": "string"}, {"type": "string", "format": "date"}]}, "string!"),
    ({"type": "string", "oneOf": [{"minLength": 1}, {"const": ""}]}, "string!"),
    (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "struct<a: string>!",
    ),
    ({"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": True}}]}, "json!"),
    # all of several
    ({"allOf": [{"type": "string"}, {"format": "date"}]}, "date!"),
    ({"allOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}]}, "string!"),
    (
        {
            "allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}},
            ]
        },
        "struct<a: string not null, b: int64>",
    ),
    (
        {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]},
        "struct<a: json>",
    ),
]


@pytest.mark.parametrize(("schema", "expected"), TYPES, ids=str)
def test_what_a_property_becomes(schema: Json, expected: str) -> None:
    assert told(text_of(p=schema)) == {"p": expected}
    loose = told(text_of(p=schema), as_reader=False)["p"]
    assert loose == expected.replace(" not null", "").removesuffix("!"), (
        "for a schema to start from nothing is required"
    )


def test_all_that_is_declared_can_be_columns() -> None:
    properties = {f"p{place}": schema for place, (schema, _) in enumerate(TYPES)}
    schema = RowSchema(source=JsonSource(text_of(**properties)))
    left_out = [one.path for one in schema.remarks if one.is_left_out and "." not in one.path]
    assert len(schema.columns) + len(left_out) == len(TYPES)
    assert len(left_out) == 1, "an object with no other name than one that columns cannot have"
    assert judged_by(of_json(schema, "drop"), [b"{}"])[1] == [(0, "missing", "p0")]


def test_references_within_a_document() -> None:
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/order.json",
        "$ref": "#/$defs/order",
        "$defs": {
            "order": {
                "properties": {
                    "id": {"$ref": "#/definitions/id~1nr"},
                    "to": {"$ref": "#place"},
                    "from": {"$ref": "address.json"},
                    "at": {"$ref": "https://example.com/address.json#/properties/at", "description": "beside"},
                    "next": {"$ref": "#/$defs/order"},
                    "tags": {"type": "array", "items": {"$ref": "order.json#/$defs/tag%20name"}},
                },
                "required": ["id", "to"],
            },
            "place": {"$anchor": "place", "type": "object", "properties": {"city": {"type": "string"}}},
            "address": {
                "$id": "address.json",
                "type": "object",
                "properties": {"at": {"$ref": "#/$defs/when"}, "id": {"type": "integer"}},
                "$defs": {"when": {"type": "string", "format": "date-time"}},
            },
            "tag name": {"type": "string"},
        },
        "definitions": {"id/nr": {"type": "integer"}},
    }
    assert told(json.dumps(document)) == {
        "id": "int64!",
        "to": "struct<city: string>!",
        "from": "struct<at: timestamp[us], id: int64>",
        "at": "timestamp[us]",
        "next": "json",
        "tags": "list<string not null>",
    }


def test_beside_a_reference_nothing_counts_in_old_drafts() -> None:
    inner = {"$ref": "#/definitions/a", "properties": {"b": {"type": "string"}}}
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"x": inner},
        "definitions": {"a": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
    assert told(json.dumps(document)) == {"x": "struct<a: int64>"}
    newer = {**document, "$schema": "https://json-schema.org/draft/2019-09/schema"}
    assert told(json.dumps(newer)) == {"x": "struct<a: int64, b: string>"}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "it is no JSON|it names no properties|nested too deep"),
        ("{}", "it names no properties"),
        ("[]", "it has something that is no schema where one should be"),
        ('{"type": "array", "items": {}}', "its values are no objects"),
        ('{"properties": {"a": {"type": "text"}}}', "it has the type 'text'"),
        ('{"properties": {"a": 1}}', "it has something that is no schema where one should be"),
        ('{"properties": [1]}', "it has properties that are no mapping"),
        ('{"properties": {"a": {"$ref": "#/definitions/b"}}}', "it refers to '#/definitions/b', which is not in it"),
        ('{"properties": {"a": {"$ref": 1}}}', "it has a \\$ref that is no text"),
        ('{"properties": {"a": {"$ref": "http://[b#c"}}}', "which is no URI"),
        ('{"$ref": "#"}', "it has a schema that is only a reference to itself"),
        ('{"properties": {"a": {"allOf": {}}}}', "it has an allOf that is no list"),
    ],
    ids=lambda one: str(one)[:60],
)
def test_what_is_no_schema_of_objects(document: str, problem: str) -> None:
    with pytest.raises(SchemaTextError, match=problem):
        columns_of(document, as_reader=True)


def test_a_few_schemas_that_stand_for_many_end() -> None:
    nodes = {
        f"n{level}": {"properties": {key: {"$ref": f"#/$defs/n{level + 1}"} for key in "abcdefghij"}}
        for level in range(9)
    }
    document = {
        "properties": {"p": {"$ref": "#/$defs/n0"}, "q": {"type": "string"}},
        "$defs": {**nodes, "n9": {"type": "string"}},
    }
    assert told(json.dumps(document)) == {"p": "json", "q": "string"}
    of_all = {"$defs": {f"n{level}": {"allOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 10} for level in range(9)}}
    with pytest.raises(SchemaTextError, match="more schemas from one than anybody can read"):
        columns_of(
            json.dumps(
                of_all | {"properties": {"p": {"$ref": "#/$defs/n0"}}} | {"$defs": {**of_all["$defs"], "n9": {}}}
            )
        )


# evolution

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}
DATE = {"type": "string", "format": "date"}
STRUCT = {"type": "object", "properties": {"lat": NUMBER}, "required": ["lat"]}
NULLABLE = {"type": ["string", "null"]}


def one(schema: Json, *, is_required: bool = True) -> str:
    return text_of(["a"] if is_required else [], a=schema)


VERSIONS: list[tuple[str, str, str | None]] = [
    (one(TEXT, is_required=False), one(TEXT), None),
    (text_of(["a"], a=TEXT, b=NULLABLE), one(TEXT), None),
    (one(TEXT), text_of(b=TEXT), "a: it is required, and is not in the writer's schema"),
    (one(TEXT), one(TEXT, is_required=False), "a: it is required, and the writer's schema does not require it"),
    (one(WHOLE), one(TEXT), "a: the writer's schema has string, which cannot become int64"),
    (one(NUMBER), one(WHOLE), None),
    (one(WHOLE), one(NUMBER), "a: the writer's schema has float64, which cannot become int64"),
    (
        one(WHOLE),
        one({**WHOLE, "maximum": 2**64}),
        "a: the writer's schema has decimal(20,0), which cannot become int64",
    ),
    (one(TEXT), one(DATE), None),
    (one(DATE), one(TEXT), "a: the writer's schema has string, which cannot become date"),
    (one({}), one(TEXT), None),
    (
        one(STRUCT),
        one({**STRUCT, "required": []}),
        "a.lat: it is required, and the writer's schema does not require it",
    ),
    (one(STRUCT), one({"type": "object"}), "a: the writer's schema has json, which cannot become struct<lat: float64"),
    (
        one({"type": "array", "items": TEXT}),
        one({"type": "array", "items": NULLABLE}),
        "a[]: it is required, and the writer's schema allows null",
    ),
    (
        one({"additionalProperties": WHOLE}),
        one({"additionalProperties": TEXT}),
        "a{}: the writer's schema has string, which cannot become int64",
    ),
    (
        text_of(a=WHOLE, b=STRUCT, c=TEXT),
        text_of(a=TEXT, b={**STRUCT, "properties": {"lat": TEXT}}),
        (
            "a: the writer's schema has string, which cannot become int64; "
            "b.lat: the writer's schema has string, which cannot become float64; "
            "c: it is required, and is not in the writer's schema"
        ),
    ),
]


@pytest.mark.parametrize(("newer", "older", "problem"), VERSIONS)
def test_which_versions_can_be_read(newer: str, older: str, problem: str | None) -> None:
    found = unreadable(columns_by(JsonSource(newer)).columns, older)
    if problem is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(problem)


# documents


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Json:  # noqa: PLR0911 - one for each kind
    """Return a schema of what documents of `documents` have."""
    kinds = ["string", "integer", "number", "boolean", "enum", "null", "any", "date", "big"]
    kind = draw(st.sampled_from([*kinds, "object", "array", "map", "oneOf", "ref"] if depth else kinds))
    match kind:
        case "enum":
            return {"enum": draw(st.lists(st.sampled_from(["a", "b", 1, 2, None, True]), min_size=1, max_size=3))}
        case "any":
            return draw(st.sampled_from([True, {}, {"description": "x"}]))
        case "date":
            return {"type": "string", "format": draw(st.sampled_from(["date", "date-time", "uuid", "time"]))}
        case "big":
            return {"type": "integer", "minimum": -(2**63), "maximum": 2 ** draw(st.sampled_from([3, 63, 64, 100]))}
        case "object":
            names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
            properties = {name: draw(schemas(depth - 1)) for name in names}
            required = draw(st.lists(st.sampled_from([*names, "z"]), unique=True))
            return {"type": "object", "properties": properties, "required": required}
        case "array":
            return {"type": "array", "items": draw(schemas(depth - 1))}
        case "map":
            return {"type": "object", "additionalProperties": draw(schemas(depth - 1))}
        case "oneOf":
            return {"anyOf": [draw(schemas(depth - 1)), draw(st.sampled_from([{"type": "null"}, {"type": "string"}]))]}
        case "ref":
            return {"$ref": "#/$defs/d", "description": "beside"}
    found = {"type": kind}
    return {"type": [kind, "null"]} if draw(st.integers(0, 3)) == 0 and kind != "null" else found


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["a", "b", "", "2026-11-21", "2026-11-21T05:00:00Z", "05:00:00Z", "x"])
)
documents = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def fitting(draw: st.DrawFn, schema: Json, definition: Json) -> Json:  # noqa: PLR0911 - one for each kind
    """Return a document that a schema of `schemas` likes, mostly."""
    if isinstance(schema, dict):
        if draw(st.integers(0, 15)) == 0:
            return draw(documents)
        if "$ref" in schema:
            return draw(fitting(definition, definition))
        if "anyOf" in schema:
            return draw(fitting(draw(st.sampled_from(schema["anyOf"])), definition))
        if "enum" in schema:
            return draw(st.sampled_from(schema["enum"]))
        match schema.get("type"):
            case "object" if "properties" in schema:
                inner = {name: fitting(one, definition) for name, one in schema["properties"].items()}
                return draw(st.fixed_dictionaries({}, optional=inner | {"z": documents}))
            case "object":
                return draw(st.dictionaries(st.sampled_from("ab"), fitting(schema["additionalProperties"], definition)))
            case "array":
                return draw(st.lists(fitting(schema["items"], definition), max_size=3))
    return draw(documents)


@pytest.mark.slow
@examples(600)
@given(st.data())
def test_a_document_that_is_valid_is_a_row(data: st.DataObject) -> None:
    """The promise, and what it leaves out: numbers beyond 64 bits where no bound says so, and `1.0` as whole number."""
    properties = {name: data.draw(schemas()) for name in "pq"}
    required = data.draw(st.lists(st.sampled_from("pq"), unique=True))
    definition = data.draw(schemas(0))
    root = {"type": "object", "properties": properties, "required": required, "$defs": {"d": definition}}
    validator = jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker(["date"]))
    schema = RowSchema(source=JsonSource(json.dumps(root)))
    rows = st.fixed_dictionaries({}, optional={name: fitting(one, definition) for name, one in properties.items()})
    found = data.draw(st.lists(rows, min_size=1, max_size=6))
    values: list[bytes | None] = [json.dumps(one).encode() for one in found]
    ours = judged_by(of_json(schema, "drop"), values)
    assert ours == of_oracle(RowOracle(schema, "drop"), values)
    refused = {place: (reason, path) for place, reason, path in ours[1]}
    for place, document in enumerate(found):
        if place in refused and validator.is_valid(document):
            reason, path = refused[place]
            is_instant = "timestamp" in str(_type_at(schema.columns, path))  # its format is not asserted here
            is_number = reason == "overflow" or (reason == "wrong_type" and _has_whole_float(document))
            assert is_number or is_instant, (reason, path, document)


def _has_whole_float(document: Json) -> bool:
    if isinstance(document, float):
        return document.is_integer()
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else []
    return any(map(_has_whole_float, inner))


def _type_at(columns: tuple[Column, ...], path: str) -> Any:
    return next(one.type for one in columns if path.startswith(one.name))
