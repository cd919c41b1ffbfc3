"""Format sequencefile, read by a reader of our own (tests/integration has Hadoop's)."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.base import ObjectIdentity, sync_marker
from logpersister.formats.sequencefile.blocks import BLOCK_BYTES
from logpersister.formats.sequencefile.records import SYNC_INTERVAL
from logpersister.formats.sequencefile.settings import SequenceFileSpec
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.ranges import Range, TopicPartition
from tests.examples import examples
from tests.readers import sequencefile
from tests.readers.messagepack import decode_map
from tests.unit.formats.samples import (
    IDENTITY,
    SEQUENCEFILE_FORMATS,
    Record,
    batch,
    cut,
    encode,
    label,
    many_records,
    records,
)


def _expected(settings: SequenceFileSpec, rows: list[Record]) -> tuple[list[object], list[bytes]]:
    kept = [row for row in rows if settings.tombstones == "empty" or row.value is not None]
    keys: list[object] = []
    for row in kept:
        entries: dict[int, int | bytes] = {1: row.offset, 3: row.timestamp}
        if row.key is not None:
            entries[2] = row.key
        keys.append(row.offset if settings.key == "longwritable" else list(entries.items()))
    return keys, [row.value or b"" for row in kept]


def _found(file: sequencefile.SequenceFile) -> tuple[list[object], list[bytes]]:
    return [list(decode_map(key).items()) if isinstance(key, bytes) else key for key in file.keys], file.values


@pytest.mark.parametrize("file_format", SEQUENCEFILE_FORMATS, ids=label)
@examples(30)
@given(rows=records(), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_every_record(file_format: SequenceFileFormat, rows: list[Record], cuts: list[int]) -> None:
    file = sequencefile.read(encode(file_format, cut(batch(rows), cuts)))
    assert _found(file) == _expected(file_format.settings, rows)


@pytest.mark.parametrize("file_format", SEQUENCEFILE_FORMATS, ids=label)
def test_large_content(file_format: SequenceFileFormat) -> None:
    rows = [*many_records(2_500_000), Record(9_999_999, -1, bytes(70_000), bytes(3_000_000))]
    rows.append(Record(10_000_000, -1, b"", b"after it"))
    file = sequencefile.read(encode(file_format, [batch(rows)]))
    assert _found(file) == _expected(file_format.settings, rows)
    assert file.metadata == {}
    if file_format.settings.block_compressed:
        assert file.sync_positions[0] == file.header_bytes
        assert len(file.sync_positions) == len(file.block_rows) >= 2_500_000 // BLOCK_BYTES
    else:
        gaps = [after - before for before, after in zip(file.sync_positions, file.sync_positions[1:], strict=False)]
        ordinary = [gap for gap in gaps if gap < 500_000]
        assert len(gaps) - len(ordinary) <= 1
        assert max(ordinary) < SYNC_INTERVAL + 80_000
        if not file_format.settings.compressed:
            assert len(file.sync_positions) >= 2_500_000 // SYNC_INTERVAL


def test_byte_by_byte() -> None:
    """Each byte accounted for, once."""
    rows = [Record(300, 1_763_725_000_000, b"k", b"value"), Record(301, -1, None, None)]
    content = encode(SequenceFileFormat(SequenceFileSpec(compression="none", key="messagepack")), [batch(rows)])
    marker = sync_marker(IDENTITY, b"lp-sequencefile")
    first_key = b"\x83\x01\xcd\x01\x2c\x03\xcf" + struct.pack(">Q", 1_763_725_000_000) + b"\x02\xc4\x01k"
    second_key = b"\x82\x01\xcd\x01\x2d\x03\xff"
    assert content == b"".join(
        [
            b"SEQ\x06",
            b"\x22org.apache.hadoop.io.BytesWritable",
            b"\x22org.apache.hadoop.io.BytesWritable",
            b"\x00\x00",
            b"\x00\x00\x00\x00",
            marker,
            struct.pack(">iii", 4 + 19 + 4 + 5, 4 + 19, 19) + first_key + b"\x00\x00\x00\x05value",
            struct.pack(">iii", 4 + 7 + 4, 4 + 7, 7) + second_key + b"\x00\x00\x00\x00",
        ]
    )


def test_the_sync_marker_names_the_object() -> None:
    def marker(topic: str, partition: int, start: int, path: str) -> bytes:
        identity = ObjectIdentity(Range(TopicPartition(topic, partition), start, 10_000), path)
        return sync_marker(identity, b"lp-sequencefile")

    markers = {
        marker("clicks", 1, 11, ""),
        marker("clicks", 11, 1, ""),
        marker("clicks", 1, 1, ""),
        marker("clicks1", 1, 1, ""),
        marker("clicks", 1, 1, "dt=2026-11-21"),
    }
    assert len(markers) == 5
    assert {len(each) for each in markers} == {16}
    assert marker("clicks", 1, 11, "") == bytes.fromhex("5f3cb888a0f9ee43dc2445b92232b3b3")
