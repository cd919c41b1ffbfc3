"""Rows of Avro values: the native parser against fastavro, also when damaged."""

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from logpersister.schemas.types import Struct
from logpersister.values.avro.rows import AvroRows
from logpersister.values.avro.source import AvroSource
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Framing
from logpersister.values.reading.writers import WriterSchema
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.judges.refusal import RefusalError
from tests.unit.records.avro_meanings import fits, fullest, meant
from tests.unit.records.avro_samples import KnownWriters, encoded, evolving_topics, topics, without_meanings
from tests.unit.records.judging import Judged, judged_by
from tests.unit.records.row_samples import batch_of_values
from tests.unit.records.test_rows import schema_of
from tests.unit.records.third_party import assert_rows, members_of


def judged(
    schema: RowSchema,
    writers: KnownWriters,
    values: list[bytes | None],
    framing: Framing = "confluent",
    faults: FaultsSpec = REFUSED,
) -> Judged:
    return judged_by(AvroRows(schema, framing, writers, faults), values)


def read_by_fastavro(value: bytes, writer: Any, reader: Any) -> Any:
    """Return a value as the reader's schema says it, with nothing of logical types."""
    of_writer, of_reader = (fastavro.parse_schema(without_meanings(one)) for one in (writer, reader))
    return fastavro.schemaless_reader(io.BytesIO(value[5:]), of_writer, of_reader)


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_values_are_what_fastavro_reads(data: st.DataObject) -> None:
    schema, columns, values = data.draw(topics())
    found = [encoded(schema, one) for one in data.draw(st.lists(values, min_size=1, max_size=4))]
    whole = Struct(members_of(columns))
    read: list[Any] = [RefusalError("other_schema")] * len(found)
    if fits(schema, whole, {one.name: one.format for one in columns.columns}):
        read = [meant(read_by_fastavro(one, schema, schema), schema, whole) for one in found]
    assert_rows(judged(columns, KnownWriters({1: schema}), [*found]), columns, read)
    damaged = [bad for one in found for bad in (one[: data.draw(st.integers(5, len(one) - 1))], one + b"\0")]
    assert judged(columns, KnownWriters({1: schema}), [*damaged])[0] == []


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_columns_of_an_avro_schema_are_resolved_as_by_fastavro(data: st.DataObject) -> None:
    written, declared, values = data.draw(evolving_topics())
    found = [encoded(written, one) for one in data.draw(st.lists(values, min_size=1, max_size=4))]
    columns = RowSchema(source=AvroSource(json.dumps(declared)))

    def read(value: bytes, reason: str) -> Any:
        try:
            return meant(read_by_fastavro(value, written, declared), declared, Struct(members_of(columns)))
        except fastavro.read.SchemaResolutionError:
            return RefusalError(reason)

    whole = read(encoded(written, fullest(written)), "other_schema")
    expected_values = [whole if isinstance(whole, RefusalError) else read(one, "missing") for one in found]
    assert_rows(judged(columns, KnownWriters({1: written}), [*found]), columns, expected_values)


GEO = {"type": "record", "name": "Geo", "fields": [{"name": "lat", "type": "double"}]}
CLICK = {
    "type": "record",
    "name": "Click",
    "namespace": "acme",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "geo", "type": ["null", GEO]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "left_out", "type": ["null", "Geo", "string"]},
    ],
}
COLUMNS = schema_of(
    ("id", "int64", "required"), ("at", "timestamp[ms]"), ("geo", "struct<lat: float64>"), ("tags", "list<string>"),
    ("later", "string"),
)  # fmt: skip
VALUE = {"id": 7, "at": 1_795_237_200_000, "geo": {"lat": 1.5}, "tags": ["a", "\u00e4"], "left_out": "x"}
ROW = {key: value for key, value in VALUE.items() if key != "left_out"} | {"later": None}
HEADER = b"\0\0\0\0\1"


