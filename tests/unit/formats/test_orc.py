"""Format orc: rows in whatever batches they come, what its files look like, and what verification reads in them."""

import io
import json
import random
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from pyarrow import orc

from logpersister.formats.damage import ContentError
from logpersister.formats.file_rows import plain_type
from logpersister.formats.orc.instants import with_whole_seconds
from logpersister.formats.orc.read import FarInstantError, OrcRows, has_far_instants
from logpersister.formats.orc.write import GROUP_BYTES, with_calendar
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.splitting import by_path
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.verify.content import content_of
from tests.examples import examples
from tests.formats_of_output import COMPRESSIONS
from tests.readers.arrow import rows_of
from tests.readers.others import plain
from tests.readers.typed_rows import columns, documents
from tests.unit.formats.events import EVERYTHING, RECORDS, SCHEMA, assert_quarantined, files
from tests.unit.formats.samples import IDENTITY, Record, batch, cut, encode, many_records
from tests.unit.records.row_samples import documents as documents_of
from tests.unit.records.row_samples import schemas
from tests.unit.verify.samples import writing

JSON = Parsing(type="json")
SHAPES = {"plain": "timestamp[{}]", "list": "list<timestamp[{}]>"}


def output_of(compression: str = "zstd", **settings: Any) -> OutputSpec:
    settings = {"kafkaColumns": EVERYTHING, "stripeBytes": "64Ki"} | settings
    return OutputSpec.of("orc", compression=compression, **settings)


def written(compression: str = "zstd") -> dict[str, bytes]:
    return files(output_of(compression), [batch(RECORDS)])


def read(content: bytes) -> pa.Table:
    return orc.read_table(io.BytesIO(content))


def verified(content: bytes) -> list[dict[str, Any]]:
    """Return the rows as our reader has them, with nanoseconds for instants."""
    rows = [*OrcRows(io.BytesIO(content)).batches(1000)]
    return [row for batch in rows for row in batch.cast(_plain(batch.schema)).to_pylist()]


@pytest.mark.parametrize("compression", COMPRESSIONS["orc"])
@pytest.mark.parametrize("seed", range(4))
def test_cutting_rows_otherwise_gives_the_same_bytes(compression: str, seed: int) -> None:
    """Rows with text and nested columns, in several stripes; `test_determinism` has values as they are."""
    chance = random.Random(seed)
    cuts = [chance.randrange(len(RECORDS)) for _ in range(chance.choice([1, 10, 300]))]
    assert files(output_of(compression), cut(batch(RECORDS), cuts)) == written(compression)


@pytest.mark.slow
@examples(60)
@given(st.data(), schemas(), st.sampled_from(COMPRESSIONS["orc"]))
def test_rows_of_any_schema_are_read_by_verification(data: st.DataObject, schema: RowSchema, compression: str) -> None:
    if "time[" in str([one.type for one in schema.fields or ()]).replace("timestamp[", ""):
        reject()
    values: list[bytes | None] = data.draw(st.lists(documents_of(schema), min_size=1, max_size=12))
    records = batch([Record(number, 5, None, value) for number, value in enumerate(values)])
    output = output_of(compression)
    good = dict(by_path(records, TopicLayout.of_one_type(layout_of(output, JSON, schema)))).get("")
    if good is None:
        reject()
    content = files(output, [records], schema)[""]
    reader = content_of(writing(output, JSON, schema), IDENTITY.range.partition, "")
    expected = pa.Table.from_batches([reader.expectation()(good)])
    try:
        assert pa.Table.from_batches(reader.stored([content])) == expected
    except FarInstantError:
        assert has_far_instants(expected.to_batches()[0])


GEO = "struct<at: struct<lat: float64, names: list<string>>, of: list<struct<n: int64>>>"
GEOS: list[Any] = [
    None,
    {"at": None, "of": None},
    {"at": {"lat": 1.5, "names": ["a", None]}, "of": [None, {"n": 7}]},
    {"at": {"lat": None, "names": None}, "of": []},
]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("type_", [GEO, f"list<{GEO}>", f"map<string, {GEO}>"])
def test_structs_of_any_part_of_the_rows_are_those_of_their_records(type_: str, seed: int) -> None:
    """Folders and groups are parts. What the writer took for nulls was of other rows, or of fields without a struct."""
    chance = random.Random(seed)
    some = GEOS if seed % 2 else GEOS[1:]  # where no outer struct is null, inner ones may be
    shapes: dict[str, Any] = {"struct": lambda: chance.choice(some), "list": lambda: chance.choices(some, k=2)}
    shape = shapes.get(type_.partition("<")[0], lambda: {"k": chance.choice(some)})
    geos = [shape() for _ in range(40)]
    documents = [json.dumps({"geo": geo}).encode() for geo in geos]
    records = batch([Record(number, 5, None, value) for number, value in enumerate(documents)])
    schema = RowSchema(fields=(FieldSpec(name="geo", type=type_),))
    rows = dict(by_path(records, TopicLayout.of_one_type(layout_of(output_of(), JSON, schema))))[""]
    begin, middle, end = sorted(chance.sample(range(1, 40), 3))
    parts = [rows.slice(begin, middle - begin), rows.slice(middle, end - middle)][: 1 if seed < 6 else 2]
    content = encode(make_format(output_of(kafkaColumns=[]), schema=schema), parts)
    wanted = geos[begin : begin + sum(part.num_rows for part in parts)]
    assert [one["geo"] for one in rows_of(read(content))] == plain(wanted)


