"""`decode` on batches made by hand, one rule after the other."""

import struct
from bisect import bisect_left
from typing import Any

import pytest

from logpersister.pipeline.reader.decode import Aborted, CorruptBatchError, Decoded, decode
from tests.unit.reader import record_batches as made
from tests.unit.reader.record_batches import CODECS, Batch, Record

ALL = 1 << 62


def decode_all(data: bytes, **options: Any) -> Decoded:
    options = {"start": 0, "end": ALL, "read_committed": True, "headers": False} | options
    return decode(data, options.pop("start"), options.pop("end"), **options)


def offsets(decoded: Decoded) -> list[int]:
    found = decoded.batch["offset"].to_pylist()
    return [offset for offset in found if offset is not None]


THREE = Batch([Record(b"a", b"1"), Record(b"b", b"2"), Record(b"c", b"3")], base_offset=10)


def test_a_gap_up_to_the_end_is_seen_from_the_batch_behind_it() -> None:
    behind = Batch(base_offset=50).encode()
    for data in (behind, behind[:17]):
        decoded = decode_all(THREE.encode() + data, end=20)
        assert (offsets(decoded), decoded.next_offset, decoded.cut_off_bytes) == ([10, 11, 12], 50, None)


def test_log_append_time_is_that_of_the_batch() -> None:
    records = [Record(timestamp_delta=1), Record(timestamp_delta=2)]
    decoded = decode_all(Batch(records, attributes=made.LOG_APPEND_TIME, max_timestamp=42).encode())
    assert decoded.batch["timestamp"].to_pylist() == [42, 42]


def test_deltas_count_from_the_delete_horizon() -> None:
    # The cleaner writes the horizon into the base timestamp and recomputes the deltas from it (KIP-534).
    records = [Record(timestamp_delta=-5), Record(timestamp_delta=3)]
    decoded = decode_all(Batch(records, attributes=made.DELETE_HORIZON, base_timestamp=1000).encode())
    assert decoded.batch["timestamp"].to_pylist() == [995, 1003]


def transactional(base_offset: int, producer_id: int, flags: int = made.TRANSACTIONAL) -> bytes:
    return Batch([Record(), Record()], base_offset=base_offset, attributes=flags, producer_id=producer_id).encode()


INTERLEAVED = b"".join(
    [
        transactional(0, 1),  # aborted at 8
        transactional(2, 2),  # committed at 6
        transactional(4, 3, flags=0),  # idempotent, not transactional
        made.marker(6, 2, abort=False),
        Batch(base_offset=7).encode(),  # without a producer id
        made.marker(8, 1, abort=True),
        transactional(9, 1),  # committed at 11
        made.marker(11, 1, abort=False),
        transactional(12, 1),  # aborted at 14
        made.marker(14, 1, abort=True),
        transactional(15, 1),  # the next transaction, committed
    ]
)
ABORTED = [Aborted(1, 12), Aborted(1, 0)]


@pytest.mark.parametrize("start", range(18))
def test_any_start_in_the_same_response_gives_the_same_rest(start: int) -> None:
    everything = offsets(decode_all(INTERLEAVED, aborted=ABORTED))
    decoded = decode_all(INTERLEAVED, aborted=ABORTED, start=start)
    assert offsets(decoded) == everything[bisect_left(everything, start) :]
    assert decoded.next_offset == max(start, 17)


def test_a_transaction_begun_before_the_response_is_aborted() -> None:
    data = transactional(500, 1) + made.marker(502, 1, abort=True) + transactional(503, 1)
    assert offsets(decode_all(data, aborted=[Aborted(1, 3)])) == [503, 504]


def test_an_emptied_marker_ends_nothing() -> None:
    emptied = Batch([], base_offset=2, attributes=made.CONTROL | made.TRANSACTIONAL, producer_id=1).encode()
    data = transactional(0, 1) + emptied + transactional(3, 1)
    assert offsets(decode_all(data, aborted=[Aborted(1, 0)])) == []