@pytest.mark.parametrize(
    ("value", "reason", "field"),
    [
        (b"", "no_header", None),
        (HEADER, "not_avro", None),
        (encoded(CLICK, VALUE) + b"\0", "not_avro", None),
        (encoded(CLICK, VALUE | {"tags": ["x"]}).replace(b"\2\2x", b"\2\2\xff", 1), "not_utf8", "tags[]"),
        (encoded(CLICK, VALUE | {"at": 2**62}), "overflow", "at"),
        (b"\0\0\0\0\2", "unknown_schema", None),
        (b"\0\0\0\0\3", "other_schema", None),
        (b"\0\0\0\0\4", "other_schema", None),
    ],
    ids=str,
)
def test_a_refused_value_by_hand(value: bytes, reason: str, field: str | None) -> None:
    good = encoded(CLICK, VALUE)
    text = {"type": "record", "name": "Click", "fields": [{"name": "id", "type": "string"}]}
    writers = KnownWriters({1: CLICK, 3: text, 4: WriterSchema(None, "it is Protobuf")})
    found = judged(COLUMNS, writers, [good, value, None, good])
    assert found == ([ROW, None, ROW], [(1, reason, field)])


def test_a_schema_is_asked_for_once() -> None:
    writers = KnownWriters({1: CLICK})
    parser = AvroRows(COLUMNS, "confluent", writers)
    for _ in range(3):
        parser.parse(batch_of_values([encoded(CLICK, VALUE), b"\0\0\0\0\2", b"\0\0\0\0\2"]))
    assert writers.asked == [[1, 2], [2], [2]], "of the unknown one the registry's side remembers what it wants"


@pytest.mark.parametrize(("framing", "size"), [("confluent", 4), ("apicurio", 8)])
def test_nobody_is_asked_for_what_no_schema_can_have_as_its_id(framing: Framing, size: int) -> None:
    writers = KnownWriters({1: CLICK})
    values: list[bytes | None] = [b"\0\x80" + bytes(size - 1), b"\0" + b"\xff" * size, b"\0\x7f" + b"\xff" * (size - 1)]
    found = judged(COLUMNS, writers, values, framing)
    assert found[1] == [(place, "unknown_schema", None) for place in range(3)]
    assert writers.asked == [[2 ** (8 * size - 1) - 1]]


def test_names_of_any_length_are_told_in_part() -> None:
    field = {"name": "id", "type": "x" * 100_000}
    writers = KnownWriters({9: {"type": "record", "name": "Click", "fields": [field]}})
    parsed = AvroRows(COLUMNS, "confluent", writers).parse(batch_of_values([b"\0\0\0\0\t\2a"]))
    assert parsed.refused is not None
    assert parsed.refused.reason.startswith("no row of the schema: other_schema: schema 9 cannot become the columns")
    assert len(parsed.refused.reason) < 500


def test_a_schema_that_names_itself_ends() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "id", "type": "long"}, {"name": "next", "type": ["null", "Node"]}],
    }
    columns = RowSchema(fields=(FieldSpec(name="id", type="int64"),))
    writers = KnownWriters({1: node})
    values: list[bytes | None] = [HEADER + b"\2\2" * depth + b"\2\0" for depth in (0, 30, 31, 32, 100)]
    found = judged(columns, writers, values)
    assert {reason for _, reason, _ in found[1]} == {"too_deep"}


def test_fields_that_nobody_reads_are_told_once() -> None:
    fields = [{"name": name, "type": "long"} for name in ("id", "old", "dropped", "added")]
    written = {"type": "record", "name": "Told", "fields": fields}
    renamed = {"name": "new", "type": "long", "aliases": ["old"]}
    reader = {"type": "record", "name": "Told", "fields": [fields[0], fields[2], renamed]}
    columns = RowSchema(source=AvroSource(json.dumps(reader)), drop=("dropped",)).as_written
    value = encoded(written, dict.fromkeys(("id", "old", "dropped", "added"), 1))
    with capture_logs() as lines:
        for _ in range(2):
            assert judged(columns, KnownWriters({1: written}), [value])[0] == [{"id": 1, "new": 1}]
    told = {"event": "schema.fields.unread", "log_level": "info", "schema": "schema 1", "fields": ["added"], "count": 1}
    assert lines == [told]
