"""Records for the tests of formats: as plain tuples, as batches cut in any way, and how to encode them."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from logpersister.formats.archive.settings import USUAL_NAME, ArchiveSpec
from logpersister.formats.archive.write import ArchiveFormat
from logpersister.formats.avro.settings import AvroFileSpec
from logpersister.formats.avro.write import AvroFormat
from logpersister.formats.base import Encoders, Format, ObjectIdentity
from logpersister.formats.compression import Compression
from logpersister.formats.jsonl.settings import JsonLinesSpec
from logpersister.formats.jsonl.write import JsonLinesFormat
from logpersister.formats.orc.settings import OrcSpec
from logpersister.formats.orc.write import OrcFormat
from logpersister.formats.parquet.settings import BloomFilterSpec, ParquetSpec, SortColumnSpec
from logpersister.formats.parquet.write import ParquetFormat
from logpersister.formats.sequencefile.settings import SequenceFileSpec
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.formats.text.settings import TextSpec
from logpersister.formats.text.write import TextFormat
from logpersister.forms.constraint import Model
from logpersister.ranges import Range, TopicPartition
from logpersister.records.schema import HEADERS, RECORDS, RECORDS_WITH_HEADERS

Settings = TypeVar("Settings", bound=Model)
IDENTITY = ObjectIdentity(Range(TopicPartition("clicks", 3), 100, 5_000_000_000), "dt=2026-11-21")


def settings_of(default: Settings, **values: Any) -> Settings:
    """Return settings with other values, also such as the manifest does not allow."""
    return default.model_copy(update=values)


def columnar(compression: str, kafka_columns: tuple[str, ...], tombstones: str) -> dict[str, Any]:
    """Return the settings of all formats with columns."""
    return {"compression": compression, "kafka_columns": kafka_columns, "tombstones": tombstones}


def sorted_by(field: str, descending: bool = False, nulls_first: bool = False) -> SortColumnSpec:
    """Return a column to sort by, of any name."""
    order, nulls = "descending" if descending else "ascending", "first" if nulls_first else "last"
    return SortColumnSpec.model_construct(field=field, order=order, nulls=nulls)  # type: ignore[arg-type]


TEXT_FORMATS = [
    TextFormat(settings_of(TextSpec(), compression=compression, delimiter=delimiter, tombstones=tombstones, **in_value))
    for compression in get_args(Compression)
    for delimiter, tombstones, in_value in (("\n", "skip", {}), ("\r\n", "empty", {"delimiter_in_value": "escape"}))
]
SEQUENCEFILE_FORMATS = [
    SequenceFileFormat(
        settings_of(SequenceFileSpec(), compression=compression, compression_type=unit, key=key, tombstones=tombstones)
    )
    for compression, unit in (("none", "block"), ("deflate", "record"), ("deflate", "block"))
    for key, tombstones in (("longwritable", "skip"), ("messagepack", "empty"))
]
_PARQUET = ParquetSpec(
    page_bytes=16 << 10,
    page_index=True,
    without_dictionary=("kafka_key",),
    bloom_filters=(BloomFilterSpec(field="value", distinct=1000),),
)
ALL = ("topic", "partition", "offset", "timestamp", "key")
PARQUET_FORMATS = [
    ParquetFormat(settings_of(_PARQUET, row_group_bytes=300_000, kafka_columns=("key",))),
    ParquetFormat(
        settings_of(
            _PARQUET,
            row_group_bytes=50_000,
            kafka_columns=("timestamp", "key"),
            sort_by=(sorted_by("kafka_key", nulls_first=True), sorted_by("kafka_timestamp", descending=True)),
        )
    ),
    *(
        ParquetFormat(settings_of(ParquetSpec(), **columnar(*of_all), row_group_bytes=row_group_bytes))
        for row_group_bytes, of_all in (
            (1 << 20, ("zstd", ALL, "null")),
            (500, ("snappy", (), "skip")),
            (64 << 20, ("gzip", ("offset",), "skip")),
            (70_000, ("none", ("key",), "null")),
        )
    ),
]
JSONL_FORMATS = [
    JsonLinesFormat(settings_of(JsonLinesSpec(), **columnar(*of_all)))
    for of_all in (("gzip", ALL, "null"), ("none", (), "skip"))
]
AVRO_FORMATS = [
    AvroFormat(settings_of(AvroFileSpec(), **columnar(*of_all)))
    for of_all in (
        ("deflate", ALL, "null"),
        ("zstd", (), "skip"),
        ("snappy", ("offset",), "skip"),
        ("none", ("key",), "null"),
    )
]
ORC_FORMATS = [
    OrcFormat(settings_of(OrcSpec(), **columnar(*of_all), stripe_bytes=stripe_bytes))
    for stripe_bytes, of_all in (
        (1 << 20, ("zstd", ALL, "null")),
        (1000, ("snappy", (), "skip")),
        (64 << 20, ("zlib", ("offset",), "skip")),
        (200_000, ("none", ("key", "timestamp"), "null")),
    )
]
ARCHIVE_FORMATS = [
    ArchiveFormat(ArchiveSpec(compression=compression)) for compression in ("gzip", "zstd", "xz", "none")
]
FORMATS: list[Format] = [
    *TEXT_FORMATS,
    *SEQUENCEFILE_FORMATS,
    *PARQUET_FORMATS,
    *JSONL_FORMATS,
    *AVRO_FORMATS,
    *ORC_FORMATS,
    *ARCHIVE_FORMATS,
    ArchiveFormat(ArchiveSpec(compression="none", file_name="{hash}{postfix}.{time}-{feed}")),
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


def label(file_format: Format) -> str:  # noqa: PLR0911  (one for each format)
    """Return a name for parametrized tests."""
    assert isinstance(
        file_format,
        TextFormat | SequenceFileFormat | ParquetFormat | JsonLinesFormat | AvroFormat | OrcFormat | ArchiveFormat,
    )
    match file_format.settings:
        case ArchiveSpec() as found:
            return f"archive-{found.compression}{'-named' * (found.file_name != USUAL_NAME)}"
        case OrcSpec() as found:
            return f"orc-{found.compression}-{found.stripe_bytes}"
        case JsonLinesSpec() as found:
            return f"jsonl-{found.compression}-{len(found.kafka_columns or ())}"
        case ParquetSpec() as found:
            return f"parquet-{found.compression}-{found.row_group_bytes}{'-sorted' * bool(found.sort_by)}"
        case AvroFileSpec() as found:
            return f"avro-{found.compression}"
        case TextSpec() as found:
            return f"text-{found.compression}-{found.tombstones}-{found.delimiter_in_value}"
        case SequenceFileSpec() as found:
            return f"sequencefile-{found.compression}-{found.compression_type}-{found.key}-{found.tombstones}"


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
