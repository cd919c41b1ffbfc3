"""What is JSON: against Python's `json`, where both must agree. The rules one by one are in the Rust tests."""

import json
from typing import NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logpersister.values.json.document_parser import JsonParser
from logpersister.values.reading.parsers import Refused
from tests.examples import examples
from tests.unit.records.batches import batch_of

DEEPEST = 128


def refused(*values: bytes | None) -> Refused | None:
    return JsonParser().parse(batch_of([0] * len(values), values=values)).refused


def is_json(value: bytes) -> bool:
    return refused(value) is None


def python_takes(value: bytes) -> bool:
    """Whether Python's json takes it, but for what it adds to JSON, and as deep as we go."""

    def no_json(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is none")

    try:
        # Digits without end are no matter of JSON, nor are the numbers that they become.
        json.loads(value.decode("utf-8"), parse_constant=no_json, parse_int=len, parse_float=len)
    except ValueError:
        return False
    return True


pieces = st.sampled_from(
    [*b'{}[],:"\\ \n\t\r0123456789-+.eEtfnu', 0, 0x1F, 0x7F, 0x80, 0xC3, 0xA9, 0xED, 0xA0, 0xEF, 0xBB, 0xBF, 0xFF]
)
almost = st.lists(
    pieces.map(lambda byte: bytes([byte]))
    | st.sampled_from([b'""', b'"a":', b"true", b"null", b"NaN", b"-Infinity", b"[]", b"{}", b"\\u00e9", b"\\ud83d"]),
    max_size=12,
).map(b"".join)


@pytest.mark.slow
@examples(1_000)
@given(almost | st.binary(max_size=12))
@example(b"\xef\xbb\xbf{}")
@example(b'"\xed\xa0\x80"')
@example(b'"\\ud83d"')
@example(b"[NaN]")
@example(b"1" * 5_000)
@example(b"1e99999")
def test_whatever_comes_python_says_the_same(value: bytes) -> None:
    assert is_json(value) == python_takes(value)


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 100_000])
def test_nesting_has_a_limit_and_needs_no_stack(depth: int) -> None:
    for value in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        found = refused(value)
        assert (found is None) == (depth <= DEEPEST)
        assert found is None or "nested more than 128 deep after" in found.reason
        assert not is_json(value[:-1])


def test_nulls_are_not_looked_at_and_the_first_reason_is_told() -> None:
    assert refused() is None
    assert refused(None, None) is None
    found = refused(b"{}", None, b"{secret}", b"", b"1")
    assert found is not None
    assert found.rows.tolist() == [2, 3]
    assert found.reason == "not JSON: key must be a string at line 1 column 2"
    assert "secret" not in found.reason


@given(st.lists(st.none() | st.sampled_from([b"{}", b"", b"x", b"1" * 40]), max_size=40), st.data())
def test_a_part_of_a_batch_is_looked_at_alone(values: list[bytes | None], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(values)))
    length = data.draw(st.integers(0, len(values) - begin))
    part = batch_of([0] * len(values), values=values).slice(begin, length)
    found = JsonParser().parse(part).refused
    expected = [row for row, value in enumerate(values[begin : begin + length]) if value in (b"", b"x")]
    assert (found.rows.tolist() if found else []) == expected
