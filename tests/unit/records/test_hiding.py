"""Hidden fields: what is stored of them, and what needs a key."""

import hashlib
import hmac
import json
import pickle
from typing import Any

import pytest

from logpersister.manifest import ManifestError
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of, make_parser
from logpersister.values.parser import Parsing
from tests.unit.formats.samples import Record, batch, with_headers
from tests.unit.records.row_samples import batch_of_values
from tests.values import columns_of

KEY = "0123456789abcdef-key"
VARIABLE = "LOGPERSISTER_SECRET_PSEUDONYMS_KEY"
JSON = Parsing(type="json")
SCHEMA = columns_of(
    {
        "json": {
            "fields": [
                {"name": "email", "type": "string", "required": True},
                {"name": "user", "type": "struct<phone: string not null, name: struct<last: string>, n: int32>"},
                {"name": "card", "type": "string"},
            ]
        },
        "hash": {"fields": ["email", "user.name.last"], "secretName": "pseudonyms"},
        "mask": [{"fields": ["user.phone"], "keepLast": 3}, {"fields": ["card"]}],
    }
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)


def hashed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


DOCUMENTS: list[Any] = [
    {"email": "a@example.org", "user": {"phone": "0123456789", "name": {"last": "\u00c4"}, "n": 5}, "card": "4111"},
    {"email": "", "user": {"phone": "01234", "name": None}, "card": None},
    None,
    {"email": "a@example.org", "user": None, "card": ""},
    {"email": "b", "user": {"phone": "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", "name": {}}},
]
ROWS = [
    {
        "email": hashed("a@example.org"),
        "user": {"phone": "***789", "name": {"last": hashed("\u00c4")}, "n": 5},
        "card": "***",
    },
    {"email": hashed(""), "user": {"phone": "***", "name": None, "n": None}, "card": None},
    None,
    {"email": hashed("a@example.org"), "user": None, "card": "***"},
    {"email": hashed("b"), "user": {"phone": "***\u00e4\u00f6\u00fc", "name": {"last": None}, "n": None}, "card": None},
]
VALUES = [None if one is None else json.dumps(one).encode() for one in DOCUMENTS]


def test_what_is_stored() -> None:
    parser = make_parser(JSON, SCHEMA)
    assert parser is not None
    values = batch_of_values([b"x", *VALUES, b'{"card": "4111"}'])
    for some, rows in ((values, ROWS), (values.slice(2, 3), ROWS[1:4])):
        found = parser.parse(some).rows
        assert found is not None
        assert [found[place].as_py() for place in range(len(found))] == rows
    refused = parser.parse(values).refused
    assert refused is not None
    assert refused.rows.tolist() == [0, 6]


NUMBERS = columns_of(
    {
        "json": {
            "fields": [
                {"name": "id", "type": "int64", "required": True, "default": 5},
                {"name": "of", "type": "struct<n: int8, m: int16 not null>"},
                {"name": "at", "type": "int64"},
            ]
        },
        "hash": {"fields": ["id", "of.n"], "secretName": "pseudonyms"},
    }
)


def test_whole_numbers_are_hashed_by_their_digits() -> None:
    assert [str(one.type) for one in NUMBERS.columns] == ["string", "struct<n: string, m: int16 not null>", "int64"]
    parser = make_parser(JSON, NUMBERS)
    assert parser is not None
    texts: list[bytes | None] = [
        b'{"id": -9223372036854775808, "of": {"n": 7, "m": 1}, "at": 1}',
        b"{}",
        b'{"id": "7"}',
        b'{"id": 0}',
    ]
    found: Any = parser.parse(batch_of_values(texts)).rows
    assert found.to_pylist() == [
        {"id": hashed("-9223372036854775808"), "of": {"n": hashed("7"), "m": 1}, "at": 1},
        {"id": hashed("5"), "of": None, "at": None},
        {"id": hashed("0"), "of": None, "at": None},
    ]


def test_folders_are_named_by_hashes() -> None:
    output = OutputSpec.model_validate({"parquet": {}, "partitionBy": [{"field": "email"}]})
    found = layout_of(output, JSON, SCHEMA).assign(
        batch([Record(at, 1, None, value) for at, value in enumerate(VALUES[:2] * 2)])
    )
    assert sorted(found.paths) == sorted([f"email={hashed('a@example.org')}", f"email={hashed('')}"])


def test_a_key_does_not_travel() -> None:
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(make_parser(JSON, SCHEMA))


def test_without_its_key_nothing_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(ManifestError, match=r"has less than 16 characters.*openssl rand"):
        make_parser(JSON, SCHEMA)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ManifestError, match=f"whose key key was not found; put it in the variable {VARIABLE}"):
        make_parser(JSON, SCHEMA)


def test_nobody_who_releases_a_held_range_stores_what_is_hidden() -> None:
    """It was promised under `holdAbove: 0%`, which says that nothing refused is stored; a later manifest raises it."""
    held = Parsing.model_validate({"type": "json", "quarantine": {"holdAbove": "0%"}})
    some = batch([Record(5, 1, b"secret", b"bad")])
    plain = columns_of({"json": {"fields": [{"name": "email", "type": "string"}]}})
    for schema, value in ((SCHEMA, b""), (plain, b"bad")):
        ((_, part),) = by_path(some, TopicLayout.of_one_type(layout_of(OutputSpec(), held, schema)))
        assert part.to_pylist()[0]["value"] == value


def test_quarantine_has_no_values_where_they_are_not_kept() -> None:
    quiet = Parsing.model_validate({"type": "json", "quarantine": {"format": "parquet", "keepValue": False}})
    loud = Parsing.model_validate({"type": "json", "quarantine": {"keepValue": True}})
    records = [Record(5, 1, b"secret", b"bad"), Record(6, 1, b"k", b'{"email": "a"}'), Record(7, 1, None, None)]
    some = with_headers(batch(records), [[(b"h", b"secret")]])
    for parser, value, key in ((loud, b"bad", b"secret"), (quiet, b"", None)):
        parts = dict(by_path(some, TopicLayout.of_one_type(layout_of(OutputSpec(), parser, SCHEMA))))
        (refused,) = parts["_quarantine"].to_pylist()
        assert (refused["offset"], refused["value"], refused["key"]) == (5, value, key)
        assert len(refused["headers"]) == (parser is loud)
        assert [one["key"] for one in parts[""].to_pylist()] == [b"k", None]
