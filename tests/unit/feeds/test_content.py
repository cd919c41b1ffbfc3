"""What of a body is content, and how a record is kept in the spool."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.feeds.content import digest_of, takes
from logpersister.feeds.record import Record, decode, encode, timestamp_of
from logpersister.manifest.blocks.feeds import ContentSpec


def same(content: ContentSpec, one: bytes, other: bytes) -> bool:
    digest = digest_of(content)
    assert digest is not None
    return digest(one) == digest(other)


def test_all_bytes_are_content_unless_a_rule_says_otherwise() -> None:
    assert digest_of(ContentSpec()) is None


def test_a_part_of_json_is_compared() -> None:
    content = ContentSpec(json_pointer="/data/0/a~1b~0")
    one = b'{"at": 1, "data": [{"a/b~": {"x": 1, "y": 2}}]}'
    assert same(content, one, b'{"at": 2, "data": [{"a/b~": {"y": 2, "x": 1}}]}')
    assert not same(content, one, b'{"at": 1, "data": [{"a/b~": {"x": 1, "y": 3}}]}')


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b'{"data": []}', b'{"data": {"0": 1}}', b'{"data": 5}', b"[" * 9999]
)
def test_a_body_without_the_part_is_compared_whole(body: bytes) -> None:
    content = ContentSpec(json_pointer="/data/0/x")
    digest = digest_of(content)
    assert digest is not None
    assert digest(body) == hashlib.sha256(body).digest()


def test_bytes_are_left_out_by_a_pattern() -> None:
    content = ContentSpec(without="generated at [0-9:]+")
    assert same(content, b"generated at 12:00\n\xff1", b"generated at 12:01\n\xff1")
    assert not same(content, b"generated at 12:00\n\xff1", b"generated at 12:00\n\xff2")


def test_a_pattern_takes_time_that_is_linear_in_the_body() -> None:
    assert same(ContentSpec(without="(a+)+b"), b"a" * 100_000, b"a" * 100_000)


@pytest.mark.parametrize(
    ("types", "content_type", "is_taken"),
    [
        ((), "", True),
        (("application/json",), "application/json", True),
        (("application/json",), "Application/JSON; charset=utf-8", True),
        (("text/*",), "text/csv", True),
        (("application/json",), "text/html", False),
        (("text/*",), "", False),
    ],
)
def test_content_types(types: tuple[str, ...], content_type: str, is_taken: bool) -> None:
    assert takes(types, content_type) == is_taken


HEADERS = st.lists(st.tuples(st.text("abc-", max_size=20), st.binary(max_size=300)), max_size=12)


@given(st.text(max_size=200), st.binary(max_size=2000), st.integers(-(2**62), 2**62), HEADERS)
def test_a_record_is_read_back(key: str, value: bytes, timestamp: int, headers: list[tuple[str, bytes]]) -> None:
    record = Record(key, value, timestamp, tuple(headers))
    assert decode(encode(record)) == record
    assert timestamp_of(encode(record)) == timestamp


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=3)))
def test_any_json_may_be_the_part(value: object) -> None:
    at, other = ({"at": number, "data": value} for number in (1, 2))
    assert same(ContentSpec(json_pointer="/data"), json.dumps(at).encode(), json.dumps(other).encode())
