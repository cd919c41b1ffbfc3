"""Records of an object of every format, and of files that lie about lengths."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from logpersister.cli import records
from logpersister.cli.head import line
from logpersister.cli.records import Preview, preview
from logpersister.cli.rows import ShownRecord
from logpersister.formats.base import Format, ObjectIdentity
from logpersister.formats.damage import ContentError
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.revisions.revision import revision_of
from logpersister.pipeline.splitting import by_path
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.storage.peek import Peeked
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from tests.examples import examples
from tests.unit.formats import samples
from tests.unit.formats.samples import IDENTITY, SEQUENCEFILE_FORMATS, TEXT_FORMATS, Record, batch, encode, label
from tests.unit.manifest.documents import accepted
from tests.unit.reader.test_verbatim import DATA

METADATA = {"topic": "clicks", "group": "clicks-backup", "revision": "0123456789ab"}
KEY = "a/raw/clicks/1_0_00000000000000000100.txt"
LINES = [b"one", b"two words", "dr\u00fcben".encode()]
HEADER = b"SEQ\x06\x21org.apache.hadoop.io.LongWritable\x22org.apache.hadoop.io.BytesWritable%b" + bytes(4) + b"m" * 16
PLAIN_HEADER = HEADER % b"\x00\x00"
BLOCK_HEADER = HEADER % b"\x01\x01\x2aorg.apache.hadoop.io.compress.DefaultCodec"


class Bucket:
    """Has one document at most."""

    def __init__(self, documents: dict[str, dict[str, Any]] | None = None, prefix: str = "other") -> None:
        self.prefix = prefix
        self._documents = documents or {}

    def get_json(self, key: str) -> dict[str, Any] | None:
        return self._documents.get(key)


def begin(*pieces: bytes, bucket: Bucket | None = None, metadata: dict[str, str] | None = None) -> Preview:
    store: Any = bucket or Bucket()
    return preview(
        store,
        KEY,
        Peeked(sum(map(len, pieces)), metadata or {}, iter(pieces), lambda begin, end: b"".join(pieces)[begin:end]),
    )


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_lines_of_anybody(compression: str) -> None:
    content = b"\n".join(LINES)  # the last line has no end
    compress: Any = {"none": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}[compression]
    found = begin(compress(content))
    assert (found.format, found.compression) == ("text", compression)
    assert [record.value for record in found.records] == LINES
    assert found.note == "not written by logpersister: read as its first bytes look"


def _no_section(begin: int, end: int) -> bytes:
    raise AssertionError("it is read from its begin to its end")


def written_as(output: dict[str, Any]) -> Bucket:
    """Return a bucket that knows how the object was written."""
    document = revision_of(accepted({"spec.output": output}), "1").document
    return Bucket({"a/raw/_logpersister/clicks-backup/revisions/0123456789ab.json": dict(document)})


@pytest.mark.parametrize("file_format", [*TEXT_FORMATS, *SEQUENCEFILE_FORMATS], ids=label)
@examples(8)
@given(rows=samples.records(), data=st.data())
def test_every_format_that_is_written(file_format: Format, rows: list[Record], data: st.DataObject) -> None:
    written: Any = file_format.settings  # type: ignore[attr-defined]
    is_text = file_format.extension.startswith(".txt")
    settings = {"compression": written.compression}
    if is_text:
        settings |= {"delimiter": written.delimiter, "delimiterInValue": written.delimiter_in_value}
    bucket = written_as({"text" if is_text else "sequencefile": settings})
    content = encode(file_format, [batch(rows)])
    middle = data.draw(st.integers(0, len(content)))
    found = begin(content[:middle], content[middle:], bucket=bucket, metadata=METADATA)
    shown = list(found.records)
    assert found.note == ""
    skips = written.tombstones == "skip"
    values = [row.value or b"" for row in rows if row.value is not None or not skips]
    if is_text and written.delimiter_in_value == "keep":
        values = [part for value in values for part in value.split(b"\n")]
    assert [record.value for record in shown] == values
    if not is_text and written.key == "messagepack":
        kept = [row for row in rows if row.value is not None or not skips]
        assert [(one.offset, one.timestamp, one.key) for one in shown] == [
            (row.offset, row.timestamp, row.key) for row in kept
        ]


def test_record_batches_and_of_these_only_what_is_in_the_range() -> None:
    bucket, metadata = written_as({"kafka": {}}), METADATA | {"start": "1", "end": "5"}
    found = begin(DATA[:50], DATA[50:-80], bucket=bucket, metadata=metadata)
    assert (found.format, found.keeps_offsets, found.keeps_headers) == ("kafka", True, True)
    first = [(one.offset, one.value, one.is_tombstone) for _, one in zip(range(3), found.records, strict=False)]
    assert first == [(1, b"", True), (2, b"2", False), (4, b"value", False)]


def test_no_more_is_read_than_is_needed() -> None:
    asked: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(1000):
            asked.append(number)
            yield b"%d\n" % number * 10

    store: Any = Bucket()
    found = preview(store, KEY, Peeked(10**6, {}, pieces(), _no_section))
    assert [next(found.records).value for _ in range(20)] == [b"0"] * 10 + [b"1"] * 10
    assert asked == [0, 1]


def record(length: int, key_length: int = 8) -> bytes:
    return length.to_bytes(4, "big", signed=True) + key_length.to_bytes(4, "big", signed=True)


@pytest.mark.parametrize(
    "head",
    [
        b"an endless line",
        PLAIN_HEADER + record(2**31 - 1),
        PLAIN_HEADER + record(2**31 - 1, 2**31 - 1),
        PLAIN_HEADER + record(8, -5),
        BLOCK_HEADER + b"\xff" * 4 + b"m" * 16 + b"\x8c\x7f\xff\xff\xff" * 2,
        BLOCK_HEADER + b"\xff" * 4 + b"m" * 16 + b"\x8c\x7f\xff\xff\xff" + b"\x0b" + zlib.compress(b"")[:11],
    ],
)
def test_lengths_are_not_believed(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 4 << 20)
    read = 0

    def section(begin: int, end: int) -> bytes:
        nonlocal read
        read += end - begin
        return b"x" * (end - begin)

    def pieces() -> Iterator[bytes]:
        yield head
        while True:
            yield section(0, 1 << 20)

    store: Any = Bucket()
    with pytest.raises(ContentError):
        list(preview(store, KEY, Peeked(10**12, {}, pieces(), section)).records)
    assert read <= 6 << 20


def test_what_is_compressed_to_almost_nothing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 4 << 20)
    for content in (gzip.compress(bytes(64 << 20)), zstandard.compress(bytes(64 << 20))):
        with pytest.raises(ContentError, match=r"a record in it has more than 4\.0 MiB"):
            list(begin(content).records)
    bomb = zlib.compress(bytes(64 << 20))
    value = PLAIN_HEADER.replace(
        b"\x00\x00" + bytes(4), b"\x01\x00\x2aorg.apache.hadoop.io.compress.DefaultCodec" + bytes(4)
    )
    content = value + record(8 + len(bomb)) + bytes(8) + bomb
    with pytest.raises(ContentError, match="a compressed part of it is not one whole stream, or too large"):
        list(begin(content).records)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (ShownRecord(b"a\x1b[31mred\x07\r"), "a\\x1b[31mred\\x07\\r"),
        (ShownRecord(b"\xff\xfe"), "\\xff\\xfe"),
        (ShownRecord("\u202etxt.exe".encode()), "\\u202etxt.exe"),
        (ShownRecord(b"a\tb", 7), "7\ta\\tb"),
        (ShownRecord(b"v", 7, 1_767_225_600_123, b"k"), "7\t2026-01-01T00:00:00.123Z\tk\tv"),
        (ShownRecord(b"v", 7, 2**63 - 1, None), f"7\t{2**63 - 1}\t\tv"),
    ],
)
def test_a_terminal_obeys_nothing_of_a_record(shown: ShownRecord, expected: str) -> None:
    assert line(shown) == expected


def parquet(schema: bool, values: list[bytes | None], **options: Any) -> bytes:
    spec = RowSchema(fields=(FieldSpec(name="at", type="timestamp[ns]"), FieldSpec(name="raw", type="binary[base64]")))
    records = batch([Record(7 + number, 5, b"k", value) for number, value in enumerate(values)])
    output = OutputSpec.model_validate({"parquet": options})
    layout = TopicLayout.of_one_type(layout_of(output, Parsing(type="json"), spec if schema else AS_THEY_ARE))
    ((path, rows),) = by_path(records, layout)
    identity = ObjectIdentity(IDENTITY.range, path)
    return encode(make_format(output, schema=spec if schema else AS_THEY_ARE), [rows], identity)


@pytest.mark.parametrize("by_revision", [False, True], ids=["magic", "revision"])
@pytest.mark.parametrize(
    ("file_format", "time", "whole", "early"),
    [
        ("avro", "time[ms]", "2026-11-21T05:00:00.000Z", "0001-01-01T00:00:00.000001Z"),
        ("parquet", "time[ms]", "2026-11-21T05:00:00.000Z", "0001-01-01T00:00:00.000001Z"),
        ("orc", "string", "2026-11-21T05:00:00.000000000Z", "1690-01-01T00:00:00.000000000Z"),
    ],
)
def test_rows_are_shown_with_dates_and_instants_as_text(
    file_format: str, time: str, whole: str, early: str, by_revision: bool
) -> None:
    names = ("date", time, "timestamp[s]", "timestamp[us]", "list<map<string, struct<n: decimal(3,1)>>>")
    schema = RowSchema(
        fields=(
            *(FieldSpec(name=f"a{number}", type=name) for number, name in enumerate(names)),
            FieldSpec(name="raw", type="binary[base64]"),
        )
    )
    value = b"""{"a0": "2026-11-21", "a1": "05:00:00.500", "a2": "2026-11-21T05:00:00Z",
        "a3": "EARLY",
        "a4": [{"x": {"n": 1.5}}, null], "raw": "AAE="}""".replace(b"EARLY", early.encode())
    output = OutputSpec.model_validate({file_format: {"kafkaColumns": ["offset", "timestamp", "key"]}})
    records = batch([Record(7, 5, b"k", value), Record(9, -1, None, b"{}")])
    ((_, rows),) = by_path(records, TopicLayout.of_one_type(layout_of(output, Parsing(type="json"), schema)))
    content = encode(make_format(output, schema=schema), [rows])
    written: Any = {"bucket": written_as({file_format: {}}), "metadata": METADATA}
    found = begin(content, **(written if by_revision else {}))
    assert (found.format, found.compression, found.keeps_offsets) == (file_format, "inside", True)
    first, second = found.records
    assert json.loads(first.value) == {
        "a0": "2026-11-21", "a1": "05:00:00.500", "a2": whole, "a3": early,
        "a4": [{"x": {"n": "1.5"}}, None], "raw": "AAE=",
    }  # fmt: skip
    assert (first.offset, first.timestamp, first.key, second.offset) == (7, 5, b"k", 9)
    assert set(json.loads(second.value).values()) == {None}


def test_values_in_parquet_are_shown_as_they_are() -> None:
    found = begin(parquet(False, [b'"a"', b"1"], kafkaColumns=["offset", "timestamp", "key"]))
    assert found.keeps_offsets
    assert list(found.records) == [ShownRecord(b'"a"', 7, 5, b"k"), ShownRecord(b"1", 8, 5, b"k")]
    refused = begin(parquet(True, [b"{", b"[1]"]))
    assert [(one.value, one.offset) for one in refused.records] == [(b"{", 7), (b"[1]", 8)]


@pytest.mark.parametrize("spoil", [lambda content: content[:-5], lambda content: content[:4] + b"x" * 90])
def test_a_damaged_parquet_file_is_told(spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ContentError, match="it is no whole Parquet file"):
        list(begin(spoil(parquet(False, [b"1"] * 100))).records)
