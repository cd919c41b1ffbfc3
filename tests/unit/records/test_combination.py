"""What is known of pieces tells what the whole would say of itself."""

import zlib
from functools import reduce
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from logpersister.records.checksum import PayloadChecksum
from logpersister.records.combination import PayloadSum, crc32_combine, payload_sum
from tests.examples import examples
from tests.unit.records.batches import batch_of

SETTINGS = examples(50)
payloads = st.one_of(st.none(), st.binary(max_size=20))
Records = list[tuple[bytes | None, bytes | None]]


@SETTINGS
@given(st.lists(st.binary(max_size=2_000), max_size=5))
def test_crcs_of_pieces_are_joined_as_zlib_reckons_the_whole(pieces: list[bytes]) -> None:
    joined = 0
    for piece in pieces:
        joined = crc32_combine(joined, zlib.crc32(piece), len(piece))
    assert joined == zlib.crc32(b"".join(pieces))


def test_a_piece_may_be_longer_than_32_bits_can_count() -> None:
    zeros, length = zlib.crc32(bytes(1 << 20)), 1 << 20
    while length < 1 << 33:
        zeros, length = crc32_combine(zeros, zeros, length), 2 * length
    first, end = zlib.crc32(b"first"), zlib.crc32(b"end")
    by_steps = crc32_combine(crc32_combine(first, zeros, length), end, 3)
    assert by_steps == crc32_combine(first, crc32_combine(zeros, end, 3), length + 3)


def summed(rows: Records) -> PayloadSum:
    checksum = PayloadChecksum()
    checksum.update(batch_of([0] * len(rows), keys=[key for key, _ in rows], values=[value for _, value in rows]))
    found = payload_sum(checksum.text(), len(rows), checksum.sizes)
    assert found is not None
    return found


def joined(*pieces: PayloadSum) -> PayloadSum:
    def follow(before: PayloadSum, behind: PayloadSum) -> PayloadSum:
        both = before.followed_by(behind)
        assert both is not None
        return both

    return reduce(follow, pieces)


@SETTINGS
@given(st.lists(st.tuples(payloads, payloads), max_size=20), st.lists(st.integers(0, 20), max_size=4))
def test_it_does_not_matter_how_records_are_cut(rows: Records, cuts: list[int]) -> None:
    bounds = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    pieces = [summed(rows[begin:end]) for begin, end in pairwise(bounds)] or [summed(rows)]
    assert joined(*pieces) == summed(rows)
    assert joined(*pieces).same_payloads(summed(rows))


def test_what_does_not_say_how_large_it_is_can_only_come_first() -> None:
    rows: Records = [(b"k", b"v"), (None, b"w")]
    silent = payload_sum("crc32:" + "-".join(["00000001"] * 4), 1, None)
    assert silent is not None
    assert summed(rows).followed_by(silent) is None
    both = silent.followed_by(summed(rows))
    assert both is not None
    assert both.sizes is None
    assert payload_sum("md5:0", 1, (0, 0)) is None