def test_decoding_stops_at_max_bytes_and_goes_on_from_there() -> None:
    data = b"".join(Batch([Record(value=b"x" * 1000)], base_offset=i, codec=made.GZIP).encode() for i in range(10))
    first = decode_all(data, max_bytes=2500)
    assert (offsets(first), first.next_offset, first.cut_off_bytes) == ([0, 1, 2], 3, None)
    seen: list[int] = []
    start = 0
    while start < 10:
        decoded = decode_all(data, start=start, max_bytes=1)
        seen += offsets(decoded)
        assert decoded.next_offset > start
        start = decoded.next_offset
    assert seen == list(range(10))


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_beyond_the_limit_is_refused(codec: int) -> None:
    bomb = Batch([Record(value=bytes(5_000_000))], base_offset=3, codec=codec).encode()
    with pytest.raises(CorruptBatchError, match="more than 4000000 bytes when decompressed") as caught:
        decode_all(bomb, max_batch_bytes=4_000_000)
    assert caught.value.offset == 3
    assert decode_all(bomb, max_batch_bytes=6_000_000).batch.num_rows == 1


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (THREE.encode()[:-1] + b"\1", "CRC-32C is"),
        (Batch(attributes=5).encode(), "codec 5 is unknown"),
        (Batch(count=2).encode(), "2 records do not fit"),
        (Batch(count=-1).encode(), "number of records is -1"),
        (Batch(last_offset_delta=-1).encode(), "last offset delta is -1"),
        (Batch([Record(value=bytes(20))] * 2, count=1).encode(), "27 bytes follow the last of 1 records"),
        (Batch([Record(offset_delta=1), Record(offset_delta=1)]).encode(), "offset delta 1 follows 1"),
        (Batch([Record(offset_delta=5)], last_offset_delta=4).encode(), "delta 5 follows -1 in a batch whose last is"),
        (Batch(payload=made.varint(90) + bytes(20)).encode(), "more than the 20 bytes left"),
        (Batch(payload=b"\xff" * 30).encode(), "length is malformed"),
        (Batch(payload=made.varint(20) + b"\0" + b"\xff" * 19).encode(), "varint is too long"),
        (Batch(payload=made.varint(9) + b"\0\0\0\1" + made.varint(80) + bytes(3)).encode(), "beyond its record"),
        (Batch(payload=made.varint(6) + b"\0\0\0\1\1" + made.varint(3)).encode(), "headers is 3, with 0 bytes"),
        (Batch(payload=made.varint(8) + b"\0\0\0\1\1\2\1\1").encode(), "key of a header is null"),
        (Batch(payload=made.varint(8) + b"\0\0\0\1\1\2\4\1").encode(), "header reaches beyond its record"),
        (made.assemble(b"\xff" * 40, attributes=made.SNAPPY), "malformed"),
        (made.assemble(b"\xff\xff\xff\xff\x07" + b"\0" * 40, attributes=made.SNAPPY), "claims to hold 2147483647"),
        (made.assemble(made.xerial(b"")[:16] + b"\x7f\0\0\0", attributes=made.SNAPPY), "block reaches beyond"),
        (made.assemble(made.compress(made.LZ4, bytes(99))[:-5], attributes=made.LZ4), "cut off"),
        (made.assemble(made.compress(made.ZSTD, bytes(99))[:-5], attributes=made.ZSTD), "malformed"),
        (made.assemble(made.compress(made.GZIP, bytes(99))[:-9], attributes=made.GZIP), "malformed"),
        (THREE.encode() + THREE.encode(), "follows a batch that ended at offset 12"),
        (struct.pack(">qiib", 0, 100, 0, 3) + bytes(95), "magic 3"),
        (struct.pack(">qiib", 0, 48, 0, 2) + bytes(95), "length 48 is less than the 49 bytes"),
        (struct.pack(">qiib", -5, 100, 0, 2) + bytes(95), "offset -5 is negative"),
        (Batch(base_offset=(1 << 63) - 2, last_offset_delta=1, records=[]).encode(), "beyond 64 bits"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("headers", [False, True])
def test_what_cannot_be(broken: bytes, reason: str, headers: bool) -> None:
    with pytest.raises(CorruptBatchError, match=reason):
        decode_all(broken, end=(1 << 63) - 1, headers=headers)


def test_a_malformed_marker_of_an_open_transaction() -> None:
    for key in (None, b"\0", struct.pack(">hh", -1, 0)):
        flags = made.CONTROL | made.TRANSACTIONAL
        wrong = Batch([Record(key)], base_offset=2, attributes=flags, producer_id=1).encode()
        with pytest.raises(CorruptBatchError, match="control record"):
            decode_all(transactional(0, 1) + wrong, aborted=[Aborted(1, 0)])