def test_stripes_end_with_the_group_that_fills_them() -> None:
    output = output_of("none", stripeBytes="256Ki")
    content = encode(make_format(output), [batch(many_records(3 * GROUP_BYTES))])
    opened = orc.ORCFile(io.BytesIO(content))
    assert opened.nstripes > 3
    assert sum(opened.read_stripe(one).num_rows for one in range(opened.nstripes)) == len(verified(content))


def test_quarantine_keeps_what_is_needed_to_put_records_right() -> None:
    assert_quarantined(verified(files(output_of(kafkaColumns=[]), [batch(RECORDS)])[QUARANTINE]))


@pytest.mark.parametrize(("schema", "first"), [(AS_THEY_ARE, "value"), (SCHEMA, "n")], ids=["values", "rows"])
def test_a_file_without_rows_has_its_columns(schema: RowSchema, first: str) -> None:
    nothing = files(output_of(), [batch([Record(1, 5, b"a", None)])], schema)[""]
    assert (read(nothing).num_rows, read(nothing).column_names[0], verified(nothing)) == (0, first, [])


@pytest.mark.parametrize("compression", COMPRESSIONS["orc"])
def test_files_say_by_which_calendar_they_count(compression: str) -> None:
    content = written(compression)[""]
    assert read(content).num_rows == len(verified(content))
    if compression == "none":
        postscript = content[-1 - content[-1] : -1]
        footer, end = _varint(postscript, 1), len(content) - 1 - len(postscript)
        assert content[end - footer : end].endswith(bytes([11 << 3, 2])), "field 11, calendar: PROLEPTIC_GREGORIAN"
    for length in (1, 2, 5, 1000):  # wherever the last bytes are cut
        tail = content[-2000:]
        pieces = [tail[begin : begin + length] for begin in range(0, len(tail), length)]
        assert b"".join(with_calendar(pieces)) == b"".join(with_calendar([tail]))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_before_1970_there_are_whole_seconds(unit: str) -> None:
    """At every depth, in slices too; what changes nothing is not copied."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    earliest = -(2**63 // (2 * per_second)) * 2
    numbers = [-1, 0, 5, None, -per_second, -per_second - 1, -(2**63), 2**53]
    whole = [
        one if one is None or one >= 0 or unit == "s" else max(one // per_second, earliest) * per_second
        for one in numbers
    ]
    leaf = pa.timestamp(cast("Any", unit), "UTC")

    def batch_of(instants: list[int | None]) -> pa.RecordBatch:
        flat: Any = pa.array(instants, pa.int64()).view(leaf)
        lists: Any = pa.ListArray.from_arrays(pa.array([0, 0, *range(2, 9)], pa.int32()), flat)
        structs: Any = pa.StructArray.from_arrays([flat, lists], ["a", "b"], mask=pa.array([False] * 7 + [True]))
        maps: Any = _map_of(list("abcdefgh"), structs)
        named = {"flat": flat, "lists": lists, "structs": structs, "maps": maps}
        return pa.RecordBatch.from_arrays(list(named.values()), names=list(named))

    given_, expected = batch_of(numbers), batch_of(whole)
    for begin, length in ((0, 8), (3, 5), (2, 3)):
        found = with_whole_seconds(given_.slice(begin, length))
        found.validate(full=True)
        assert (
            found.cast(_plain(found.schema)).to_pylist()
            == expected.slice(begin, length).cast(_plain(found.schema)).to_pylist()
        )
    later = batch_of([0, 1, None, 5, 2**53, None, 7, 8])
    assert _addresses(with_whole_seconds(later)) == _addresses(later)


def _varint(content: bytes, place: int) -> int:
    end = next(at for at in range(place, len(content)) if content[at] < 0x80) + 1
    return sum((byte & 0x7F) << 7 * number for number, byte in enumerate(content[place:end]))


def _map_of(keys: list[str], items: Any) -> Any:
    make: Any = pa.MapArray.from_arrays
    return make(pa.array(range(len(keys) + 1), pa.int32()), pa.array(keys), items)


def _addresses(rows: pa.RecordBatch) -> list[list[int]]:
    return [[one.address for one in column.buffers() if one] for column in rows.columns]


def _plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(one.name, plain_type(one.type)) for one in schema])


def test_instants_beyond_nanoseconds_are_not_read_and_told() -> None:
    chosen = [one for one in columns(["timestamp[us]"]) if one.shape == "plain"]
    schema = RowSchema(fields=(FieldSpec(name="plain_timestamp_us", type="timestamp[us]"),))
    records = batch([Record(number, 5, None, value) for number, value in enumerate(documents(chosen))])
    content = files(output_of(), [records], schema)[""]
    with pytest.raises(FarInstantError, match="instants outside of 1677-09-21 to 2262-04-11"):
        verified(content)


@pytest.mark.parametrize("compression", COMPRESSIONS["orc"])
def test_damage_is_no_other_error_and_no_other_row(compression: str) -> None:
    """A file has no checksums: what is damaged in statistics and indexes changes no row, and is not seen."""
    output = output_of(compression, kafkaColumns=["offset", "timestamp"])
    records = batch(many_records(30_000))
    content = encode(make_format(output), [records])
    reader = content_of(writing(output), IDENTITY.range.partition, IDENTITY.path)
    expected = pa.Table.from_batches([reader.expectation()(records)])
    assert pa.Table.from_batches(reader.stored([content])) == expected
    seen = 0
    places = range(0, len(content), len(content) // 150 + 1)
    for place in places:
        spoilt = content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
        try:
            seen += pa.Table.from_batches(reader.stored([spoilt])) != expected
        except ContentError:
            seen += 1
    assert seen > len(places) * 0.8
    with pytest.raises(ContentError, match="it is no whole ORC file"):
        list(reader.stored([content[:-1]]))
