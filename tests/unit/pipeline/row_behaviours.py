"""What the rules about rows do that change them after they are parsed, and the rules about their folders and files.

Each function yields all that its rule decides for samples, as bytes that no other Arrow and no other Python changes.
"""

import io
import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any, Final, cast
from unittest.mock import patch

import pyarrow as pa
from pyarrow import orc

from logpersister.formats.base import Encoder, ObjectIdentity
from logpersister.formats.file_rows import plain
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.ranges import Range, TopicPartition
from logpersister.records.frames import NumberRows
from logpersister.records.keyed_rows import HEAD, KeyedRows
from logpersister.records.type_layout import layout_of, make_parser
from logpersister.records.type_names import TypeNames
from logpersister.values.csv.block import CsvSpec
from logpersister.values.field import DocumentFieldSpec, FieldSpec
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.row_schema import RowSchema
from tests.unit.formats.samples import Record, batch
from tests.unit.records import test_field_paths as by_fields
from tests.unit.records import test_hiding as hidden
from tests.unit.records import test_keyed_rows as keys
from tests.unit.records.batches import batch_of
from tests.unit.records.fault_samples import ALL
from tests.unit.records.kinds import of_csv, of_json, of_messagepack
from tests.unit.records.messagepack_samples import Written, entries, packed
from tests.unit.records.row_samples import batch_of_values

IDENTITY: Final = ObjectIdentity(Range(TopicPartition("clicks", 3), 0, 100), "dt=1")


def said(parsed: Parsed) -> Iterable[bytes]:
    """Rows, and why others are none."""
    assert parsed.rows is not None
    yield repr(plain(parsed.rows).to_pylist()).encode()
    if parsed.refused is not None:
        yield repr([one.to_pylist() for one in (parsed.refused.reasons, parsed.refused.fields)]).encode()
    if parsed.adjusted is not None:
        yield repr(parsed.adjusted.records.tolist()).encode()


LENIENT: Final = RowSchema(
    fields=(
        DocumentFieldSpec(name="id", type="int32", required=True, default=7),
        FieldSpec(name="ok", type="bool"),
        DocumentFieldSpec(name="name", type="string", default="\u00e4"),
        FieldSpec(name="at", type="timestamp[ms]", format="epoch[s]"),
        FieldSpec(name="price", type="decimal(5,2)"),
        FieldSpec(name="items", type="list<struct<size: float32 not null>>"),
        FieldSpec(name="by", type="map<string, int8>"),
    )
)
DOCUMENTS: Final[list[bytes | None]] = [
    b"{}", b'{"id": "8", "ok": "true", "name": 1.50, "at": "1795237200", "price": "1.505"}', b'{"id": null}', b"[]",
    b'{"id": 1, "id": 2, "other": {"a": 1}, "Other": [1e5]}', b'{"name": "\xff\xe2\x82", "at": 1e3, "ok": 0}',
    b'{"name": "\\ud83d", "items": [{"size": "1e39"}, {"size": 0.1, "x": null}]}',
    b'{"by": {"a": 300, "a": "x", "b": 1}}',
    b'{"items": [{}, null]}', b'{"other": 1, "other": 2}', b'{"price": 1e9, "name": null, "ok": [true]}', b"{",
]  # fmt: skip
PACKS: Final[list[bytes | None]] = [
    packed({}), packed({"id": "8", "ok": "TRUE", "name": 1.5, 3: b"\xff", "price": "x"}), packed([1]),
    entries([("id", 1), ("id", 2), ("x", Written(b"\xc7\x01\x05\x01"))]),
    packed({"name": b"\xff\xe2\x82", "by": {"a": 300}}),
    packed({"items": [{"size": 1e39}, {"size": True, "x": None}], "at": "1795237200"}), packed({"by": {1: 2}}),
]  # fmt: skip
LINES: Final[list[bytes | None]] = [
    b"8,true,a,1795237200,1.50", b"x,yes,\xff,,1.505", b",,,,,more,and more", b"7.5,FALSE,,1e3,x", b'1,"',
]  # fmt: skip


def rows_with_faults() -> Iterable[bytes]:
    """By all options at once, by those that set null, and by the first of duplicates; what is unknown is kept."""
    of_lines = RowSchema(fields=(LENIENT.fields or ())[:5], rest_column="_rest")
    schema = replace(LENIENT, rest_column="_rest")
    nulls = ALL.model_copy(update={"wrong_type": "setNull", "duplicates": "first"})
    for faults in (ALL, nulls):
        yield from said(of_json(schema, "keep", faults).parse(batch_of_values(DOCUMENTS)))
        yield from said(of_messagepack(schema, "keep", faults).parse(batch_of_values(PACKS)))
    lines = nulls.model_copy(update={"duplicates": "refuse"})
    yield from said(of_csv(of_lines, CsvSpec(), "keep", lines).parse(batch_of_values(LINES)))


def hidden_rows() -> Iterable[bytes]:
    with patch.dict(os.environ, {hidden.VARIABLE: hidden.KEY}):
        yield from said(_made(make_parser(hidden.JSON, hidden.SCHEMA)).parse(batch_of_values(hidden.VALUES)))


def _made(parser: Parser | None) -> Parser:
    assert parser is not None
    return parser


