"""Format jsonl: what its lines say, by Python's own parser; Spark and DuckDB read it in tests/integration."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.json
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.base import ObjectIdentity
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from tests.examples import examples
from tests.unit.formats.samples import IDENTITY, Record, batch, with_headers

BYTES, JSON = Parsing(), Parsing(type="json")
SCHEMA = RowSchema(
    fields=(
        FieldSpec(name="n", type="int32", required=True),
        FieldSpec(name="at", type="timestamp[ms]", format="epoch[s]"),
        FieldSpec(name="tags", type="list<struct<a: map<string, int8>, b: json>>"),
        FieldSpec(name="raw", type="binary[base64]"),
    )
)


def output_of(**jsonl: Any) -> OutputSpec:
    return OutputSpec.of("jsonl", compression="none", **jsonl)


def files(
    output: OutputSpec, records: pa.RecordBatch, parser: Parsing = BYTES, schema: RowSchema = AS_THEY_ARE
) -> dict[str, bytes]:
    """Return the file of each path."""
    written = {}
    for path, part in by_path(records, TopicLayout.of_one_type(layout_of(output, parser, schema))):
        encoder = make_format(output, parser, schema).encoder(ObjectIdentity(IDENTITY.range, path))
        written[path] = b"".join(map(bytes, [*encoder.encode(part), *encoder.finish()]))
    return written


def lines(content: bytes) -> list[Any]:
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.split(b"\n")[:-1]]


def test_the_envelope_has_all_of_a_record() -> None:
    records = with_headers(
        batch([Record(100, 1_795_237_200_123, b"key", b'a "value"'), Record(102, -1, b"\xff\x00", b"\xfe")]),
        [[(b"trace", b"1"), (b"\xff", b"\xff"), (b"none", None)]],
    )
    assert lines(files(output_of(), records)[""]) == [
        {
            "value": 'a "value"',
            "kafka_topic": "clicks",
            "kafka_partition": 3,
            "kafka_offset": 100,
            "kafka_timestamp": "2026-11-21T05:00:00.123Z",
            "kafka_key": "key",
            "kafka_headers": [
                {"key": "trace", "value": "1"},
                {"key_base64": "/w==", "value_base64": "/w=="},
                {"key": "none", "value": None},
            ],
        },
        {
            "value_base64": "/g==",
            "kafka_topic": "clicks",
            "kafka_partition": 3,
            "kafka_offset": 102,
            "kafka_timestamp": None,
            "kafka_key_base64": base64.b64encode(b"\xff\x00").decode(),
            "kafka_headers": [],
        },
    ]


def test_values_that_were_checked_to_be_json_stand_there_as_json() -> None:
    records = batch([Record(1, 5, None, b'{\n "a": [1,\r\n 2]}'), Record(2, 5, None, b"{"), Record(3, 5, None, b'"x"')])
    written = files(output_of(kafkaColumns=["offset"]), records, JSON)
    assert written[""].count(b"\n") == 2
    assert lines(written[""]) == [{"value": {"a": [1, 2]}, "kafka_offset": 1}, {"value": "x", "kafka_offset": 3}]
    assert lines(written[QUARANTINE]) == [
        {
            "value": "{",
            "reason": "not_json",
            "field": None,
            "kafka_topic": "clicks",
            "kafka_partition": 3,
            "kafka_offset": 2,
            "kafka_timestamp": "1970-01-01T00:00:00.005Z",
            "kafka_key": None,
        }
    ]


_payload = st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode)


@examples(100)
@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1), _payload, _payload, st.lists(st.tuples(_payload, _payload), max_size=3)
        ),
        max_size=8,
    )
)
def test_all_of_a_record_is_in_its_line(records: list[tuple[int, Any, Any, list[tuple[Any, Any]]]]) -> None:
    """Any bytes and any timestamps, which producers may choose."""
    headers = [[(key or b"", value) for key, value in some] for *_, some in records]
    rows = with_headers(
        batch([Record(number, time, key, value) for number, (time, key, value, _) in enumerate(records)]), headers
    )
    output = output_of(tombstones="null")
    found = lines(files(output, rows)[""]) if records else []
    assert [(_bytes(one, "kafka_key"), _bytes(one, "value")) for one in found] == [one[1:3] for one in records]
    assert [[(_bytes(one, "key"), _bytes(one, "value")) for one in line["kafka_headers"]] for line in found] == headers
    for line, (time, *_) in zip(found, records, strict=True):
        if len(line["kafka_timestamp"] or "") == len("2026-11-21T05:00:00.123Z"):
            at = datetime.fromisoformat(line["kafka_timestamp"])
            assert (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) == time
        else:
            assert time == -1 or abs(time) > 10**13


def _bytes(fields: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in fields:
        return base64.b64decode(fields[f"{name}_base64"])
    return None if fields[name] is None else str(fields[name]).encode()
