"""Objects in quarantine are read back as Kafka had their records, in every format that keeps all of one."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from logpersister.formats.base import ObjectIdentity
from logpersister.formats.registry import make_format
from logpersister.records.checksum import PayloadChecksum
from logpersister.replay.source import SourceError, SourceRecords
from logpersister.storage.replays import Source
from logpersister.values.parser import Parsing
from tests.unit.formats.samples import Record, batch, encode, with_headers
from tests.unit.manifest.documents import accepted
from tests.unit.replay.bucket import RANGE

RECORDS = [
    Record(100, 5, b"k\xff", b"{\xff"),
    Record(101, -1, None, b"{"),
    Record(130, 1_790_000_000_123, b"", b""),
    Record(131, 0, b"a", b'{"x": "\\u0000\n\xf0\x9d\x84\x9e"'),
    *(Record(132 + place, place, b"k", b"%d" % place * 40_000) for place in range(10, 20)),
]
HEADERS: list[list[tuple[bytes, bytes | None]]] = [[(b"trace", b"1"), (b"\xff", None)], [], [(b"n", b"\xff")], []]
KAFKA = ["topic", "partition", "offset", "timestamp", "key"]
FORMATS = [
    ("jsonl", "none"),
    ("jsonl", "gzip"),
    ("jsonl", "zstd"),
    ("parquet", "zstd"),
    ("avro", "deflate"),
    ("avro", "zstd"),
    ("avro", "snappy"),
    ("avro", "none"),
    ("orc", "zstd"),
    ("orc", "snappy"),
    ("orc", "zlib"),
    ("orc", "none"),
]


def stored(
    output: dict[str, Any], records: Sequence[Record], *, headers: bool = False
) -> tuple[Source, bytes, pa.Table]:
    """Return an object in quarantine: what it should hold, its bytes, and its records."""
    rows = batch(records)
    if headers:
        rows = with_headers(rows, HEADERS)
    nothing = pa.nulls(len(records), pa.string())
    told = rows.append_column("reason", nothing.fill_null("not_json")).append_column("field", nothing)
    made = make_format(accepted({"spec.output": output}).spec.output, Parsing(type="json"))
    content = encode(made, [told], ObjectIdentity(RANGE, "_quarantine"))
    checksum = PayloadChecksum()
    checksum.update(rows)
    offsets = [record.offset for record in records]
    source = Source(
        "k" + made.extension, RANGE, "id", 1, min(offsets), max(offsets), len(records), checksum.text(), "0"
    )
    return source, content, pa.Table.from_batches([rows])


@pytest.mark.parametrize(("name", "compression"), FORMATS)
@pytest.mark.parametrize("headers", [False, True])
def test_all_of_a_record_comes_back(name: str, compression: str, *, headers: bool) -> None:
    """Bytes that are no text and records without key, time or headers, too, whatever the file is cut into."""
    settings = {"compression": compression, "kafkaColumns": [*KAFKA, *(["headers"] if headers else [])]}
    source, content, expected = stored({name: settings}, RECORDS, headers=headers)
    with SourceRecords.read(source, (piece for piece in [content]), 3) as records:
        assert records.has_headers == headers
        for _ in range(2):
            assert pa.Table.from_batches(list(records.batches())) == expected


SEQUENCES: list[dict[str, Any]] = [
    {"compression": "none"},
    {"compression": "deflate"},
    {"compression": "deflate", "compressionType": "record"},
]


@pytest.mark.parametrize("settings", SEQUENCES)
def test_all_but_headers_comes_back_from_sequencefiles(settings: dict[str, Any]) -> None:
    many = [Record(1 << place, (1 << place) - 1, b"%d" % place * place, b"x" * place) for place in range(7, 40)]
    source, content, expected = stored({"sequencefile": {"key": "messagepack", **settings}}, [*RECORDS[:2], *many])
    with SourceRecords.read(source, (piece for piece in [content]), 3) as records:
        assert not records.has_headers
        for _ in range(2):
            assert pa.Table.from_batches(list(records.batches())) == expected


def test_sequencefiles_of_offsets_are_no_source() -> None:
    source, content, _ = stored({"sequencefile": {}}, RECORDS)
    with (
        pytest.raises(SourceError, match=r"its keys are offsets only .* Set spec\.quarantine\.format to parquet"),
        SourceRecords.read(source, (piece for piece in [content]), 3),
    ):
        pass


@pytest.mark.parametrize("name", ["parquet", "avro", "orc", "jsonl", "sequencefile"])
def test_a_file_that_is_cut_off_or_changed_is_damaged(name: str) -> None:
    """Wherever it is cut, and whatever byte is another one: no other record comes out of it unnoticed."""
    of_kafka = {"key": "messagepack"} if name == "sequencefile" else {"kafkaColumns": KAFKA}
    source, content, expected = stored({name: {"compression": "none", **of_kafka}}, RECORDS[:4])
    unnoticed = 0
    for place in range(0, len(content), 7):
        for damaged in (content[:place], content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]):
            try:
                with SourceRecords.read(source, (piece for piece in [damaged]), 3) as records:
                    found = pa.Table.from_batches(list(records.batches()))
            except SourceError:
                continue
            unnoticed += 1
            assert found.select(["value", "key"]) == expected.select(["value", "key"])
    assert unnoticed < len(content) // 7


def test_orc_keeps_no_time_before_1970_exactly() -> None:
    source, content, _ = stored({"orc": {}}, [Record(100, -1500, b"k", b"{")])
    with (
        SourceRecords.read(source, (piece for piece in [content]), 3) as records,
        pytest.raises(SourceError, match="a record in it is from before 1970, where ORC keeps whole seconds only"),
    ):
        list(records.batches())
