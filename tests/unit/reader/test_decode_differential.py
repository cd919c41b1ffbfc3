"""`decode` against kafka-python's own decoder, on batches that kafka-python built."""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from logpersister.pipeline.reader.decode import decode
from tests.examples import examples
from tests.unit.reader import record_batches as made

Row = dict[str, Any]
blobs = st.binary(max_size=12) | st.binary(min_size=60, max_size=70) | st.just(b"repeated " * 40)
header_keys = st.text(max_size=5)
records = st.tuples(
    st.integers(min_value=0, max_value=1 << 42),
    st.none() | blobs,
    st.none() | blobs,
    st.lists(st.tuples(header_keys, st.none() | st.binary(max_size=5)), max_size=3),
)


def rows(data: bytes) -> Iterator[Row]:
    """What kafka-python reads, control batches left out."""
    for batch in MemoryRecords(data):
        if not batch.is_control_batch:
            for record in batch:
                headers = [{"key": key.encode(), "value": value} for key, value in record.headers]
                yield {
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    "key": record.key,
                    "value": record.value,
                    "headers": headers,
                }


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """A run of uncompressed batches, with gaps inside and between them."""
    run, offset = b"", draw(st.integers(min_value=0, max_value=1 << 40))
    for contents in draw(st.lists(st.lists(records, min_size=1, max_size=8), min_size=1, max_size=5)):
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20, offset=0)
        for record in contents:
            builder.append(*record)
            builder.skip(draw(st.sampled_from([0, 0, 0, 1, 100])))
        builder.close()
        batch = bytes(builder.buffer())
        # The builder leaves the base offset to the broker.
        run += struct.pack(">q", offset) + batch[8:]
        offset += builder.next_offset() + draw(st.sampled_from([0, 0, 5]))
    return run


def recompressed(run: bytes, codecs: Sequence[int]) -> bytes:
    """The same batches, compressed by the codecs in turn."""
    result, position, index = b"", 0, 0
    while position < len(run):
        (length,) = struct.unpack_from(">i", run, position + 8)
        result += made.recompress(run[position : position + 12 + length], codecs[index % len(codecs)])
        position, index = position + 12 + length, index + 1
    return result


@pytest.mark.slow
@examples(80)
@given(batches(), st.lists(st.sampled_from(made.CODECS), min_size=1, max_size=3), st.data())
def test_the_same_rows_as_kafka_python(run: bytes, codecs: list[int], data: st.DataObject) -> None:
    expected = list(rows(run))
    first, last = expected[0]["offset"], expected[-1]["offset"]
    start = data.draw(st.integers(min_value=max(0, first - 2), max_value=last + 2))
    end = data.draw(st.integers(min_value=start + 1, max_value=last + 4))
    response = recompressed(run, codecs)

    decoded = decode(response, start, end, read_committed=True, headers=True)

    assert decoded.batch.to_pylist() == [row for row in expected if start <= row["offset"] < end]
    assert decoded.next_offset >= min(end, last + 1)
    decoded.batch.validate(full=True)
    without = decode(response, start, end, read_committed=True, headers=False)
    assert without.batch.equals(decoded.batch.select(["offset", "timestamp", "key", "value"]))


@pytest.mark.slow
@examples(50)
@given(batches(), st.sampled_from(made.CODECS), st.data())
def test_a_cut_anywhere_loses_only_whole_batches_behind_it(run: bytes, codec: int, data: st.DataObject) -> None:
    response = recompressed(run, [codec])
    cut = data.draw(st.integers(min_value=0, max_value=len(response)))
    part = decode(response[:cut], 0, 1 << 62, read_committed=False, headers=False)
    rest = decode(response, part.next_offset, 1 << 62, read_committed=False, headers=False)
    whole = decode(response, 0, 1 << 62, read_committed=False, headers=False)
    assert part.batch.to_pylist() + rest.batch.to_pylist() == whole.batch.to_pylist()
    assert part.bytes_used <= cut
    assert (part.cut_off_bytes is None) == (part.bytes_used == cut)
