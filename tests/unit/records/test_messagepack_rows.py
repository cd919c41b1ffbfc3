"""Rows of MessagePack values: the native parser against the official library."""

import re
from base64 import b64decode
from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.judges.refusal import RefusalError
from tests.unit.records import fault_samples
from tests.unit.records.judging import Judged, judged_by
from tests.unit.records.kinds import of_messagepack
from tests.unit.records.messagepack_samples import Written, entries, packed, schemas, values
from tests.unit.records.test_rows import schema_of
from tests.unit.records.third_party import Instant, Pairs, assert_rows, has_known_times


def judged(schema: RowSchema, found: list[bytes | None], unknown: Any = "drop") -> Judged:
    return judged_by(of_messagepack(schema, unknown), found)


def _read(value: bytes) -> Any:
    """Return what the official library reads, or why it reads nothing; None: it has a timestamp that is none.

    Such a one fails in the library as a whole, also where it is in what no column has.
    """
    try:
        read = msgpack.unpackb(
            value, strict_map_key=False, unicode_errors="surrogateescape", object_pairs_hook=Pairs, timestamp=0
        )
    except ValueError as error:
        is_whole = re.search("timestamp|nanoseconds", str(error)) is not None
        return None if is_whole else RefusalError("not_messagepack")
    return _with_instants(read)


def _with_instants(value: Any) -> Any:
    match value:
        case msgpack.Timestamp():
            return Instant(value.to_unix_nano())
        case Pairs():
            return Pairs((_with_instants(key), _with_instants(one)) for key, one in value)
        case list():
            return [_with_instants(one) for one in value]
        case _:
            return value


@pytest.mark.slow
@examples(80)
@given(st.data())
def test_values_are_what_the_official_library_reads(data: st.DataObject) -> None:
    schema = data.draw(schemas.filter(has_known_times))
    found = data.draw(st.lists(values(schema), max_size=5))
    read = {value: one for value in found if (one := _read(value)) is not None}
    assert_rows(judged(schema, [*read]), schema, [*read.values()])


EVENT = schema_of(
    ("id", "int64", "required"),
    ("at", "timestamp[ms]", "epoch[s]"),
    ("items", "list<struct<price: decimal(5,2), sku: string not null>>"),
    ("attributes", "map<string, float32>"),
    ("raw", "binary[base64]"),
)
ITEM = {"sku": "\u00e4", "price": "1.50", "size": [1]}
VALUE = {
    "x": {1: [None, 1.5]},
    "at": 1_795_237_200,
    "id": -1,
    "items": [ITEM, None],
    "raw": b"\xff",
    "attributes": {"b": 1},
}
ROW = {
    "id": -1,
    "at": 1_795_237_200_000,
    "items": [{"price": Decimal("1.50"), "sku": "\u00e4"}, None],
    "attributes": [("b", 1.0)],
    "raw": b"\xff",
}


def test_an_instant_in_each_form_that_messagepack_has_for_it() -> None:
    """Whatever `format` is; finer digits are cut off."""
    at = [
        Written(b"\xd6\xff" + (1_795_237_200).to_bytes(4, "big")),
        Written(b"\xd7\xff" + (999_999_999 << 34 | 1_795_237_200).to_bytes(8, "big")),
        Written(b"\xc7\x0c\xff" + (1_500_000).to_bytes(4, "big") + (-1).to_bytes(8, "big", signed=True)),
    ]
    rows, refused = judged(EVENT, [packed({"id": 1, "at": one}) for one in at])
    assert (refused, [row["at"] for row in rows]) == ([], [1_795_237_200_000, 1_795_237_200_999, -999])


def _with(**fields: Any) -> bytes:
    return packed({"id": 1, **fields})


REFUSED = [
    (b"", "not_messagepack", None),
    (b"\xc1", "not_messagepack", None),
    (_with() + b"\xc0", "not_messagepack", None),
    (_with(items="x" * 40)[:-1], "not_messagepack", None),
    (b"\xdf\xff\xff\xff\xff\xa2id\x01", "not_messagepack", None),
    (b"\x92\xa2id\x01", "not_an_object", None),
    (packed({"id": "1"}), "wrong_type", "id"),
    (packed({"id": 2**63}), "overflow", "id"),
    (entries([("id", 1), ("id", 1)]), "duplicate", "id"),
    (_with(at="2026-11-21T05:00:00Z"), "wrong_type", "at"),
    (_with(at=Written(b"\xd5\xff\x00\x00")), "wrong_type", "at"),
    (_with(at=Written(b"\xd7\xff" + b"\xff" * 8)), "overflow", "at"),
    (_with(items=[{"sku": "a", "price": 1.5}]), "wrong_type", "items[].price"),
    (_with(items=[{"sku": "a", "price": "x"}]), "bad_text", "items[].price"),
    (_with(items=[{}]), "missing", "items[].sku"),
    (_with(items=[{"sku": b"\xff"}]), "not_utf8", "items[].sku"),
    (_with(attributes=Written(entries([("a", 1), ("a", 2)]))), "duplicate", "attributes{}"),
    (_with(attributes={"a": 1e39}), "overflow", "attributes{}"),
    (_with(attributes={1: 2}), "wrong_type", "attributes{}"),
    (_with(x=Written(b"\x91" * 64 + b"\xc0")), "too_deep", None),
]


@pytest.mark.parametrize(("value", "reason", "field"), REFUSED, ids=str)
def test_a_refused_value_by_hand(value: bytes, reason: str, field: str | None) -> None:
    good = packed(VALUE)
    rows, refused = judged(EVENT, [good, value, None, good])
    assert (rows, refused) == ([ROW, None, ROW], [(1, reason, field)])


def test_a_field_and_what_is_unknown_are_never_one_name() -> None:
    """Even where an unknown name, which may be of any type, becomes the same text."""
    schema = replace(schema_of(("name", "int8"), ("true", "int8")), rest_column="_rest")
    unknown = [(b64decode("name"), 2), (True, 3)]
    found: list[bytes | None] = [
        entries([("name", 1), *unknown, ("true", 4)]),
        entries([("name", 1), *unknown, ("name", 5), (b64decode("name"), 6)]),
    ]
    kept = judged_by(of_messagepack(schema, "keep", fault_samples.ALL), found)
    assert kept == (
        [
            {"name": 1, "true": 4, "_rest": '{"name":2,"true":3}'},
            {"name": 5, "true": None, "_rest": '{"true":3,"name":6}'},
        ],
        [],
    )
