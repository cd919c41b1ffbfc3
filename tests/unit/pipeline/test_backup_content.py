"""Records of a backup come back as Kafka gave them, in every format that has a place for them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.backup.ranges import BackupObject, Piece
from logpersister.formats.base import Format
from logpersister.formats.damage import ContentError
from logpersister.formats.jsonl.settings import JsonLinesSpec
from logpersister.formats.jsonl.write import JsonLinesFormat
from logpersister.formats.sequencefile.settings import SequenceFileSpec
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.formats.text.settings import TextSpec
from logpersister.formats.text.write import TextFormat
from logpersister.pipeline.backup_content import records_of
from logpersister.pipeline.summary import Summary
from logpersister.ranges import Range
from logpersister.records.schema import RECORDS, RECORDS_WITH_HEADERS
from tests.examples import examples
from tests.unit.formats.samples import IDENTITY, Record, batch, cut, encode, label, records, settings_of, with_headers
from tests.unit.reader.test_verbatim import in_pieces

ESCAPED = TextSpec.model_validate({"delimiter": "--", "delimiterInValue": "escape"})
JSONL: list[Format] = [
    JsonLinesFormat(settings_of(JsonLinesSpec(), compression=compression, tombstones="null", kafka_columns=columns))
    for compression, columns in (
        ("gzip", ("topic", "partition", "offset", "timestamp", "key", "headers")),
        ("none", ("headers", "key", "offset", "timestamp")),
        ("zstd", ("offset", "timestamp", "key", "headers")),
    )
]
SEQUENCES: list[Format] = [
    SequenceFileFormat(settings_of(SequenceFileSpec(), key=key, compression=compression, compression_type=unit))
    for key in ("messagepack", "longwritable")
    for compression, unit in (("none", "block"), ("deflate", "record"), ("deflate", "block"))
]
TEXTS: list[Format] = [
    TextFormat(settings_of(ESCAPED, compression=compression)) for compression in ("none", "gzip", "zstd")
]
SECONDS = st.integers(0, 253_402_300_799_999) | st.just(-1)
"""Times that a JSON line has as text: years of four digits."""


def stored(kept: Format, rows: pa.RecordBatch) -> tuple[BackupObject, bytes]:
    """Return an object as members write it, and its bytes."""
    summary = Summary()
    summary.update(rows)
    facts = summary.facts()
    first, last = int(facts["first"]), int(facts["last"])
    range_ = Range(IDENTITY.range.partition, max(0, first - 2), last + 3)
    key = f"raw/clicks/1_3_{range_.start:020}{kept.extension}"
    found = BackupObject(key, range_, 1, rows.num_rows, first, last, facts["checksum"])
    return found, encode(kept, [rows], replace(IDENTITY, path=""))


def read(
    kept: BackupObject, content: bytes, within: Range | None = None, size: int = 1000, *, headers: bool = False
) -> pa.Table:
    piece = Piece(within or kept.range, kept)
    found = records_of(piece, in_pieces(content, size), ESCAPED, headers=headers)
    return pa.Table.from_batches(found, RECORDS_WITH_HEADERS if headers else RECORDS)


def of_values(record: Record, offset: int | None = None) -> Record:
    return Record(record.offset if offset is None else offset, -1, None, record.value or b"")


@pytest.mark.parametrize("kept", [*JSONL, *SEQUENCES, *TEXTS], ids=label)
@examples(60)
@given(st.data())
def test_records_come_back_as_they_were(kept: Format, data: st.DataObject) -> None:
    rows = data.draw(records().filter(bool))
    if isinstance(kept, JsonLinesFormat):
        rows = [one._replace(timestamp=data.draw(SECONDS)) for one in rows]
    elif "messagepack" in label(kept):
        rows = [one._replace(value=one.value or b"") for one in rows]  # facts tell of null values (backup.kept)
    elif isinstance(kept, TextFormat):
        rows = [of_values(one, rows[0].offset + place) for place, one in zip(count(), rows)]
    else:
        rows = [of_values(one) for one in rows]
    expected = with_headers(
        batch(rows), [[(b"a", None), (b"\xff", b"\xfe\n")]] if isinstance(kept, JsonLinesFormat) else []
    )
    made, content = stored(kept, expected)
    begin = data.draw(st.integers(made.range.start, made.range.end - 1))
    within = Range(made.range.partition, begin, data.draw(st.integers(begin + 1, made.range.end)))
    wanted = [place for place, one in enumerate(rows) if within.start <= one.offset < within.end]
    size = data.draw(st.sampled_from([1, 7, 100_000]))
    assert read(made, content, within, size, headers=True) == pa.Table.from_batches(
        [expected.take(pa.array(wanted, pa.int64()))]
    )
    assert read(made, content) == pa.Table.from_batches([expected.select(RECORDS.names)])


HOSTILE = [Record(5, 7, b"k", b"a"), Record(6, -1, None, b"--\\-"), Record(7, 8, b"", b"")]


@pytest.mark.parametrize("kept", [JSONL[1], SEQUENCES[0], SEQUENCES[3], TEXTS[0]], ids=label)
def test_what_is_not_what_the_facts_say_is_damaged(kept: Format) -> None:
    """Cut off or with another byte, anywhere: no other key or value comes out unnoticed."""
    rows = HOSTILE if "messagepack" in label(kept) or kept is JSONL[1] else [of_values(one) for one in HOSTILE]
    made, content = stored(kept, with_headers(batch(rows)))
    expected = read(made, content).select(["key", "value"])
    unnoticed = 0
    for place in range(len(content)):
        for damaged in (content[:place], content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :]):
            try:
                unnoticed += read(made, damaged).select(["key", "value"]) != expected
            except ContentError:
                continue
    assert unnoticed == 0


def test_lines_that_were_written_by_other_settings_are_told() -> None:
    plain = TextFormat(settings_of(TextSpec(), compression="none", delimiter="--"))
    made, content = stored(plain, batch([Record(0, -1, None, b"a\\n")]))
    with pytest.raises(ContentError, match=r"checksum of its records is .* by other settings than spec\.output"):
        read(made, content)
    with pytest.raises(ContentError, match="records of its records is 1, and its facts say 2"):
        read(replace(made, records=2), content.replace(b"\\n", b""))


def test_a_line_without_all_of_a_record_is_told() -> None:
    few = JsonLinesFormat(settings_of(JsonLinesSpec(), compression="none", kafka_columns=("offset", "timestamp")))
    made, content = stored(few, batch(HOSTILE))
    with pytest.raises(ContentError, match="a line in it has no kafka_key"):
        read(made, content)


def test_many_small_batches_give_one_object() -> None:
    rows: Sequence[Record] = [Record(place, place, None, b"%d" % place) for place in range(30_000)]
    made, _ = stored(SEQUENCES[0], batch(rows))
    content = encode(SEQUENCES[0], cut(batch(rows), range(0, 30_000, 999)), replace(IDENTITY, path=""))
    assert read(made, content).num_rows == len(rows)
