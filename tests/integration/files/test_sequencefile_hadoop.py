"""Hadoop itself, the one inside Spark, reads our SequenceFiles: every record, byte for byte, in every layout."""

from pathlib import Path
from typing import Any

import pytest
from pyspark import RDD, SparkContext
from pyspark.sql import SparkSession

from logpersister.formats.base import ObjectIdentity
from logpersister.formats.sequencefile.settings import SequenceFileSpec
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.ranges import Range, TopicPartition
from tests.readers.messagepack import decode_map
from tests.unit.formats.samples import Record, batch, cut, encode, many_records

LONG_WRITABLE = "org.apache.hadoop.io.LongWritable"
BYTES_WRITABLE = "org.apache.hadoop.io.BytesWritable"
LEAST_SPLIT_BYTES = 100 * 1024
"""Hadoop makes no smaller splits of SequenceFiles, whatever it is told."""

FORMATS = [
    SequenceFileFormat(
        SequenceFileSpec.model_validate({"compression": compression, "compression_type": unit, "key": key})
    )
    for compression, unit in (("none", "block"), ("deflate", "record"), ("deflate", "block"))
    for key in ("longwritable", "messagepack")
]

FEW = [
    Record(7, 1_763_725_000_000, b"key", b"value"),
    Record(8, -1, None, b""),
    Record(300, 0, b"", None),
    Record(70_000, 2**40, bytes(range(256)), bytes(range(256)) * 3),
    Record(2**33, -(2**33), b"k" * 70_000, b"\xff" * 300),
]
"""Every class of integers, of keys, and of values."""

MANY = [
    *many_records(3_000_000),
    Record(50_000_000, 1, None, bytes(range(256)) * (2 * 4096)),  # 2 MiB
    Record(50_000_001, 1, b"after", b"the large one"),
    *(record._replace(offset=record.offset + 60_000_000) for record in many_records(1_500_000, seed=8)),
]

Expected = list[tuple[Any, bytes]]


def _label(file_format: SequenceFileFormat) -> str:
    settings = file_format.settings
    return f"{settings.key}-{settings.compression}" + (f"-{settings.compression_type}" if settings.compressed else "")


@pytest.fixture
def spark(spark: SparkSession) -> SparkContext:
    return spark.sparkContext


@pytest.fixture(params=FORMATS, ids=_label)
def file_format(request: pytest.FixtureRequest) -> SequenceFileFormat:
    chosen: SequenceFileFormat = request.param
    return chosen


def _write(directory: Path, file_format: SequenceFileFormat, rows: list[Record]) -> str:
    """Write a file as the pipeline does, from batches of uneven sizes."""
    start = rows[0].offset
    identity = ObjectIdentity(Range(TopicPartition("clicks", 0), start, rows[-1].offset + 1), "")
    path = directory / f"1_0_{start:020}{file_format.extension}"
    path.write_bytes(encode(file_format, cut(batch(rows), [1, 2, 1000, 1001, 5000]), identity))
    return path.as_uri()


def _path(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


def _expected(file_format: SequenceFileFormat, rows: list[Record]) -> Expected:
    return [(_expected_key(file_format, row), row.value or b"") for row in rows]


def _expected_key(file_format: SequenceFileFormat, row: Record) -> Any:
    if file_format.settings.key == "longwritable":
        return row.offset
    return [(1, row.offset), (3, row.timestamp), *([] if row.key is None else [(2, row.key)])]


def _decoded(pairs: list[tuple[Any, Any]]) -> Expected:
    return [
        (key if isinstance(key, int) else list(decode_map(bytes(key)).items()), bytes(value)) for key, value in pairs
    ]


def _classes(file_format: SequenceFileFormat) -> tuple[str, str]:
    keys = {"longwritable": LONG_WRITABLE, "messagepack": BYTES_WRITABLE}
    return keys[file_format.settings.key], BYTES_WRITABLE


def test_split_reads_give_every_record_once(
    spark: SparkContext, tmp_path: Path, file_format: SequenceFileFormat
) -> None:
    """Each split begins to read at the first sync marker inside it; a whole file says of which classes it is."""
    read: RDD[Any] = spark.sequenceFile(_write(tmp_path, file_format, FEW))
    assert _decoded(read.collect()) == _expected(file_format, FEW)
    splits = 60
    uri = _write(tmp_path, file_format, MANY)
    records: RDD[Any] = spark.sequenceFile(uri, *_classes(file_format), minSplits=splits)
    most = _path(uri).stat().st_size // LEAST_SPLIT_BYTES
    assert min(splits, most) <= records.getNumPartitions()
    by_split: list[list[Any]] = records.glom().collect()
    assert _decoded([pair for split in by_split for pair in split]) == _expected(file_format, MANY)
    assert sum(1 for split in by_split if split) > 1


@pytest.mark.parametrize("split_bytes", [10, 150])
def test_splits_of_any_size(
    spark: SparkContext, tmp_path: Path, file_format: SequenceFileFormat, split_bytes: int
) -> None:
    """Splits that lie within the file's header, a sync marker or a record; asked of Hadoop's record reader directly."""
    rows = [row._replace(key=row.key and row.key[:9]) for row in FEW]
    uri = _write(tmp_path, file_format, rows)
    java: Any = spark._jvm
    hadoop = java.org.apache.hadoop
    context = hadoop.mapreduce.task.TaskAttemptContextImpl(
        spark._jsc.hadoopConfiguration(), hadoop.mapreduce.TaskAttemptID()
    )
    pairs: list[tuple[Any, Any]] = []
    size = _path(uri).stat().st_size
    for start in range(0, size, split_bytes):
        length = min(split_bytes, size - start)
        split = hadoop.mapreduce.lib.input.FileSplit(hadoop.fs.Path(uri), start, length, None)
        reader = hadoop.mapreduce.lib.input.SequenceFileRecordReader()
        reader.initialize(split, context)
        while reader.nextKeyValue():
            key = reader.getCurrentKey()
            long_key = file_format.settings.key == "longwritable"
            pairs.append((key.get() if long_key else key.copyBytes(), reader.getCurrentValue().copyBytes()))
        reader.close()
    assert _decoded(pairs) == _expected(file_format, rows)
