"""Short byte strings in columns."""

import struct

import msgpack
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from logpersister.formats import binary, cells
from logpersister.formats.cells import IntegerClasses
from tests.examples import examples

EDGES = sorted(
    {
        base + change
        for bits in (0, 5, 7, 8, 15, 16, 31, 32, 63)
        for base in (1 << bits, -(1 << bits))
        for change in (-1, 0, 1)
    }
)
INTEGERS = [edge for edge in EDGES if -(1 << 63) <= edge < 1 << 63]


def _encoded(integers: list[int], classes: IntegerClasses) -> list[bytes]:
    array = cells.joined([cells.shortest(np.array(integers, np.int64), classes)])
    return [bytes(each.as_py() or b"") for each in array]


@examples(100)
@given(st.lists(st.sampled_from(INTEGERS) | st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=20))
@example(INTEGERS)
def test_messagepack_integers(integers: list[int]) -> None:
    """The library writes the shortest form."""
    assert _encoded(integers, cells.MESSAGEPACK_INTEGER) == [msgpack.packb(integer) for integer in integers]


def test_messagepack_binary_headers() -> None:
    assert _encoded([0, 255, 256, 65535, 65536], cells.MESSAGEPACK_BINARY_HEADER) == [
        b"\xc4\x00",
        b"\xc4\xff",
        b"\xc5\x01\x00",
        b"\xc5\xff\xff",
        b"\xc6\x00\x01\x00\x00",
    ]


def _write_vint(integer: int) -> bytes:
    """``WritableUtils.writeVLong`` for integers from 0, as it is told there."""
    if integer <= 127:
        return bytes([integer])
    digits = integer.to_bytes((integer.bit_length() + 7) // 8, "big")
    return struct.pack(">b", -112 - len(digits)) + digits


@examples(100)
@given(st.lists(st.integers(0, (1 << 31) - 1), min_size=1, max_size=20))
@example([edge for edge in INTEGERS if 0 <= edge < 1 << 31] + [(1 << 24) - 1, 1 << 24])
def test_hadoop_integers(integers: list[int]) -> None:
    assert _encoded(integers, cells.HADOOP_VARIABLE_INTEGER) == [_write_vint(integer) for integer in integers]


def test_joined_and_left_out() -> None:
    numbers = cells.shortest(np.array([1, 300, 5]), cells.MESSAGEPACK_INTEGER)
    kept = cells.constant(b"ab", 3).where(np.array([True, False, True]))
    assert cells.joined([kept, numbers]).to_pylist() == [b"ab\x01", b"\xcd\x01\x2c", b"ab\x05"]
    assert cells.total_lengths([kept, numbers], 3).tolist() == [3, 3, 3]


def test_interleaved() -> None:
    left, right = (cells.joined([cells.constant(text, 2)]) for text in (b"ab", b"c"))
    assert binary.interleave([left, right]).to_pybytes() == b"abcabc"
