"""`decode` on batches that Kafka's Java client encoded (java/MakeBatches.java)."""

from pathlib import Path

import pytest

from logpersister.pipeline.reader.decode import decode

HERE = Path(__file__).parent / "java"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_java_wrote(codec: str) -> None:
    decoded = decode((HERE / f"{codec}.batch").read_bytes(), 0, 1 << 62, read_committed=True, headers=True)
    assert decoded.batch.to_pylist() == [
        {
            "offset": 1000 + i,
            "timestamp": 1_700_000_000_000 + i,
            "key": None if i % 3 == 0 else b"key-%d" % i,
            "value": None if i % 5 == 4 else b"value %d of a record that compresses " % i * (1 + i),
            "headers": [{"key": b"h", "value": b"%d" % i}, {"key": b"n", "value": None}] if i % 4 == 0 else [],
        }
        for i in range(20)
    ]
    assert (decoded.next_offset, decoded.cut_off_bytes) == (1020, None)
