"""Record batches on their way: all that was wanted, in order, as kafka-python reads it."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from logpersister.formats.damage import ContentError
from logpersister.restore import record_batches
from logpersister.restore.record_batches import Batch, Producer, batches, behind, frames, placed
from tests.unit.reader import record_batches as made

PRODUCER = Producer(4_711, 0)
LAST = 1 << 62

Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]

Records = st.lists(
    st.builds(
        made.Record,
        key=st.none() | st.binary(max_size=3),
        value=st.none() | st.sampled_from([b"", b"null", b"x" * 300]),
        headers=st.lists(st.tuples(st.sampled_from([b"h", b"\xc3\xbc"]), st.none() | st.binary(max_size=2)), max_size=2)
        .map(tuple),
        timestamp_delta=st.integers(-5, 1_000),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip
Codec = st.sampled_from([made.NONE, made.GZIP])
Flags = st.sampled_from([0, made.TRANSACTIONAL, made.LOG_APPEND_TIME, made.DELETE_HORIZON])


@st.composite
def segments(draw: st.DrawFn) -> list[made.Batch]:
    """Draw batches that follow each other, some with gaps, as compaction leaves them."""
    found: list[made.Batch] = []
    base = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 4))):
        place, records = 0, []
        for one in draw(Records):
            place += draw(st.sampled_from([0, 0, 0, 2]))
            records.append(made.Record(one.key, one.value, one.headers, one.timestamp_delta, place))
            place += 1
        end = place - 1 + draw(st.sampled_from([0, 0, 1]))
        found.append(made.Batch(records, base, draw(Codec), draw(Flags), last_offset_delta=end, producer_id=9))
        base += end + 1 + draw(st.sampled_from([0, 0, 3]))
    return found


def expected(segment: Iterable[made.Batch], start: int, end: int) -> list[Row]:
    rows: list[Row] = []
    for batch in segment:
        for place, one in enumerate(batch.records):
            if start <= batch.base_offset + made.delta(one, place) < end:
                by_log = batch.attributes & made.LOG_APPEND_TIME
                time = batch.max_timestamp if by_log else batch.base_timestamp + one.timestamp_delta
                rows.append((time, one.key, one.value, [(key.decode(), value) for key, value in one.headers]))
    return rows


def sent(found: Iterable[Batch], offset: int = 0) -> Iterator[Row]:
    """Yield what a broker would append, once it is what brokers take."""
    for one in found:
        data = placed(one, PRODUCER, offset)
        assert DefaultRecordBatch(data).validate_crc()
        batch = DefaultRecordBatch(data)
        assert (batch.base_offset, batch.last_offset, batch.records_count) == (0, one.records - 1, one.records)
        assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (4_711, 0, offset % (1 << 31))
        assert not batch.is_transactional
        assert batch.timestamp_type == 0
        for place, record in enumerate(batch):
            assert record.offset == place
            yield record.timestamp, record.key, record.value, record.headers
        offset += one.records


@given(segments(), st.integers(0, 40), st.integers(1, 40), st.integers(1, 90))
def test_all_wanted_records_in_order(segment: list[made.Batch], start: int, count: int, piece: int) -> None:
    stored = b"".join(batch.encode() for batch in segment)
    pieces = (stored[begin : begin + piece] for begin in range(0, len(stored), piece))
    found = list(batches(frames(pieces), start, start + count))
    assert list(sent(found)) == expected(segment, start, start + count)


@given(segments(), st.integers(0, 30))
def test_behind_what_is_there(segment: list[made.Batch], skip: int) -> None:
    rows = expected(segment, 0, LAST)
    for one in batches((batch.encode() for batch in segment), 0, LAST):
        assert list(sent(behind(one, min(skip, one.records - 1)))) == list(sent([one]))[min(skip, one.records - 1) :]
    assert len(rows) == sum(one.records for one in batches((batch.encode() for batch in segment), 0, LAST))


def test_a_batch_without_gaps_goes_as_it_is() -> None:
    batch = made.Batch([made.Record(value=b"x" * 500)] * 3, 10, made.ZSTD).encode()
    [found] = batches([batch], 10, 13)
    assert placed(found, PRODUCER, 5)[made.HEADER_BYTES :] == batch[made.HEADER_BYTES :]


def test_records_of_old_formats_are_encoded_anew() -> None:
    old = made.legacy(1, made.GZIP, 7, [(5, b"k", b"old"), (6, None, None)])
    assert list(sent(batches(frames([old]), 0, 100))) == [(5, b"k", b"old", []), (6, None, None, [])]


def test_what_is_encoded_anew_is_cut_into_batches_that_brokers_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "ENCODED_BYTES", 1_000)
    records = [made.Record(value=bytes([65 + place]) * 300) for place in range(9)] + [made.Record(value=b"l" * 5_000)]
    found = list(batches([made.Batch(records).encode()], 1, 10))
    assert [one.records for one in found] == [3, 3, 2, 1]
    assert [row[2] for row in sent(found)] == [record.value for record in records[1:]]


@pytest.mark.parametrize("offset", [0, (1 << 31) - 1, 1 << 31, 5 << 31])
def test_sequence_numbers_begin_again(offset: int) -> None:
    assert len(list(sent([Batch(made.Batch().encode(), 1)], offset))) == 1


def damaged(position: int) -> bytes:
    data = bytearray(made.Batch([made.Record(value=b"x" * 100)]).encode())
    data[position] ^= 0x80
    return bytes(data)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (damaged(100), "corrupt record batch at offset 0: its checksum is wrong"),
        (damaged(8), "its length is wrong"),
        (made.Batch().encode()[:-1], "no whole record batch"),
        (made.Batch().encode() + b"12345", "the last 5 bytes"),
    ],
)
def test_damage_is_told(stored: bytes, told: str) -> None:
    with pytest.raises(ContentError, match=told):
        list(batches(frames([stored]), 0, 100))


def frames_of(stored: bytes) -> list[Any]:
    return list(frames([stored[:5], stored[5:]]))


def test_frames_over_pieces() -> None:
    one, two = made.Batch().encode(), made.Batch(base_offset=1, codec=made.GZIP).encode()
    assert frames_of(one + two) == [one, two]
