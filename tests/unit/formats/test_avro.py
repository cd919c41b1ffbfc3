"""Format avro: rows of any schema read by fastavro and by verification, and what its files look like."""

import io
import re
from contextlib import suppress
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from logpersister.formats.avro.read import AvroRows
from logpersister.formats.damage import ContentError
from logpersister.formats.file_rows import plain
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.columns import row_columns, without_notation
from logpersister.values.row_schema import RowSchema
from logpersister.verify.content import content_of
from tests.examples import examples
from tests.formats_of_output import COMPRESSIONS
from tests.unit.formats.events import EVERYTHING, RECORDS, assert_quarantined, files
from tests.unit.formats.samples import IDENTITY, Record, batch, encode, many_records, with_headers
from tests.unit.records.kinds import of_json
from tests.unit.records.row_samples import batch_of_values, documents, schemas
from tests.unit.verify.samples import writing

JSON = Parsing(type="json")


def output_of(compression: str = "deflate", **avro: Any) -> OutputSpec:
    return OutputSpec.of("avro", compression=compression, **avro)


def with_names_of_avro(schema: RowSchema) -> RowSchema:
    def valid(text: str) -> str:
        return re.sub(r"[$@-]", "_", text)

    return RowSchema(
        fields=tuple(
            FieldSpec(name=valid(one.name), type=valid(one.type), required=one.required, format=one.format)
            for one in schema.fields or ()
        )
    )


def read(content: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(content)))


def _plain(column: "pa.ChunkedArray[Any]") -> list[Any]:
    return [one for chunk in column.chunks for one in plain(chunk).to_pylist()]


@pytest.mark.slow
@examples(60)
@given(st.data(), schemas().map(with_names_of_avro), st.sampled_from(COMPRESSIONS["avro"]))
def test_rows_of_any_schema_are_read_by_others(data: st.DataObject, schema: RowSchema, compression: str) -> None:
    """By fastavro, which has no code of ours, and by our own reader."""
    values: list[bytes | None] = data.draw(st.lists(documents(schema), min_size=1, max_size=12))
    records = batch([Record(number, 5, None, value) for number, value in enumerate(values)])
    output = output_of(compression)
    good = dict(by_path(records, TopicLayout.of_one_type(layout_of(output, JSON, schema)))).get("")
    if good is None:
        reject()
    content = files(output, [records], schema)[""]
    parsed = of_json(schema, "drop").parse(batch_of_values(values)).rows
    assert parsed is not None
    columns = without_notation(row_columns(schema))
    rows = pa.Table.from_batches([pa.RecordBatch.from_arrays(parsed.flatten(), schema=row_columns(schema))])
    if compression in ("none", "deflate"):  # for the others it needs libraries; Spark reads them
        table = pa.Table.from_pylist(read(content), columns)
        assert [_plain(one) for one in table.columns] == [_plain(one) for one in rows.columns]
    reader = content_of(writing(output, JSON, schema), IDENTITY.range.partition, "")
    assert pa.Table.from_batches(reader.stored([content])).equals(pa.Table.from_batches([reader.expectation()(good)]))


def test_the_schema_of_a_file() -> None:
    written = fastavro.reader(io.BytesIO(files(output_of(kafkaColumns=["offset", "timestamp"]), [batch(RECORDS)])[""]))
    assert written.metadata["avro.codec"] == "deflate"
    element = {
        "type": "record",
        "name": "logpersister.row.tags.element",
        "fields": [_or_null("a", {"type": "map", "values": ["null", "int"]}), {"name": "b", "type": "double"}],
    }
    at = {"type": "long", "logicalType": "timestamp-millis"}
    assert written.writer_schema == {
        "type": "record",
        "name": "logpersister.row",
        "fields": [
            {"name": "n", "type": "int"},
            _or_null("at", at),
            _or_null("text", "string"),
            _or_null("tags", {"type": "array", "items": ["null", element]}),
            {"name": "kafka_offset", "type": "long"},
            _or_null("kafka_timestamp", at),
        ],
    }


def _or_null(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", type_], "default": None}


def test_quarantine_keeps_what_is_needed_to_put_records_right() -> None:
    assert_quarantined(read(files(output_of(kafkaColumns=[]), [batch(RECORDS)])[QUARANTINE]))


def test_everything_of_a_record_can_be_kept() -> None:
    headers = [[(b"trace", b"1"), (b"\xff", None)], []]
    records = with_headers(batch([Record(7, -1, None, b"\xff"), Record(9, 1_795_237_200_123, b"k", b"")]), headers)
    rows = read(encode(make_format(output_of("none", kafkaColumns=[*EVERYTHING, "headers"])), [records]))
    assert [list(one.values())[:4] for one in rows] == [[b"\xff", "clicks", 3, 7], [b"", "clicks", 3, 9]]
    assert [one["kafka_timestamp"] and one["kafka_timestamp"].timestamp() for one in rows] == [None, 1_795_237_200.123]
    assert [[(one["key"], one["value"]) for one in row["kafka_headers"]] for row in rows] == headers


@pytest.mark.parametrize("compression", COMPRESSIONS["avro"])
def test_damage_is_found_wherever_it_is(compression: str) -> None:
    output = output_of(compression, kafkaColumns=["offset"])
    records = batch(many_records(30_000))
    content = encode(make_format(output), [records])
    reader = content_of(writing(output), IDENTITY.range.partition, IDENTITY.path)
    expected = pa.Table.from_batches([reader.expectation()(records)])
    assert pa.Table.from_batches(reader.stored([content])) == expected
    begin = content.index(content[-16:]) + 16
    for place in range(begin, len(content), (len(content) - begin) // 50 + 1):
        spoilt = content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
        with suppress(ContentError):
            assert pa.Table.from_batches(reader.stored([spoilt])) != expected
    with pytest.raises(ContentError, match="cut off"):
        list(reader.stored([content[:-1]]))


@pytest.mark.parametrize("compression", COMPRESSIONS["avro"])
def test_what_is_compressed_to_almost_nothing_is_bounded(compression: str) -> None:
    content = encode(make_format(output_of(compression)), [batch([Record(1, 5, None, bytes(4 << 20))])])
    with pytest.raises(ContentError, match=r"too large|a length in it is|is damaged|Output buffer|is not one whole"):
        list(AvroRows(io.BytesIO(content), most=1 << 20).batches(1))


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_files_of_others_are_read(codec: str) -> None:
    """Also with the rest of a checksum behind each block, which fastavro leaves there."""
    schema: Any = {"type": "record", "name": "a", "fields": [{"name": "b", "type": ["null", "string"]}]}
    rows = [{"b": "x" * 100}, {"b": None}] * 5_000
    file = io.BytesIO()
    fastavro.writer(file, schema, rows, codec=codec)
    assert [row for batch in AvroRows(io.BytesIO(file.getvalue())).batches(100) for row in batch.to_pylist()] == rows
