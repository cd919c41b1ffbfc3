"""Folders by fields of values: by hand, and each value alone as among others."""

import hashlib
import json
from typing import Any

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.output import OutputSpec
from logpersister.records.escaping import QUARANTINE, is_safe_path
from logpersister.records.paths import Assignment
from logpersister.records.type_layout import layout_of
from logpersister.values.parser import Parsing
from tests.examples import examples
from tests.unit.records.batches import batch_of
from tests.values import columns_of

SCHEMA = columns_of(
    {
        "json": {
            "fields": [
                {"name": "country", "type": "string"},
                {"name": "geo", "type": "struct<city: string, deep: struct<n: int8>>"},
                {"name": "id", "type": "int64"},
                {"name": "ok", "type": "bool"},
                {"name": "at", "type": "timestamp[ns]"},
                {"name": "seen", "type": "timestamp[ms]", "format": "epoch[us]"},
                {"name": "text", "type": "string"},
                {"name": "on", "type": "date"},
            ]
        }
    }
)
JSON = Parsing(type="json")
NULL = "__HIVE_DEFAULT_PARTITION__"
LEVELS: list[dict[str, Any]] = [
    {"field": "country"},
    {"field": "geo.city"},
    {"field": "geo.deep.n"},
    {"field": "ok"},
    {"lower": "country", "prefix": "c="},
    {"truncate": {"field": "country", "width": 2}},
    {"truncate": {"field": "id", "width": 10}},
    {"bucket": {"field": "country", "count": 7}},
    {"bucket": {"field": "id", "count": 16}},
    {"date": {"field": "at", "granularity": "day", "timezone": "America/St_Johns"}},
    {"date": {"field": "at", "granularity": "hour", "timezone": "America/St_Johns"}},
    {"date": {"field": "seen", "granularity": "hour", "prefix": "seen="}},
    {"date": {"granularity": "day", "prefix": "day="}},
    {"offset": {"every": 3}},
    {"date": {"field": "id", "granularity": "hour", "format": "epoch[s]", "prefix": "s="}},
    {"date": {"field": "id", "granularity": "minute", "format": "epoch[ms]", "prefix": "ms="}},
    {"date": {"field": "id", "granularity": "day", "format": "epoch[us]", "prefix": "us="}},
    {"date": {"field": "id", "granularity": "day", "format": "epoch[ns]", "prefix": "ns="}},
    {"date": {"field": "text", "granularity": "hour", "format": "epoch[ms]", "prefix": "digits="}},
    {"date": {"field": "text", "granularity": "minute", "format": "iso8601", "prefix": "iso="}},
    {"date": {"field": "text", "granularity": "hour", "format": "rfc3339", "timezone": "Asia/Tokyo"}},
    {"date": {"field": "text", "granularity": "day", "format": "pattern[dd/MMM/yyyy:HH:mm:ss Z]", "prefix": "log="}},
    {"date": {"field": "on", "granularity": "day", "prefix": "on="}},
]


def output(*levels: dict[str, Any]) -> OutputSpec:
    return OutputSpec.model_validate({"partitionBy": list(levels)})


def rows(assignment: Assignment) -> list[str]:
    assert len(set(assignment.paths)) == len(assignment.paths)
    assert set(assignment.indices.tolist()) == set(range(len(assignment.paths)))
    return [assignment.paths[index] for index in assignment.indices]


def folders(levels: list[dict[str, Any]], *values: Any) -> list[str]:
    texts = [value if isinstance(value, bytes | None) else json.dumps(value).encode() for value in values]
    return rows(layout_of(output(*levels), JSON, SCHEMA).assign(batch_of([0] * len(texts), values=texts)))


@pytest.mark.parametrize(
    ("level", "value", "folder"),
    [
        (0, {"country": "DE"}, "country=DE"),
        (0, {"country": "a/b \u00e9"}, "country=a%2Fb%20\u00e9"),
        (0, {"country": ".."}, "country=%2E%2E"),
        (0, {"country": ""}, f"country={NULL}"),
        (0, {"country": NULL}, "country=%5F" + NULL[1:]),
        (0, {}, f"country={NULL}"),
        (0, [], QUARANTINE),
        (1, {"geo": {"city": "Bonn"}}, "city=Bonn"),
        (2, {"geo": {"deep": {"n": -3}}}, "n=-3"),
        (3, {"ok": True}, "ok=true"),
        (4, {"country": "\u00c4DE"}, "c=\u00c4de"),
        (5, {"country": "\u00c4DE"}, "country_trunc=\u00c4D"),
        (6, {"id": -1}, "id_trunc=-10"),
        (6, {"id": 19}, "id_trunc=10"),
        (8, {"id": 34}, "id_bucket=3"),
        (9, {"at": "2026-11-21T01:00:00Z"}, "dt=2026-11-20"),
        (9, {"at": "1969-12-31T23:00:00Z"}, "dt=unknown"),
        (11, {"seen": 1_795_243_027_000_000}, "seen=2026-11-21-06"),
        (14, {"id": 1_795_237_200}, "s=2026-11-21-05"),
        (14, {"id": 2**63 - 1}, "s=unknown"),
        (15, {"id": 1_795_237_260_999}, "ms=2026-11-21-05-01"),
        (17, {"id": 2**63 - 1}, "ns=2262-04-11"),
        (18, {"text": "1795237200000"}, "digits=2026-11-21-05"),
        (18, {"text": "5 o'clock"}, "digits=unknown"),
        (19, {"text": "20261121T0600+01"}, "iso=2026-11-21-05-00"),
        (20, {"text": "2026-11-21T15:00:00Z"}, "hr=2026-11-22-00"),
        (21, {"text": "21/Nov/2026:00:30:00 +0100"}, "log=2026-11-20"),
        (22, {"on": "1960-01-01"}, "on=unknown"),
        (1, {"geo": {"city": "\ud800"}}, QUARANTINE),
        (3, {"ok": 3}, QUARANTINE),
        (6, {"id": -(2**63)}, "id_trunc=-9223372036854775810"),
        (7, {}, f"country_bucket={NULL}"),
        (10, {"at": "2026-03-08T05:31:00Z"}, "hr=2026-03-08-03"),
        (18, {"text": "99999999999999999999"}, "digits=unknown"),
        (19, {"text": "0001-01-01T00:00:00Z"}, "iso=unknown"),
        (21, {"text": "31/Dec/9998:23:59:59 +0000"}, "log=9998-12-31"),
        (21, {"text": "31/Dec/9998:23:59:59 -0100"}, "log=unknown"),
        (22, {"on": "9999-01-01"}, "on=unknown"),
        (22, {"on": "2026-02-30"}, QUARANTINE),
    ],
    ids=str,
)
def test_a_value_has_its_folder(level: int, value: Any, folder: str) -> None:
    assert folders([LEVELS[level]], value) == [folder]


