"""Records for the tests of formats: as plain tuples, as batches cut in any way, and how to encode them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from logpersister.formats.avro.write import AvroFormat
from logpersister.formats.base import Encoders, Format, ObjectIdentity
from logpersister.formats.columnar import ColumnarOptions
from logpersister.formats.compression import Compression
from logpersister.formats.jsonl.write import JsonLinesFormat, JsonLinesOptions
from logpersister.formats.orc.write import OrcFormat, OrcOptions
from logpersister.formats.parquet.sorted_groups import SortColumn
from logpersister.formats.parquet.write import ParquetFormat, ParquetOptions
from logpersister.formats.sequencefile.keys import KeyLayout
from logpersister.formats.sequencefile.layout import CompressionType, SequenceFileCompression, SequenceFileOptions
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.formats.text.write import DelimiterInValue, TextFormat, TextOptions
from logpersister.formats.tombstones import Tombstones
from logpersister.ranges import Range, TopicPartition
from logpersister.records.schema import HEADERS, RECORDS, RECORDS_WITH_HEADERS

IDENTITY = ObjectIdentity(Range(TopicPartition("clicks", 3), 100, 5_000_000_000), "dt=2026-11-21")


def columnar(compression: str, kafka_columns: tuple[str, ...], keeps_tombstones: bool) -> dict[str, Any]:
    """Return the settings of all formats with columns."""
    return {"compression": compression, "kafka_columns": kafka_columns, "keeps_tombstones": keeps_tombstones}


TEXT_FORMATS = [
    TextFormat(TextOptions(compression, delimiter, tombstones, in_value))
    for compression in Compression
    for delimiter, tombstones, in_value in (
        (b"\n", Tombstones.SKIP, DelimiterInValue.KEEP),
        (b"\r\n", Tombstones.EMPTY, DelimiterInValue.ESCAPE),
    )
]
SEQUENCEFILE_FORMATS = [
    SequenceFileFormat(SequenceFileOptions(compression, compression_type, key, tombstones))
    for compression, compression_type in (
        (SequenceFileCompression.NONE, CompressionType.BLOCK),
        (SequenceFileCompression.DEFLATE, CompressionType.RECORD),
        (SequenceFileCompression.DEFLATE, CompressionType.BLOCK),
    )
    for key, tombstones in zip(KeyLayout, Tombstones, strict=True)
]
_OPTIONS = ParquetOptions(
    page_bytes=16 << 10, page_index=True, without_dictionary=("kafka_key",), bloom_filters=(("value", 1000),)
)
PARQUET_FORMATS = [
    ParquetFormat(replace(_OPTIONS, row_group_bytes=300_000, kafka_columns=("key",))),
    ParquetFormat(
        replace(
            _OPTIONS,
            row_group_bytes=50_000,
            kafka_columns=("timestamp", "key"),
            sort_by=(SortColumn("kafka_key", nulls_first=True), SortColumn("kafka_timestamp", descending=True)),
        )
    ),
    *(
        ParquetFormat(ParquetOptions(**columnar(*of_all), row_group_bytes=row_group_bytes))
        for row_group_bytes, of_all in (
            (1 << 20, ("zstd", ("topic", "partition", "offset", "timestamp", "key"), True)),
            (500, ("snappy", (), False)),
            (64 << 20, ("gzip", ("offset",), False)),
            (70_000, ("none", ("key",), True)),
        )
    ),
]
JSONL_FORMATS = [
    JsonLinesFormat(JsonLinesOptions(**columnar(*of_all)))
    for of_all in (
        ("gzip", ("topic", "partition", "offset", "timestamp", "key"), True),
        ("none", (), False),
    )
]
AVRO_FORMATS = [
    AvroFormat(ColumnarOptions(**columnar(*of_all)))
    for of_all in (
        ("deflate", ("topic", "partition", "offset", "timestamp", "key"), True),
        ("zstd", (), False),
        ("snappy", ("offset",), False),
        ("none", ("key",), True),
    )
]
ORC_FORMATS = [
    OrcFormat(OrcOptions(**columnar(*of_all), stripe_bytes=stripe_bytes))
    for stripe_bytes, of_all in (
        (1 << 20, ("zstd", ("topic", "partition", "offset", "timestamp", "key"), True)),
        (1000, ("snappy", (), False)),
        (64 << 20, ("zlib", ("offset",), False)),
        (200_000, ("none", ("key", "timestamp"), True)),
    )
]
FORMATS: list[Format] = [
    *TEXT_FORMATS,
    *SEQUENCEFILE_FORMATS,
    *PARQUET_FORMATS,
    *JSONL_FORMATS,
    *AVRO_FORMATS,
    *ORC_FORMATS,
]


class Record(NamedTuple):
    """One record, for people."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def batch(records: Sequence[Record]) -> pa.RecordBatch:
    columns = list(zip(*records, strict=True)) if records else [(), (), (), ()]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RECORDS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RECORDS)


