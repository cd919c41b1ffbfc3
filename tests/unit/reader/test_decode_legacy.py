"""Record batches of magic 0 and 1, alone and between newer ones."""

import gzip
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.reader.decode import Aborted, CorruptBatchError
from tests.examples import examples
from tests.unit.reader import record_batches as made
from tests.unit.reader.record_batches import Batch, Record
from tests.unit.reader.test_decode import decode_all

MESSAGES = [(1000, b"a", b"1"), (1001, None, b"2"), (1002, b"c", None), (1003, b"", b"")]


def message(offset: int, value: bytes | None, *, magic: int = 1, attributes: int = 0, timestamp: int = 7) -> bytes:
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    body += struct.pack(">i", -1)
    body += struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapped(codec: int, last_offset: int, inner: bytes, *, magic: int = 1, **options: int) -> bytes:
    attributes = options.pop("attributes", 0) | codec
    return message(last_offset, made.compress(codec, inner), magic=magic, attributes=attributes, **options)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [made.NONE, made.GZIP])
def test_built_by_kafka_python(magic: int, codec: int) -> None:
    decoded = decode_all(made.legacy(magic, codec, 0, MESSAGES), headers=True)
    assert decoded.batch.to_pydict() == {
        "offset": [0, 1, 2, 3],
        "timestamp": [-1] * 4 if magic == 0 else [1000, 1001, 1002, 1003],
        "key": [b"a", None, b"c", b""],
        "value": [b"1", b"2", None, b""],
        "headers": [[], [], [], []],
    }
    assert (decoded.next_offset, decoded.cut_off_bytes) == (4, None)


@pytest.mark.parametrize("codec", [made.GZIP, made.SNAPPY, made.LZ4])
def test_offsets_inside_a_wrapper_of_magic_1_are_relative(codec: int) -> None:
    inner = b"".join(message(i, str(i).encode()) for i in range(3))
    decoded = decode_all(wrapped(codec, 502, inner))
    assert decoded.batch["offset"].to_pylist() == [500, 501, 502]
    assert decoded.batch["value"].to_pylist() == [b"0", b"1", b"2"]
    assert decoded.next_offset == 503


def test_old_lz4_frames_with_a_wrong_header_checksum() -> None:
    inner = message(8, b"x", magic=0)
    frame = bytearray(made.compress(made.LZ4, inner))
    frame[6] ^= 0xFF
    decoded = decode_all(message(8, bytes(frame), magic=0, attributes=made.LZ4))
    assert decoded.batch["value"].to_pylist() == [b"x"]


def test_log_append_time_is_that_of_the_wrapper() -> None:
    inner = message(0, b"x", timestamp=1) + message(1, b"y", timestamp=2)
    decoded = decode_all(wrapped(made.GZIP, 1, inner, attributes=made.LOG_APPEND_TIME, timestamp=99))
    assert decoded.batch["timestamp"].to_pylist() == [99, 99]


def test_mixed_with_newer_batches_in_their_order() -> None:
    flags = made.TRANSACTIONAL
    data = b"".join(
        [
            message(0, b"v0", magic=0),
            message(1, b"v1"),
            Batch([Record(value=b"aborted")], base_offset=2, attributes=flags, producer_id=5).encode(),
            wrapped(made.SNAPPY, 4, message(0, b"s0") + message(1, b"s1")),
            Batch([Record(value=b"aborted")], base_offset=5, attributes=flags, producer_id=5).encode(),
            made.marker(6, 5, abort=True),
            Batch([Record(value=b"v2")], base_offset=7, attributes=flags, producer_id=5).encode(),
            message(8, b"last"),
        ]
    )
    aborted = [Aborted(5, 2)]
    decoded = decode_all(data, aborted=aborted)
    assert decoded.batch["value"].to_pylist() == [b"v0", b"v1", b"s0", b"s1", b"v2", b"last"]
    assert decoded.batch["offset"].to_pylist() == [0, 1, 3, 4, 7, 8]
    assert (decoded.next_offset, decoded.record_batches) == (9, 8)
    part = decode_all(data, aborted=aborted, start=4, end=8)
    assert part.batch["offset"].to_pylist() == [4, 7]
    assert part.next_offset == 8


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (message(3, b"x")[:-1] + b"y", "CRC-32 is wrong"),
        (wrapped(made.GZIP, 3, message(0, b"x")[:-1] + b"y"), "CRC-32 of a message inside"),
        (wrapped(made.GZIP, 3, message(0, b"x")[:-1]), "cut off"),
        (wrapped(made.GZIP, 3, struct.pack(">qiIbb", 0, -12, 0, 1, 0) + bytes(30)), "length -12"),
        (wrapped(made.GZIP, 3, message(0, b"x", magic=0)), "magic 0"),
        (wrapped(made.GZIP, 1, message(0, b"x", attributes=made.GZIP) + message(1, b"y")), "double-compressed"),
        (wrapped(made.GZIP, 0, message(5, b"x") + message(9, b"x")), "holds the offsets 5 to 9 and says that 0"),
        (message(3, None, attributes=made.GZIP), "value of a compressed message is null"),
        (message(3, gzip.compress(bytes(2_000_000), mtime=0), attributes=made.GZIP), "more than 1000000 bytes"),
    ],
)
def test_what_cannot_be(broken: bytes, reason: str) -> None:
    with pytest.raises(CorruptBatchError, match=reason):
        decode_all(broken, max_batch_bytes=1_000_000)


@examples(150)
@given(st.sampled_from([0, 1]), st.sampled_from([made.NONE, made.GZIP, made.SNAPPY, made.LZ4]), st.data())
def test_changed_bytes_give_rows_or_an_error(magic: int, codec: int, data: st.DataObject) -> None:
    inner = bytearray(b"".join(message(i, b"value", magic=magic) for i in range(3)))
    for _ in range(data.draw(st.integers(1, 3))):
        inner[data.draw(st.integers(0, len(inner) - 1))] = data.draw(st.integers(0, 255))
    response = bytes(inner) if codec == made.NONE else wrapped(codec, 2, bytes(inner), magic=magic)
    try:
        decoded = decode_all(response)
    except CorruptBatchError:
        return
    decoded.batch.validate(full=True)
