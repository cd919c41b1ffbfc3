"""The native row parser against the oracle of tests.judges, which shares no code with it: random schemas and values."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.file_rows import plain
from logpersister.values.faults import FaultsSpec
from logpersister.values.field import DocumentFieldSpec, FieldSpec
from logpersister.values.reading.columns import most_rows
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.judges.rows import RowOracle
from tests.unit.records import fault_samples
from tests.unit.records.judging import Judged, judged_by, of_oracle
from tests.unit.records.kinds import of_json, of_messagepack
from tests.unit.records.row_samples import NO_ROWS, batch_of_values, documents, schemas


def schema_of(*fields: tuple[str, str] | tuple[str, str, str]) -> RowSchema:
    """Return a schema of ``(name, type, "required" or a format)``."""
    return RowSchema(
        fields=tuple(
            FieldSpec(
                name=name,
                type=type_,
                required="required" in more,
                format=next((one for one in more if one != "required"), None),
            )
            for name, type_, *more in fields
        )
    )


def judged(schema: RowSchema, values: list[bytes | None], unknown: Any = "drop") -> Judged:
    return judged_by(of_json(schema, unknown), values)


def expected(schema: RowSchema, values: list[bytes | None], unknown: Any = "drop") -> Judged:
    return of_oracle(RowOracle(schema, unknown), values)


@pytest.mark.slow
@examples(300)
@given(st.data(), fault_samples.unknown, fault_samples.faults)
def test_rows_reasons_and_fields_are_those_of_the_oracle(data: st.DataObject, unknown: Any, faults: FaultsSpec) -> None:
    schema = fault_samples.kept(data.draw(schemas()), unknown)
    values = data.draw(st.lists(st.none() | documents(schema), max_size=12))
    parser = of_json(schema, unknown, faults)
    assert judged_by(parser, values) == of_oracle(RowOracle(schema, unknown, faults), values)
    fault_samples.assert_adjusted(parser, of_json(schema, unknown), values)


EVENT = schema_of(
    ("id", "int64", "required"),
    ("at", "timestamp[ms]", "epoch[s]"),
    ("items", "list<struct<price: decimal(5,2), sku: string not null>>"),
    ("attributes", "map<string, float32>"),
    ("rest", "json"),
)


REFUSED = [
    (b"", "not_json", None),
    (b"\xff", "not_utf8", None),
    (b"[]", "not_an_object", None),
    (b'{"id": null}', "missing", "id"),
    (b'{"id": 9223372036854775808}', "overflow", "id"),
    (b'{"id": 1, "id": 1}', "duplicate", "id"),
    (b'{"id": 1, "at": "2026-11-21T05:00:00Z"}', "wrong_type", "at"),
    (b'{"id": 1, "items": [{"sku": "a", "price": 1.505}]}', "overflow", "items[].price"),
    (b'{"id": 1, "items": [{}]}', "missing", "items[].sku"),
    (b'{"id": 1, "attributes": {"a": 1, "a": 2}}', "duplicate", "attributes{}"),
    (b'{"id": 1, "x": "\\ud83d"}', "bad_text", None),
    (b'{"id": 1, "x": ' + b"[" * 64 + b"]" * 64 + b"}", "too_deep", None),
]


@pytest.mark.parametrize(("value", "reason", "field"), REFUSED, ids=str)
def test_a_refused_value_by_hand(value: bytes, reason: str, field: str | None) -> None:
    good = b'{"id": 7}'
    rows, refused = judged(EVENT, [good, value, None, good])
    assert [row and row["id"] for row in rows] == [7, None, 7]
    assert refused == [(1, reason, field)]
    assert expected(EVENT, [good, value, None, good]) == (rows, refused)


@pytest.mark.parametrize("value", NO_ROWS)
def test_what_options_cannot_put_right_is_refused_for_what_it_is(value: bytes) -> None:
    refused = judged_by(of_json(EVENT, "drop", fault_samples.ALL), [value])
    assert refused == of_oracle(RowOracle(EVENT, "drop", fault_samples.ALL), [value])
    assert [reason for _, reason, _ in refused[1]] in (["not_json"], ["not_an_object"], ["too_deep"])


def test_wide_rows_are_made_in_pieces_and_stay_what_they_are() -> None:
    schema = schema_of(*((f"c{number}", "struct<a: int64, b: decimal(38,2), c: string>") for number in range(200)))
    assert most_rows(schema) == (64 << 20) // (200 * 28)
    assert most_rows(schema_of(("flag", "bool"))) == 64 << 20
    batch = batch_of_values([b"{}", b"no row", None, b'{"c7": {"a": 3}}', b"{}"])
    whole, piece = (of_json(schema, "drop").parse(it) for it in (batch, batch.slice(2, 2)))
    assert whole.rows is not None
    assert piece.rows is not None
    assert plain(piece.rows).to_pylist() == plain(whole.rows).to_pylist()[1:3]


WIDE = schema_of(
    ("all", f"list<struct<{', '.join(f'c{number}: decimal(38,2)' for number in range(100))}>>"),
    ("by", f"map<string, struct<{', '.join(f'c{number}: int64' for number in range(100))}>>"),
)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (b'{"all": [%s]}' % b",".join([b"{}"] * 200), "all[]"),
        (b'{"by": {%s}}' % b",".join(b'"%d":{}' % number for number in range(200)), "by{}"),
    ],
)
def test_short_items_cannot_take_all_memory(value: bytes, field: str) -> None:
    few = b'{"all": [{}, {}], "by": {"a": {}, "b": null}}'
    assert judged(WIDE, [few, value])[1] == [(1, "overflow", field)]
    assert expected(WIDE, [few, value])[1] == [(1, "overflow", field)]


DEFAULTS: list[tuple[Any, ...]] = [
    (True, "bool", True), (-128, "int8", -128), (2**63 - 1, "int64", 2**63 - 1), (0.1, "float64", 0.1),
    (3.4028234663852886e38, "float32", 3.4028234663852886e38), (5, "float32", 5.0),
    ("a\u2028\n\"", "string", "a\u2028\n\""),
    ("0001-01-01", "date", -719162), ("9999-12-31", "date", 2932896), ("23:59:59.999", "time[ms]", 86_399_999),
    ("9999-12-31T23:59:59.999Z", "timestamp[ms]", 253402300799999), ("1970-01-01T00:00:00", "timestamp[ns]", 0),
    ("0001-01-01T00:00:00-01:00", "timestamp[s]", -62135593200), ("-99.9", "decimal(3,1)", Decimal("-99.9")),
    (10**18, "decimal(19,0)", Decimal(10**18)), ("1.50", "decimal(2,1)", Decimal("1.5")),
    ("/w==", "binary[base64]", b"\xff"), ("", "binary[base64]", b""),
]  # fmt: skip


@pytest.mark.parametrize(("value", "type_", "column"), DEFAULTS, ids=str)
def test_a_default_that_the_manifest_accepts_is_read_as_values_are(value: Any, type_: str, column: Any) -> None:
    field = DocumentFieldSpec(name="d", type=type_, default=value, required=True)
    schema = RowSchema(fields=(field, FieldSpec(name="x", type="json")))
    values: list[bytes | None] = [b"{}", b'{"x": 1}', b'{"d": null}', json.dumps({"d": value}).encode()]
    rows, refused = judged(schema, values)
    assert ([row["d"] for row in rows], refused) == ([column] * 3, [(2, "missing", "d")])
    assert expected(schema, values) == (rows, refused)
    alone, packs = RowSchema(fields=(field,)), [b"\x80", b"\x81\xa1d\xc0"]
    packed = judged_by(of_messagepack(alone, "drop"), [*packs])
    assert packed == ([{"d": column}], [(1, "missing", "d")])
