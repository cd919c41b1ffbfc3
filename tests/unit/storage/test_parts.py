"""Gathering bytes into parts: exact cuts, no copies, and a body that HTTP clients can read again."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.storage.parts import MAX_PART_SIZE, MAX_PARTS, MIB, PIECE, SMALL, Part, part_size
from tests.examples import examples

SETTINGS = examples(50)


@SETTINGS
@given(st.lists(st.sampled_from([0, 1, 100, SMALL - 1, SMALL, SMALL + 1, PIECE + 5]), max_size=12))
def test_a_part_is_what_was_added(sizes: list[int]) -> None:
    data = [bytes([index % 251]) * size for index, size in enumerate(sizes)]
    part = Part(sum(sizes) + 7)
    for item in data:
        part.add(memoryview(item))
    assert (part.length, part.room) == (sum(sizes), 7)
    body = part.body()
    whole = b"".join(data)
    assert body.joined() == whole
    assert len(body) == len(whole)
    assert body.crc32() == zlib.crc32(whole)
    for _ in range(2):  # a request that is tried again is read again
        assert b"".join(iter(lambda: body.read(16_384), b"")) == whole
        assert body.tell() == len(whole)
        assert body.seek(0) == 0


def test_large_buffers_are_not_copied_and_small_ones_are_joined() -> None:
    part = Part(10 * MIB)
    large = bytearray(SMALL)
    for item in (b"a" * 10, b"b" * 10, large, b"c"):
        part.add(memoryview(item))
    pieces = list(part.body())
    assert [len(piece) for piece in pieces] == [20, SMALL, 1]
    large[0] = 9
    assert pieces[1][0] == 9


@pytest.mark.parametrize("first", [5 * MIB, 16 * MIB, 512 * MIB, MAX_PART_SIZE])
def test_parts_grow_so_that_the_largest_object_fits_while_memory_stays_small(first: int) -> None:
    sizes = [part_size(number, first) for number in range(1, MAX_PARTS + 1)]
    assert sizes[0] == first
    assert sum(sizes) >= 5 * 1024 * 1024 * MIB
    assert max(sizes) <= MAX_PART_SIZE
    total = 0
    for size in sizes:
        assert size <= max(first, total // 480)
        total += size
    assert set(sizes[:5_000]) == {first}, "R2 takes parts of one size only"
