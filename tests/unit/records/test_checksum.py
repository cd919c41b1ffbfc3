"""The checksum of payloads: the same however the records are cut, another for other records."""

import struct
import zlib
from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from logpersister.records.checksum import PayloadChecksum
from logpersister.records.schema import RECORDS
from tests.examples import examples
from tests.unit.records.batches import batch_of

SETTINGS = examples(50)
payloads = st.one_of(st.none(), st.binary(max_size=20))
records = st.lists(st.tuples(payloads, payloads), max_size=20)
Records = list[tuple[bytes | None, bytes | None]]


def batch(rows: Records) -> pa.RecordBatch:
    return batch_of([0] * len(rows), keys=[key for key, _ in rows], values=[value for _, value in rows])


def checksum(*batches: pa.RecordBatch) -> str:
    running = PayloadChecksum()
    for item in batches:
        running.update(item)
    return running.text()


def reference(rows: Records) -> str:
    texts = []
    for column in (1, 0):
        column_payloads = [row[column] for row in rows]
        texts.append(f"{zlib.crc32(b''.join(payload or b'' for payload in column_payloads)):08x}")
        lengths = (-1 if payload is None else len(payload) for payload in column_payloads)
        texts.append(f"{zlib.crc32(b''.join(struct.pack('<i', length) for length in lengths)):08x}")
    return "crc32:" + "-".join(texts)


@SETTINGS
@given(records)
def test_it_is_the_crc_of_bytes_and_lengths(rows: Records) -> None:
    assert checksum(batch(rows)) == reference(rows)


@SETTINGS
@given(records, st.lists(st.integers(0, 20), max_size=4))
def test_it_does_not_depend_on_how_records_are_cut(rows: Records, cuts: list[int]) -> None:
    bounds = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    parts = [batch(rows[begin:end]) for begin, end in pairwise(bounds)]
    slices = [batch(rows).slice(begin, end - begin) for begin, end in pairwise(bounds)]
    assert checksum(*parts) == checksum(*slices) == checksum(batch(rows))


def test_garbage_behind_a_null_does_not_count() -> None:
    offsets = pa.array([0, 1, 4, 6], pa.int32()).buffers()[1]
    assert offsets is not None
    valid = pa.py_buffer(bytes([0b101]))
    value = pa.Array.from_buffers(pa.binary(), 3, [valid, offsets, pa.py_buffer(b"aXYZbc")])
    clean = pa.array([b"a", None, b"bc"], pa.binary())
    one, other = (
        pa.RecordBatch.from_arrays(
            [pa.array([0, 1, 2]), pa.array([0, 0, 0]), pa.nulls(3, pa.binary()), column], schema=RECORDS
        )
        for column in (value, clean)
    )
    assert checksum(one) == checksum(other)
    assert checksum(one.slice(1)) == checksum(other.slice(1))