@pytest.mark.parametrize(
    ("sign", "escaped"),
    [("\x85", "%C2%85"), ("\uffff", "%EF%BF%BF"), ("\u6f22", "\u6f22"), ("\U0001f600", "\U0001f600"), ("%", "%25")],
)
def test_no_value_is_cut_inside_of_a_character(sign: str, escaped: str) -> None:
    texts = ["x" * lead + sign * 40 for lead in range(90, 104)]
    for text, folder in zip(texts, folders([LEVELS[0]], *({"country": text} for text in texts)), strict=True):
        begin, _, digest = folder.removeprefix("country=").partition("~")
        assert digest == hashlib.sha256(text.encode()).hexdigest()[:16]
        letters = text.count("x")
        assert begin == "x" * letters + escaped * ((103 - letters) // len(escaped.encode()))


def test_values_without_a_usable_time_are_counted_in_stored_records() -> None:
    levels = [LEVELS[14], LEVELS[0], LEVELS[19]]
    values = [b'{"id": -5}', b"[]", b'{"text": "soon"}', b"{}", b'{"id": 1, "text": "2026-11-21"}', b'{"id": -6}']
    found = layout_of(output(*levels), JSON, SCHEMA).assign(batch_of([0] * 6, values=values)).adjusted
    assert found is not None
    assert found.counts() == {("no_time", "id"): 2, ("no_time", "text"): 1}
    assert found.records.tolist() == [0, 2, 5]


documents = st.fixed_dictionaries(
    {},
    optional={
        "country": st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["", NULL, "_quarantine", "A" * 130])),
        "geo": st.one_of(
            st.none(), st.fixed_dictionaries({}, optional={"city": st.text(st.characters(), max_size=70)})
        ),
        "id": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-20, 20)),
        "ok": st.one_of(st.booleans(), st.just(3)),
        "at": st.sampled_from([None, "2026-11-21T05:00:00.123456789Z", "1960-01-01 00:00:00Z", "2026-03-08T05:31:00Z"]),
        "text": st.sampled_from(
            [
                *(None, "", "1795237200000", "-1", "99999999999999999999", "2026-11-21T05:00:00.5Z", "2026-11-21 05"),
                *("at 5", "20261121", "21/Nov/2026:05:00:00 +0100", "31/Dec/9998:23:59:59 -0100"),
                "0001-01-01T00:00:00Z",
            ]
        ),
        "on": st.sampled_from([None, "2026-11-21", "1969-12-31", "9998-12-31", "9999-01-01", "2026-02-30"]),
        "seen": st.one_of(st.none(), st.integers(-(10**15), 4 * 10**15)),
    },
)


@examples(150)
@given(
    st.lists(st.one_of(documents, st.none(), st.just([])), min_size=1, max_size=12),
    st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4, unique_by=str),
)
def test_each_value_has_the_folder_that_it_has_alone(values: list[Any], levels: list[dict[str, Any]]) -> None:
    texts = [None if value is None else json.dumps(value, ensure_ascii=True).encode() for value in values]
    batch = batch_of(np.arange(len(texts)) * 40_000_000, values=texts)
    layout = layout_of(output(*levels), JSON, SCHEMA)
    found = layout.assign(batch)
    assert rows(found) == [path for row in range(len(texts)) for path in rows(layout.assign(batch.slice(row, 1)))]
    assert all(is_safe_path(path) for path in found.paths)


@given(st.integers(-(2**63), 2**63 - 1), st.text(st.characters(exclude_categories=["Cs"])))
def test_buckets_are_by_the_hash_of_mmh3(number: int, text: str) -> None:
    id_hash, text_hash = (mmh3.hash(one) for one in (number.to_bytes(8, "little", signed=True), text.encode()))
    value = {"id": number, "country": text}
    assert folders([LEVELS[8]], value) == [f"id_bucket={(id_hash & 0x7FFFFFFF) % 16}"]
    assert folders([LEVELS[7]], value) == [f"country_bucket={(text_hash & 0x7FFFFFFF) % 7}"]
