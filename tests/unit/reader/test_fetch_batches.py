"""Cutting an answer into pieces changes nothing about what is decoded."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.reader.batches import scan
from logpersister.pipeline.reader.decode import decode
from tests.examples import examples
from tests.unit.reader.record_batches import GZIP, Batch, Record
from tests.unit.reader.simulated_cluster import Log, Write, make_log

writes = st.builds(
    Write,
    sizes=st.lists(st.integers(0, 40), max_size=4),
    producer=st.sampled_from([None, 1, 2, 3]),
    end=st.sampled_from([None, "commit", "abort"]),
    compacted=st.sampled_from([0, 0, 2]),
    codec=st.sampled_from([0, GZIP]),
)


def offsets_by_piece(log: Log, data: bytes, start: int, end: int, piece_bytes: int) -> list[int]:
    found: list[int] = []
    at = start
    for piece in scan(memoryview(data), start, end, log.aborted_from(start), piece_bytes).pieces:
        assert piece.start == at
        decoded = decode(piece.data, piece.start, end, aborted=piece.aborted, read_committed=True, headers=False)
        assert min(decoded.next_offset, end) == min(piece.next_offset, end)
        found += decoded.batch["offset"].to_numpy().tolist()
        at = piece.next_offset
    return found


@examples(100)
@given(st.lists(writes, min_size=1, max_size=30), st.data())
def test_pieces_hold_what_the_whole_holds(written: Sequence[Write], data: st.DataObject) -> None:
    log = make_log(written)
    if not log.end:
        return
    start = data.draw(st.integers(0, log.end - 1))
    end = data.draw(st.integers(start + 1, log.end))
    whole = log.read(start, 1 << 20, at_least_one=True)
    found = offsets_by_piece(log, whole, start, end, data.draw(st.integers(1, 500)))
    assert found == [offset for offset in sorted(log.expected) if start <= offset < end]


@examples(100)
@given(st.lists(writes, min_size=1, max_size=8), st.data())
def test_what_is_cut_off_is_left_for_the_next_answer(written: Sequence[Write], data: st.DataObject) -> None:
    log = make_log(written)
    if not log.batches:
        return
    whole = log.read(0, 1 << 20, at_least_one=True)
    cut = data.draw(st.integers(0, len(whole)))
    found = scan(memoryview(whole)[:cut], 0, log.end, (), 1 << 20)
    assert found.used_bytes <= cut
    assert found.used_bytes == sum(len(piece.data) for piece in found.pieces)
    if found.next_offset < log.end:
        rest = log.read(found.next_offset, 1 << 20, at_least_one=True)
        assert whole.endswith(rest)
    first = len(log.batches[0][1])
    if 12 <= cut < first:
        assert (found.needed_bytes, found.next_offset) == (first, 0)
    elif cut >= first:
        assert found.needed_bytes == 0


def test_a_batch_behind_the_end_shows_that_nothing_is_left() -> None:
    data = Batch([Record()] * 3).encode() + Batch([Record()], 50).encode()
    found = scan(memoryview(data), 0, 20, (), 1 << 20)
    assert (found.next_offset, found.used_bytes, len(found.pieces)) == (20, len(data) - len(Batch().encode()), 1)
    only_behind = scan(memoryview(Batch([Record()], 50).encode()[:30]), 0, 20, (), 1 << 20)
    assert (only_behind.next_offset, only_behind.pieces) == (20, ())


def test_a_compressed_message_of_the_old_format_has_its_last_offset_in_front() -> None:
    """It may begin before the end of the range although its offset is behind."""
    old = bytearray(40)
    old[7], old[11], old[16] = 30, 28, 1  # offset 30, 28 bytes, magic 1
    found = scan(memoryview(old), 20, 25, (), 1 << 20)
    assert (found.next_offset, found.used_bytes) == (31, 40)