PAIRS: Final[list[keys.Pair]] = [
    (b"1", b'{"n": 1}'), (b"x", b'{"n": 1}'), (None, b'{"n": 2, "s": "a"}'), (b'{"id": 5, "at": 1795237200123}', None),
    (b'{"id": 5}', b'{"n": 1}'), (b'{"id": "5"}', b'{"n": "1"}'), (b"", b"{}"), (b"9223372036854775808", b'{"n": 3}'),
    (b"\0\0\0\0\7\4\2", b'{"n": 4}'), (b"\0\0\0\0\x08", b'{"n": 4}'),
]  # fmt: skip


def rows_with_keys() -> Iterable[bytes]:
    for schema in (keys.TEXT, keys.OF_JSON, keys.OF_AVRO):
        yield from said(_made(make_parser(keys.JSON, schema, keys.WRITERS)).parse(keys.records(PAIRS)))


def rows_with_heads() -> Iterable[bytes]:
    """The same of what stands around values: there is one, and it is required where its schema says so."""
    fields = RowSchema(fields=(FieldSpec(name="n", type="int32", required=True),))
    heads = RowSchema(fields=(FieldSpec(name="id", type="int64", required=True), FieldSpec(name="s", type="string")))
    parser = KeyedRows(of_json(fields, "drop"), of_json(heads, "drop"), "head", source=HEAD)
    records = batch([Record(place, 0, None, value) for place, (_, value) in enumerate(PAIRS)])
    yield from said(parser.parse(records.append_column(HEAD, pa.array([key for key, _ in PAIRS], pa.binary()))))


def rows_of_numbers() -> Iterable[bytes]:
    """Numbers of frames, of which some are instants of a calendar."""
    numbers = pa.array([0, -1, 1_795_237_200_123, 253_402_300_800_000, -62_135_596_800_001, 2**63 - 1], pa.int64())
    records = pa.RecordBatch.from_pydict({"value": numbers})
    for type_ in (pa.timestamp("ms", "UTC"), pa.int64()):
        yield from said(NumberRows(type_).parse(records))


FIELD_VALUES: Final[list[bytes | None]] = [
    None, b"{}", b'{"country": "DE", "geo": {"city": "K\xc3\xb6ln", "deep": {"n": 5}}, "id": 1234567, "ok": true}',
    b'{"country": "", "geo": {"city": "a/b=c%d"}, "id": -1}',
    b'{"country": "\\u0130\\u00df", "geo": null, "ok": false}',
    b'{"country": "%s", "at": "1883-11-18T12:00:00.5Z", "seen": -1}' % (b"x" * 300), b'{"at": "9999-12-31T23:59:59Z"}',
    b'{"country": "..", "at": "2026-11-01T05:30:00Z", "seen": 1795237200123456}', b'{"id": 9223372036854775807}',
]  # fmt: skip


def folders_by_fields() -> Iterable[bytes]:
    records = batch_of([0, 1_795_237_200_000] * len(FIELD_VALUES), values=FIELD_VALUES * 2)
    for level in by_fields.LEVELS:
        found = layout_of(by_fields.output(level), by_fields.JSON, by_fields.SCHEMA).assign(records)
        yield from (found.paths[index].encode() for index in found.indices)


def types_of_records() -> Iterable[bytes]:
    """Where the records of a type go, by names, patterns, folders of several and what others do."""
    names = [
        None,
        b"",
        b"order",
        b"order-1",
        b"refund",
        b"test",
        b"x",
        b"a/b",
        "\u00e4".encode(),
        b"\xff",
        b"o" * 2000,
        b"all",
    ]
    entries_ = [
        {"names": ["order", "refund"], "folder": "all"},
        {"pattern": "order-.*"},
        {"names": ["test"], "action": "drop"},
        {"names": ["x"], "action": "quarantine"},
    ]
    for others in ("store", "quarantine", "drop"):
        spec = {"header": "type", "entries": entries_, "others": {"action": others}}
        types = TypeNames(TypesSpec.model_validate(spec))
        for name in names:
            place = types.place(name)
            yield repr((place.rule, place.segment, place.reason)).encode()


def orc_file(schemas: Iterable[RowSchema]) -> Iterable[bytes]:
    """Columns, rows and stripes, and not the bytes, which are those of a library."""
    kafka = ["topic", "partition", "offset", "timestamp", "key"]
    for lost, schema in product(("skip", "null"), schemas):
        settings = {"orc": {"kafkaColumns": kafka, "tombstones": lost, "stripeBytes": "64Ki"}}
        file_format = make_format(OutputSpec.model_validate(settings), schema=schema)
        encoder: Encoder = file_format.encoder(IDENTITY)
        values = [
            b'{"id": %d, "at": "2026-11-21T05:00:00.5Z"}' % number if number % 9 else None for number in range(9000)
        ]
        records = batch_of([7] * len(values), values=values, keys=values[::-1])
        if schema is not None:
            made = of_json(schema, "drop").parse(records).rows
            assert made is not None
            records = records.append_column("row", made)
        content = b"".join(bytes(piece) for piece in (*encoder.encode(records), *encoder.finish()))
        file = orc.ORCFile(io.BytesIO(content))
        stripes = [cast("Any", file.read_stripe(number)).num_rows for number in range(file.nstripes)]
        (table,) = file.read().combine_chunks().to_batches()
        columns = [(name, plain(table.column(name)).to_pylist()) for name in table.schema.names]
        yield repr((file_format.extension, str(file.schema), stripes, columns)).encode()
