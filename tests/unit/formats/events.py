"""JSON events as records, some of which are no rows, and the files that a format makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from logpersister.formats.base import ObjectIdentity
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.writers import Writers
from logpersister.values.row_schema import RowSchema
from tests.formats_of_output import COMPRESSIONS
from tests.unit.formats.samples import IDENTITY, Record, batch

SCHEMA = RowSchema(
    fields=(
        FieldSpec(name="n", type="int32", required=True),
        FieldSpec(name="at", type="timestamp[ms]"),
        FieldSpec(name="text", type="string"),
        FieldSpec(name="tags", type="list<struct<a: map<string, int8>, b: float64 not null>>"),
    )
)
JSON = Parsing(type="json")
EVERYTHING = ["topic", "partition", "offset", "timestamp", "key"]


def value(number: int) -> bytes | None:
    match number % 11:
        case 3:
            return None
        case 5:
            return b'{"n": "%d"}' % number
        case 7:
            return b'{"n": %d' % number
        case _:
            tags = b'[{"a": {"x": %d}, "b": %d.5}]' % (number % 100, number) if number % 3 else b"[]"
            at = b'"2026-11-21T05:00:00.%03dZ"' % (number % 1000)
            return b'{"n": %d, "at": %s, "text": "%s", "tags": %s}' % (number, at, b"t" * (number % 50), tags)


def record(number: int) -> Record:
    return Record(100 + number, -1 if number % 4 else number, b"k%d" % (number % 7), value(number))


RECORDS = [record(number) for number in range(2500)]


def files(
    output: OutputSpec,
    batches: "list[pa.RecordBatch]",
    schema: RowSchema = SCHEMA,
    parser: Parsing = JSON,
    writers: Writers | None = None,
) -> dict[str, bytes]:
    """Return the file of each path."""
    layout = TopicLayout.of_one_type(layout_of(output, parser, schema, writers))
    file_format = make_format(output, parser, schema)
    encoders: dict[str, Any] = {}
    written: dict[str, bytes] = {}
    for each in batches:
        for path, part in by_path(each, layout) if each.num_rows else ():
            if path not in encoders:
                encoders[path] = file_format.encoder(ObjectIdentity(IDENTITY.range, path))
            written[path] = written.get(path, b"") + b"".join(map(bytes, encoders[path].encode(part)))
    return {path: written[path] + b"".join(map(bytes, encoder.finish())) for path, encoder in encoders.items()}


def native_files() -> bytes:
    """Return files of all records in the formats whose bytes native code makes."""
    orc = [OutputSpec.of("orc", compression=one, kafkaColumns=EVERYTHING) for one in COMPRESSIONS["orc"]]
    outputs = [OutputSpec.of("parquet", kafkaColumns=EVERYTHING), *orc]
    return b"".join(files(output, [batch(RECORDS)])[""] for output in outputs)


def assert_quarantined(rows: Sequence[Mapping[str, Any]]) -> None:
    """Check that the rows of a file in quarantine have what is needed to put all refused records right."""
    bad = [one for one in RECORDS if (one.offset - 100) % 11 in (5, 7)]
    assert [(one["value"], one["kafka_offset"], one["kafka_key"]) for one in rows] == [
        (one.value, one.offset, one.key) for one in bad
    ]
    assert [*rows[0]] == ["value", "reason", "field", *(f"kafka_{name}" for name in EVERYTHING)]
    assert [(one["reason"], one["field"]) for one in rows] == [
        ("wrong_type", "n") if (one.offset - 100) % 11 == 5 else ("not_json", None) for one in bad
    ]