def with_headers(
    records: pa.RecordBatch, headers: Sequence[Sequence[tuple[bytes, bytes | None]]] = ()
) -> pa.RecordBatch:
    """Return the records with these headers, the first ones; all others have none."""
    of_each = [[{"key": key, "value": value} for key, value in some] for some in headers]
    of_each += [[] for _ in range(records.num_rows - len(of_each))]
    return records.append_column(RECORDS_WITH_HEADERS.field("headers"), pa.array(of_each, HEADERS))


def cut(whole: pa.RecordBatch, cuts: Iterable[int]) -> list[pa.RecordBatch]:
    """Cut a batch at any positions; every second piece is a view into the whole, the others are copies of their own."""
    positions = [0, *sorted(min(position, whole.num_rows) for position in cuts), whole.num_rows]
    pieces = [whole.slice(begin, end - begin) for begin, end in pairwise(positions)]
    return [
        piece if index % 2 else piece.take(pa.array(range(len(piece)), pa.int64()))
        for index, piece in enumerate(pieces)
    ]


def encode(file_format: Encoders, batches: Iterable[pa.RecordBatch], identity: ObjectIdentity = IDENTITY) -> bytes:
    encoder = file_format.encoder(identity)
    content = bytearray()
    for each in batches:
        for piece in encoder.encode(each):
            content += memoryview(piece)
    for piece in encoder.finish():
        content += memoryview(piece)
    return bytes(content)


def label(file_format: Format) -> str:
    """Return a name for parametrized tests."""
    assert isinstance(
        file_format, TextFormat | SequenceFileFormat | ParquetFormat | JsonLinesFormat | AvroFormat | OrcFormat
    )
    options = file_format.options
    if isinstance(options, OrcOptions):
        return f"orc-{options.compression}-{options.stripe_bytes}"
    if isinstance(options, JsonLinesOptions):
        return f"jsonl-{options.compression}-{len(options.kafka_columns)}"
    if isinstance(options, ParquetOptions):
        return f"parquet-{options.compression}-{options.row_group_bytes}{'-sorted' * bool(options.sort_by)}"
    if isinstance(options, ColumnarOptions):
        return f"avro-{options.compression}"
    if isinstance(options, TextOptions):
        return f"text-{options.compression}-{options.tombstones}-{options.delimiter_in_value}"
    return f"sequencefile-{options.compression}-{options.compression_type}-{options.key}-{options.tombstones}"


_payload = st.none() | st.binary(max_size=300) | st.sampled_from([b"", b"\n", b"\\", b"\r\n", b"\r", b"x" * 70_000])
_timestamps = (
    st.integers(-(2**63), 2**63 - 1)
    | st.integers(0, 300)
    | st.just(-1)
    | st.integers(1_700_000_000_000, 1_800_000_000_000)
)


@st.composite
def records(draw: st.DrawFn, max_size: int = 30) -> list[Record]:
    """Any records, with gaps between offsets."""
    first = draw(st.sampled_from([0, 120, 250, 65_530, 2**32 - 5, 2**53]))
    rows = draw(st.lists(st.tuples(st.integers(1, 40), _timestamps, _payload, _payload), max_size=max_size))
    offset, result = first, []
    for gap, timestamp, key, value in rows:
        offset += gap
        result.append(Record(offset, timestamp, key, value))
    return result


@cache
def many_records(payload_bytes: int, value_bytes: int = 400, seed: int = 7) -> list[Record]:
    """Records of compressible random values, some null, with about ``payload_bytes`` together."""
    random = np.random.default_rng(seed)
    words = [random.bytes(6) for _ in range(300)]
    result: list[Record] = []
    size, offset = 0, IDENTITY.range.start
    while size < payload_bytes:
        chosen = random.integers(0, len(words), int(random.integers(0, value_bytes // 3)))
        value = None if random.random() < 0.02 else b"".join([words[index] for index in chosen])
        key = None if random.random() < 0.3 else words[int(random.integers(0, len(words)))]
        result.append(Record(offset, 1_763_725_000_000 + offset, key, value))
        size += len(value or b"")
        offset += int(random.integers(1, 4))
    return result
