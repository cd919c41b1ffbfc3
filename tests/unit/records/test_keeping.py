"""Which records conditions keep: each operator on each type by hand; `pipeline/test_keeping` cuts batches, too."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.forms.linear_pattern import Patterns
from logpersister.manifest.spec import Spec
from logpersister.pipeline.splitting import by_path, sides
from logpersister.records.keeping import re2_pattern
from logpersister.records.schema import ROW
from logpersister.records.topic_layout import layout_for
from tests.unit.formats.samples import Record, batch, with_headers
from tests.unit.manifest.conditions import on
from tests.unit.manifest.documents import spec_with
from tests.unit.manifest.test_linear_pattern import PATTERNS


def spec_of(fields: Sequence[dict[str, Any]], keep: Sequence[dict[str, Any]], key: Any = None, **value: Any) -> Spec:
    value = {"json": {"fields": list(fields)}} | value
    rows = {"value": value, "key": key, "quarantine": {"format": "parquet", "keepValue": True}}
    return spec_with(**rows, output={"parquet": {}}, keep=list(keep))


def records(values: Sequence[bytes | None], keys: Sequence[bytes | None] = ()) -> pa.RecordBatch:
    padded = [*keys, *[None] * (len(values) - len(keys))]
    return batch([Record(offset, 0, padded[offset], value) for offset, value in enumerate(values)])


def offsets(found: pa.RecordBatch, layout: Any) -> dict[str, list[int]]:
    """Return the offsets that each path has."""
    paths: dict[str, list[Any]] = {}
    for path, rows in by_path(found, layout):
        paths.setdefault(path, []).extend(rows.column("offset").to_pylist())
    return paths


def kept(spec: Spec, found: pa.RecordBatch) -> dict[str, list[int]]:
    """Return what members keep."""
    return offsets(found, layout_for(spec, lambda _: None))


TABLE: Sequence[tuple[str, str | None, list[Any], list[tuple[dict[str, Any], list[int]]]]] = [
    ("string", None, ["a", "b", "", "A", "ä\u0000b"], [
        ({"in": ["a", "b"]}, [0, 1]), ({"in": [""]}, [2]), ({"notIn": ["a"]}, [1, 2, 3, 4]),
        ({"matches": "^[ab]?$"}, [0, 1, 2]), ({"matches": "b"}, [1, 4]), ({"in": ["a", "b"], "notIn": ["b"]}, [0]),
    ]),
    ("bool", None, [True, False], [({"in": [True]}, [0]), ({"notIn": [True]}, [1]), ({"in": [True, False]}, [0, 1])]),
    ("int8", None, [-128, -1, 0, 127], [
        ({"in": [0, 127.0]}, [2, 3]), ({"notIn": [0]}, [0, 1, 3]), ({"atLeast": -1}, [1, 2, 3]),
        ({"atMost": -1}, [0, 1]), ({"below": -1}, [0]), ({"atLeast": -1, "below": 127}, [1, 2]),
    ]),
    ("int64", None, [-(2**63), 2**53, 2**53 + 1, 2**63 - 1], [
        ({"in": [2**53 + 1]}, [2]), ({"atLeast": 2**53 + 1}, [2, 3]), ({"below": 2**53 + 1}, [0, 1]),
        ({"atMost": -(2**63)}, [0]),
    ]),
    ("float32", None, [0.1, -0.0, 1e10], [
        ({"atMost": 0.1}, [0, 1]), ({"below": 0.1}, [1]), ({"atLeast": 0}, [0, 1, 2]), ({"below": 1e10}, [0, 1]),
    ]),
    ("float64", None, [0.1, 5e-324, -1e308], [({"atLeast": 0.1}, [0]), ({"below": 1e-323}, [1, 2])]),
    ("decimal(5,2)", None, [1.5, "999.99", -0.01], [
        ({"in": [1.5]}, [0]), ({"in": ["1.50", "-0.01"]}, [0, 2]), ({"notIn": ["999.99"]}, [0, 2]),
        ({"atLeast": 0}, [0, 1]), ({"below": "999.99"}, [0, 2]),
    ]),
    ("date", None, ["2026-11-21", "1969-12-31", "0001-01-01", "9999-12-31"], [
        ({"in": ["2026-11-21", "0001-01-01"]}, [0, 2]), ({"below": "1970-01-01"}, [1, 2]),
        ({"atLeast": "2026-11-21"}, [0, 3]), ({"atMost": "9999-12-31"}, [0, 1, 2, 3]),
    ]),
    ("time[ms]", None, ["00:00:00", "05:00:00.5009", "23:59:59.999"], [
        ({"in": ["05:00:00.500"]}, [1]), ({"below": "05:00:00.5"}, [0]), ({"atLeast": "05:00:00.5"}, [1, 2]),
    ]),
    ("time[us]", None, ["00:00:00.000001", "05:00:00"], [
        ({"in": ["00:00:00.000001"]}, [0]), ({"below": "05:00:00"}, [0]),
    ]),
    ("timestamp[ms]", None, ["2026-11-21T05:00:00.123Z", "2026-11-21 06:00:00.123+01:00", "1969-12-31T23:59:59.999Z"], [
        ({"in": ["2026-11-21T05:00:00.123Z"]}, [0, 1]), ({"below": "1970-01-01T00:00:00Z"}, [2]),
        ({"atLeast": "2026-11-21T06:00:00.123+01:00"}, [0, 1]), ({"atMost": "2026-11-21T05:00:00.122"}, [2]),
    ]),
    ("timestamp[s]", "epoch[ms]", [1_795_237_200_123, -1], [
        ({"in": [1_795_237_200_000]}, [0]), ({"in": ["2026-11-21T05:00:00Z"]}, [0]), ({"below": 0}, [1]),
    ]),
    ("timestamp[ns]", "epoch[us]", [1, 2], [({"atLeast": 2}, [1]), ({"below": "1970-01-01T00:00:00.000001001Z"}, [0])]),
    ("json", None, [[], {}, "text", 0], []),
    ("binary[base64]", None, ["", "YQ=="], []),
    ("list<int8>", None, [[], [1]], []),
    ("map<string, int8>", None, [{}, {"a": None}], []),
    ("struct<a: int8>", None, [{}, {"a": 1}], []),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "notation", "values", "cases"), TABLE, ids=[one[0] for one in TABLE])
@pytest.mark.parametrize("path", ["f", "s.f"])
def test_operators_types_and_nulls(
    path: str, type_: str, notation: str | None, values: list[Any], cases: list[tuple[dict[str, Any], list[int]]]
) -> None:
    """Beside the values there is one that is null, one that is absent, a struct that is null, and a tombstone."""
    in_struct = path != "f"
    named = {"name": "s", "type": f"struct<f: {type_}>"} if in_struct else {"name": "f", "type": type_}
    fields = [named | ({} if notation is None else {"format": notation}), {"name": "other", "type": "string"}]
    inner: list[Any] = [*({"f": value} for value in values), {"f": None}, {}]
    documents = [{"s": one} for one in inner] + [{"s": None}] if in_struct else [*inner, {}]
    found = records([*(json.dumps(one).encode() for one in documents), None, b"no row"])
    everything, nulls = list(range(len(values))), list(range(len(values), len(values) + 4))
    refused = {"_quarantine": [len(values) + 4]}

    def stored(some: list[int]) -> dict[str, list[int]]:
        return ({"": some} if some else {}) | refused

    for operators, expected in cases:
        spec = spec_of(fields, [on(path, **operators)])
        assert kept(spec, found) == stored(expected), operators
        spec = spec_of(fields, [on(path, **operators, orAbsent=True)])
        assert kept(spec, found) == stored([*expected, *nulls]), operators
    assert kept(spec_of(fields, [on(path, absent=True)]), found) == stored(nulls)
    assert kept(spec_of(fields, [on(path, absent=False)]), found) == stored(everything)


def test_floats_that_are_no_numbers() -> None:
    """JSON has none, and MessagePack does: nothing is said of their order, and they are not null."""
    fields = [{"name": "f", "type": "float64"}]
    nan, inf = b"\x81\xa1f\xcb\x7f\xf8" + bytes(6), b"\x81\xa1f\xcb\x7f\xf0" + bytes(6)
    for keep, expected in (
        ([on("f", atLeast=0)], [1]),
        ([on("f", below=0, orAbsent=True)], []),
        ([on("f", absent=False)], [0, 1]),
    ):
        value = {"messagepack": {"fields": fields}}
        spec = spec_with(value=value, output={"parquet": {}}, keep=keep)
        assert kept(spec, records([nan, inf])) == ({"": expected} if expected else {})


def test_hidden_values_decide_and_columns_of_conditions_only_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGPERSISTER_SECRET_PEOPLE_KEY", "0123456789abcdef-key")
    fields = [
        {"name": "mail", "type": "string"},
        {"name": "phone", "type": "string"},
        {"name": "consent", "type": "struct<given: bool not null, at: timestamp[ms]>"},
        {"name": "id", "type": "int64"},
    ]
    hiding: dict[str, Any] = {
        "hash": {"fields": ["mail"], "secretName": "people"},
        "mask": [{"fields": ["phone"]}],
        "drop": ["consent"],
    }
    keep = [on("mail", matches="@example.org$"), on("phone", notIn=["1"]), on("consent.given", **{"in": [True]})]
    spec = spec_of(fields, keep, **hiding)
    good = {"mail": "a@example.org", "phone": "2", "consent": {"given": True}, "id": 5}
    values = [good, good | {"mail": "a@example.com"}, good | {"phone": "1"}, good | {"consent": {"given": False}}]
    values += [good | {"consent": None}, good | {"consent": {}}, good | {"id": 6}]
    found = records([json.dumps(one).encode() for one in values])
    assert kept(spec, found) == {"": [0, 6], "_quarantine": [5]}
    layout = layout_for(spec, lambda _: None)
    rows: list[Any] = dict(by_path(found, layout))[""].column(ROW).to_pylist()
    assert [sorted(row) for row in rows] == [["id", "mail", "phone"]] * 2
    assert dict(by_path(found.slice(0, 1), layout))[""].column(ROW).to_pylist() == rows[:1], "where all are kept, too"
    assert [(row["id"], row["phone"], len(row["mail"])) for row in rows] == [(5, "***", 64), (6, "***", 64)]


def test_conditions_are_about_names_of_columns_defaults_and_adjusted_values() -> None:
    """Adjusted values count only in rows that are stored. The column of other fields lacks those of conditions."""
    fields = [
        {"name": "c", "type": "string", "default": "DE"},
        {"name": "n", "type": "int64"},
        {"name": "consent", "type": "bool"},
    ]
    spec = spec_of(
        fields,
        [on("country", is_in=["DE"]), on("n", atLeast=3, orAbsent=True), on("consent", is_in=[True])],
        json={"fields": fields, "faults": {"wrongType": "setNull"}, "unknownFields": "keep", "restColumn": "more"},
        rename=[{"field": "c", "to": "country"}],
        drop=["consent"],
    )
    values = [
        b'{"c": "FR", "n": "text", "consent": true}',
        b'{"n": "text", "consent": true, "x": 1}',
        b'{"n": 2, "consent": true}',
        b"{",
        b'{"c": "DE", "n": 3, "consent": true}',
        b'{"c": "DE", "n": "text", "consent": false}',
    ]
    found = records(values)
    assert kept(spec, found) == {"": [1, 4], "_quarantine": [3]}
    good, refused = sides(found, layout_for(spec, lambda _: None))
    assert good.rows.column(ROW).to_pylist() == [
        {"country": "DE", "n": None, "more": '{"x":1}'},
        {"country": "DE", "n": 3, "more": None},
    ]
    assert good.adjusted is not None
    assert good.adjusted.counts() == {("wrong_type", "n"): 1}
    assert good.adjusted.records.tolist() == [0], "its place among those that are kept"
    assert refused.adjusted is None


def test_fields_of_keys_and_tombstones() -> None:
    key = {
        "json": {"fields": [{"name": "id", "type": "int64", "required": True}, {"name": "region", "type": "string"}]}
    }
    keep = [on("key.region", **{"in": ["EU"]}), on("total", atLeast=5, orAbsent=True)]
    spec = spec_of([{"name": "total", "type": "int32"}], keep, key=key)
    europe, other = b'{"id": 1, "region": "EU"}', b'{"id": 1}'
    pairs = [
        (europe, b'{"total": 5}'), (europe, b'{"total": 4}'), (europe, None), (other, None), (None, b'{"total": 5}'),
        (b"{", b'{"total": 1}'), (other, b'{"total": "x"}'),
    ]  # fmt: skip
    found = records([value for _, value in pairs], [key for key, _ in pairs])
    assert kept(spec, found) == {"": [0, 2], "_quarantine": [5, 6]}


HEADERS: Sequence[Sequence[tuple[bytes, bytes | None]]] = [
    [(b"env", b"prod")],
    [(b"env", b"test"), (b"env", b"prod"), (b"other", b"test")],
    [(b"env", b"prod"), (b"env", b"test")],
    [(b"env", None)],
    [(b"Env", b"prod")],
    [(b"env", b"\xff")],
    [],
    [(b"env", b"")],
]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"in": ["prod", "stage"]}, [0, 1]),
        ({"in": ["prod"], "orAbsent": True}, [0, 1, 3, 4, 6]),
        ({"notIn": ["prod"]}, [2, 5, 7]),
        ({"notIn": ["test", ""], "orAbsent": True}, [0, 1, 3, 4, 5, 6]),
        ({"absent": True}, [3, 4, 6]),
        ({"absent": False}, [0, 1, 2, 5, 7]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["bytes", "json"])
def test_headers_decide_before_anything_is_parsed(kind: str, condition: dict[str, Any], expected: list[int]) -> None:
    spec = spec_with(value={kind: {}}, keep=[{"header": "env", **condition}])
    values = [b"{" if place % 2 else b"{}" for place in range(len(HEADERS))]
    bad = [place for place in expected if place % 2 and kind == "json"]
    good = [place for place in expected if place not in bad]
    paths = ({"": good} if good else {}) | ({"_quarantine": bad} if bad else {})
    assert kept(spec, with_headers(records(values), HEADERS)) == paths


def test_conditions_of_types() -> None:
    """Those of the topic hold for all records, also those of no type; those of an entry for its own."""
    fields = [{"name": "n", "type": "int32"}]
    stored = {"value": {"json": {"fields": fields}}, "output": {"parquet": {}}}
    entries = [
        {
            "names": ["a"],
            **stored,
            "keep": [on("n", atLeast=5), {"header": "tenant", "notIn": ["x"], "orAbsent": True}],
        },
        {"names": ["b"], **stored},
        {"names": ["gone"], "action": "drop"},
    ]
    keep = [{"header": "env", "in": ["prod"]}]
    spec = spec_with(types={"header": "type", "entries": entries}, keep=keep)
    cases: list[tuple[bytes | None, bytes, bytes, bytes | None]] = [
        (b"a", b"prod", b'{"n": 5}', None), (b"a", b"prod", b'{"n": 4}', None), (b"a", b"test", b'{"n": 5}', None),
        (b"a", b"prod", b'{"n": 6}', b"x"), (b"a", b"prod", b"{", b"y"), (b"a", b"prod", b"{", b"x"),
        (b"b", b"prod", b'{"n": 1}', None), (b"b", b"test", b"{", None), (b"gone", b"prod", b"{}", None),
        (b"strange", b"prod", b"{}", None), (b"strange", b"test", b"{}", None), (None, b"prod", b"{}", None),
    ]  # fmt: skip
    headers = [
        [(b"env", env), *([(b"type", type_)] if type_ else []), *([(b"tenant", tenant)] if tenant else [])]
        for type_, env, _, tenant in cases
    ]
    found = with_headers(records([value for *_, value, _ in cases]), headers)
    assert kept(spec, found) == {"type=a": [0], "type=b": [6], "_quarantine": [4, 9, 11]}
    for place in (1, 2, 3):
        assert kept(spec, found.slice(place, 1)) == {}, "nothing is left of the batch"


TEXTS_OF_PATTERNS = st.text("abcVxyz019_.- \t\v\x1c{}[]äöü€", max_size=12)


@given(st.sampled_from([*PATTERNS, r"a\sb", r"[^\s]$", r"[\S_]x", r"^\S+$", r"[\s\d]\]", r"\[\S]"]), TEXTS_OF_PATTERNS)
def test_patterns_mean_to_arrow_what_they_mean_elsewhere(pattern: str, text: str) -> None:
    match: Any = pc.match_substring_regex
    found = match(pa.array([text]), re2_pattern(pattern))[0].as_py()
    assert found == (Patterns.of([pattern]).first(text) is not None) == (re.search(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    "pattern",
    ["[^a]{1000}", "(?:[^\\Sa]|ä.){333}", "(?:(?:.{10}){10}){10}", "|".join(["[^a-b]\\S"] * 99), "(?:a?b){0,400}c"],
)
def test_arrow_takes_the_largest_patterns(pattern: str) -> None:
    """A range whose pattern does not compile would fail for ever."""
    spec = spec_of([{"name": "f", "type": "string"}], [on("f", matches=pattern)])
    assert kept(spec, records([b'{"f": "' + b"b" * 5_000 + b'"}', b'{"f": ""}'])).keys() <= {""}
