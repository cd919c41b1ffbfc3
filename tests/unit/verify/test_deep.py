"""Objects of all formats against records: whole, spoilt, and where Kafka has deleted records since."""

import io
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.base import ObjectIdentity
from logpersister.formats.damage import ContentError
from logpersister.manifest.blocks.output import Format, OutputSpec
from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.pipeline.splitting import by_path
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import Range
from logpersister.records.checksum import PayloadChecksum
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from logpersister.values.field import FieldSpec
from logpersister.values.key import KeySpec
from logpersister.values.parser import Parsing
from logpersister.values.quarantine import QuarantineSpec
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.verify.deep import DeepResult, DeepVerification
from logpersister.verify.evidence import KafkaView, StoredObject
from logpersister.verify.findings import Kind
from logpersister.verify.tiling import examine
from logpersister.verify.writing import Writing
from tests.examples import examples
from tests.unit.formats.random_rows import written as written_rows
from tests.unit.formats.samples import Record, batch, encode, many_records, records, with_headers
from tests.unit.pipeline.fakes import FakeRead
from tests.unit.verify.samples import CLICKS, ID, committed, evidence, pending, stored_object, writing

TEXT = [
    OutputSpec.of("text", **text)
    for text in (
        {"compression": "none"},
        {"compression": "none", "delimiter": "\r\n", "tombstones": "empty"},
        {"compression": "zstd", "delimiter": "--", "delimiterInValue": "escape"},
        {"compression": "none", "delimiterInValue": "escape", "tombstones": "empty"},
        {"compression": "gzip"},
    )
]
SEQUENCEFILES = [
    OutputSpec.of("sequencefile", **files)
    for files in (
        {"compression": "none", "tombstones": "empty"},
        {"compression": "deflate", "compressionType": "record", "key": "messagepack", "tombstones": "empty"},
        {"compression": "deflate", "compressionType": "block", "tombstones": "skip"},
        {"compression": "deflate", "compressionType": "block", "key": "messagepack", "tombstones": "skip"},
    )
]
ALL: Final = ["topic", "partition", "offset", "timestamp", "key"]
_OF_COLUMNS: Final[Sequence[tuple[Format, str, Sequence[str], str, dict[str, str]]]] = [
    ("parquet", "zstd", ALL, "skip", {"rowGroupBytes": "64Ki"}),
    ("parquet", "none", [], "null", {}),
    ("jsonl", "gzip", ALL[::-1], "skip", {}),
    ("jsonl", "none", [], "null", {}),
    ("avro", "deflate", ALL, "skip", {}),
    ("avro", "zstd", [], "null", {}),
    ("avro", "snappy", ["offset"], "skip", {}),
    ("orc", "zstd", ALL, "skip", {"stripeBytes": "64Ki"}),
    ("orc", "snappy", ["timestamp"], "null", {}),
    ("orc", "zlib", ["offset"], "skip", {}),
    ("orc", "none", [], "null", {}),
]
COLUMNAR = [
    OutputSpec.of(name, compression=compression, kafkaColumns=kafka, tombstones=lost, **size)
    for name, compression, kafka, lost, size in _OF_COLUMNS
]
ROWS, ROWS_ALONE, LINES, _, CONTAINER = COLUMNAR[:5]
SORTED = OutputSpec.of(
    "parquet",
    kafkaColumns=["key", "timestamp", "offset"],
    tombstones="null",
    rowGroupBytes="64Ki",
    sortBy=[{"field": "value", "order": "descending"}, {"field": "kafka_timestamp", "nulls": "first"}],
)
ARCHIVES = [OutputSpec.of("archive", compression=compression) for compression in ("gzip", "none")]
OUTPUTS = [*TEXT, *SEQUENCEFILES, *COLUMNAR, SORTED, *ARCHIVES]
PLAIN, GZIP, SEQUENCE = TEXT[0], TEXT[4], SEQUENCEFILES[-1]
BY_DAY = OutputSpec.model_validate({"text": {"compression": "none"}, "partitionBy": [{"date": {"granularity": "day"}}]})
DAY = 86_400_000
FAR: Final = 9_223_372_036_000
"""Milliseconds around 1970 that are known in nanoseconds; 854 more after it."""
ANY_BYTES, JSON = Parsing(), Parsing(type="json")


class Scenario:
    """One range in a bucket as it should be, and what Kafka has now."""

    def __init__(
        self,
        output: OutputSpec,
        written: Sequence[Record],
        *,
        pieces: int = 7,
        parser: Parsing = ANY_BYTES,
        schema: RowSchema = AS_THEY_ARE,
        headers: bool = False,
    ) -> None:
        self.headers = headers
        self.writing: Writing | str = writing(output, parser, schema)
        self.kafka = list(written)
        self.pieces = pieces
        self.log_start = 0
        self.end = written[-1].offset + 1
        self.start = written[0].offset
        self.objects: list[StoredObject] = []
        self.contents: dict[str, bytes] = {}
        self.read_error: RangeReadError | None = None
        self.committed: CommittedOffset = committed(self.end)
        records = self.batch(written)
        parts = by_path(records, TopicLayout.of_one_type(layout_of(output, parser, schema)))
        for path, rows in sorted(parts, key=lambda part: part[0]):
            self._store(writing(output, parser, schema).formats.at(path), path, rows, parser.type)

    def batch(self, some: Sequence[Record]) -> pa.RecordBatch:
        """Return records as the reader gives them."""
        return with_headers(batch(some), [[(b"trace", b"1")]]) if self.headers else batch(some)

    def _store(self, file_format: Any, path: str, rows: pa.RecordBatch, parser: str) -> None:
        checksum = PayloadChecksum()
        checksum.update(rows)
        offsets = rows.column("offset").to_pylist()
        one = stored_object(
            self.start,
            self.end,
            path=path,
            extension=file_format.extension,
            first=offsets[0],
            last=offsets[-1],
            records=len(offsets),
            tombstones=rows.column("value").null_count,
            checksum=checksum.text(),
            parser=parser,
        )
        self.objects.append(one)
        self.contents[one.key] = encode(file_format, [rows], ObjectIdentity(Range(CLICKS, self.start, self.end), path))

    def facts(self, **changed: Any) -> None:
        """Change the facts of the first object."""
        one = self.objects[0]
        assert one.facts is not None
        self.objects[0] = replace(one, facts=replace(one.facts, **changed))

    def content(self, change: Callable[[bytes], bytes]) -> None:
        """Change the content of the first object."""
        key = self.objects[0].key
        self.contents[key] = change(self.contents[key])

    def lines(self, change: Callable[[list[bytes]], list[bytes]]) -> None:
        self.content(lambda content: b"\n".join([*change(content.split(b"\n")[:-1]), b""]))

    def retain(self, log_start: int) -> None:
        """Have Kafka delete what is older."""
        self.log_start = log_start
        self.kafka = [record for record in self.kafka if record.offset >= log_start]

    def read(self, requests: list[ReadRequest]) -> Iterator[FakeRead]:
        for wanted in (request.range for request in requests):
            rows = [one for one in self.kafka if wanted.start <= one.offset < wanted.end and self.read_error is None]
            pieces = [rows[begin : begin + 50] for begin in range(0, len(rows), 50)]
            yield FakeRead(wanted, [self.batch(some) for some in pieces], self.read_error)

    def read_object(self, key: str) -> Generator[bytes, None, None]:
        if key not in self.contents:
            raise ContentError("it was deleted after it had been listed")
        content = self.contents[key]
        step = max(1, len(content) // self.pieces)
        yield from (content[at : at + step] for at in range(0, len(content), step))

    def compare(self) -> DeepResult:
        seen = evidence(
            self.objects, self.committed, kafka=KafkaView(ID, self.log_start, max(self.end, self.log_start))
        )
        return DeepVerification(self, self.read_object, lambda _: self.writing).compare(examine(seen))

    def kinds(self) -> list[Kind]:
        return [finding.kind for finding in self.compare().findings]

    def message(self, kind: Kind) -> str:
        (finding,) = self.compare().findings
        assert finding.kind is kind
        return finding.message


def name(output: OutputSpec) -> str:
    return f"{output.format}-" + "-".join(map(repr, output.settings.model_dump().values()))


def simple(count: int, value: Callable[[int], bytes | None] = lambda number: b"%d" % number) -> list[Record]:
    return [Record(number, 1_790_000_000_000, b"key", value(number)) for number in range(count)]


def is_far(output: OutputSpec, written: Sequence[Record]) -> bool:
    """Whether there are instants in ORC that no reader of nanoseconds has."""
    if output.orc is None or "timestamp" not in (output.orc.kafka_columns or ()):
        return False
    kept = [one for one in written if one.value is not None or output.tombstones == "null"]
    return any(not one.timestamp // 1000 * 1000 >= -FAR or one.timestamp > FAR + 854 for one in kept)


@pytest.mark.parametrize("output", OUTPUTS, ids=name)
class TestEveryFormat:
    @examples(25)
    @given(written=records().filter(bool), pieces=st.integers(1, 40))
    def test_what_was_written_is_found_again(self, output: OutputSpec, written: list[Record], pieces: int) -> None:
        result = Scenario(output, written, pieces=pieces).compare()
        if is_far(output, written):
            assert [finding.kind for finding in result.findings] == [Kind.NOT_COMPARED]
        else:
            assert result == DeepResult([], len(written))

    def test_any_record_that_differs_shows(self, output: OutputSpec) -> None:
        written = [record for record in many_records(50_000) if record.value]
        for place in (0, len(written) // 2, len(written) - 1):
            scenario = Scenario(output, written)
            changed = written[place]
            scenario.kafka[place] = changed._replace(value=(changed.value or b"")[:-1] + b"!")
            assert scenario.kinds() == [Kind.WRONG_FACTS, Kind.WRONG_CONTENT]

    def test_a_content_that_is_cut_off_or_longer(self, output: OutputSpec) -> None:
        for change in (lambda content: content[:-3], lambda content: content + b"xyz", lambda content: b""):
            scenario = Scenario(output, simple(500))
            scenario.content(change)
            assert scenario.kinds() == [Kind.WRONG_CONTENT]

    def test_what_retention_has_left_is_compared(self, output: OutputSpec) -> None:
        written = [record for record in many_records(50_000) if record.value]
        scenario = Scenario(output, written)
        left = len(written) // 3
        scenario.retain(written[-left].offset)
        assert f"Kafka has {left} of its {len(written)} records now" in scenario.message(Kind.NOT_COMPARED)
        assert scenario.compare().compared == left
        scenario.kafka[-2] = scenario.kafka[-2]._replace(value=b"another")
        assert "it lacks" in scenario.message(Kind.WRONG_CONTENT)

    def test_without_kafka_an_object_agrees_with_its_own_facts(self, output: OutputSpec) -> None:
        scenario = Scenario(output, simple(300))
        scenario.retain(10**12)
        assert "Kafka has 0 of its" in scenario.message(Kind.NOT_COMPARED)
        if output.archive is None:
            scenario.facts(checksum="crc32:00000000-00000000-00000000-00000000")
            assert "checksum" in scenario.message(Kind.WRONG_CONTENT)
        else:  # whose files have hashes of their own, and not all of whose records are files
            scenario.facts(records=301)
            assert "it holds 300 records" in scenario.message(Kind.WRONG_CONTENT)


class TestContent:
    def test_a_record_less_twice_or_in_another_place(self) -> None:
        for change in (
            lambda lines: lines[:50] + lines[51:],
            lambda lines: lines[:50] + lines[49:],
            lambda lines: [*lines[:50], lines[51], lines[50], *lines[52:]],
        ):
            scenario = Scenario(PLAIN, simple(200))
            scenario.lines(change)
            assert scenario.message(Kind.WRONG_CONTENT).startswith("at offset 50 ")

    @pytest.mark.parametrize("delimiter", ["\n", "\r\n"])
    def test_lines_longer_than_pieces(self, delimiter: str) -> None:
        output = OutputSpec.of("text", compression="none", delimiter=delimiter)
        written = simple(40, lambda number: (b"\r%d" % number) * 10_000)
        for pieces in (1, 3, 1_000):
            assert Scenario(output, written, pieces=pieces).compare() == DeepResult([], 40)

    def test_values_with_the_delimiter_are_compared_byte_for_byte(self) -> None:
        scenario = Scenario(PLAIN, simple(100, lambda number: b"%d\n\nmore" % number))
        assert scenario.compare() == DeepResult([], 100)
        scenario.content(lambda content: content.replace(b"77\n", b"7\n7"))
        assert "between offsets 50 and 99" in scenario.message(Kind.WRONG_CONTENT)

    def test_values_with_the_delimiter_without_kafka(self) -> None:
        scenario = Scenario(PLAIN, simple(100, lambda number: b"%d\n" % number))
        scenario.retain(10**12)
        assert "values contain the delimiter" in scenario.message(Kind.NOT_COMPARED)
        scenario.lines(lambda lines: lines[:99])
        assert "it holds 99 records where its facts ask for 100" in scenario.message(Kind.WRONG_CONTENT)

    def test_an_object_that_is_gone(self) -> None:
        scenario = Scenario(PLAIN, simple(10))
        scenario.contents.clear()
        assert scenario.message(Kind.WRONG_CONTENT) == "it was deleted after it had been listed"


@pytest.mark.parametrize(
    "facts",
    [
        {"records": 199},
        {"tombstones": 1},
        {"first": 1, "records": 198},
        {"last": 198, "records": 198},
        {"payload": (1, 0)},
    ],
    ids=str,
)
def test_facts_that_kafka_contradicts(facts: dict[str, Any]) -> None:
    scenario = Scenario(PLAIN, simple(200))
    scenario.facts(**facts)
    assert next(iter(facts)) in scenario.message(Kind.WRONG_FACTS)


def test_compaction_since() -> None:
    scenario = Scenario(PLAIN, simple(200))
    del scenario.kafka[20:40], scenario.kafka[100:110]
    assert "Kafka has 170 of its 200 records" in scenario.message(Kind.NOT_COMPARED)


class TestPaths:
    WRITTEN: ClassVar = [Record(number, (20_000 + number % 20) * DAY, None, b"%d" % number) for number in range(400)]

    def test_more_paths_than_are_read_at_once(self) -> None:
        scenario = Scenario(BY_DAY, self.WRITTEN)
        assert len(scenario.objects) == 20
        assert scenario.compare() == DeepResult([], 400)

    def test_a_path_without_an_object(self) -> None:
        scenario = Scenario(BY_DAY, self.WRITTEN)
        gone = scenario.objects.pop(3)
        message = scenario.message(Kind.MISSING)
        assert (
            message
            == f"Kafka has 20 records for {gone.name.path}, the first at offset 3, and the range has no such object"
        )
        scenario.committed = pending(0, 400)
        assert scenario.kinds() == [], "the range is still being stored"

    def test_an_object_under_the_path_of_another(self) -> None:
        scenario = Scenario(BY_DAY, self.WRITTEN)
        one, other = (found.key for found in scenario.objects[:2])
        scenario.contents[one], scenario.contents[other] = scenario.contents[other], scenario.contents[one]
        assert scenario.kinds() == [Kind.WRONG_CONTENT] * 2


def test_what_differs_proves_nothing_where_others_wrote_by_other_rules() -> None:
    scenario = Scenario(OutputSpec.of("text", compression="none"), simple(3))
    assert isinstance(scenario.writing, Writing)
    scenario.writing = replace(
        scenario.writing, other_rules="logpersister 0.9 under other rules: format:text (there 7, here 1)"
    )
    assert scenario.compare().findings == []
    assert scenario.compare().compared == 3
    scenario.lines(lambda lines: [*lines[:2], b"two"])
    assert "here 1): verify it with that build" in scenario.message(Kind.UNREADABLE)


def test_objects_are_read_as_the_build_that_wrote_them_would() -> None:
    """One that was promised anew under other rules names the revision that has them."""
    scenario = Scenario(OutputSpec.of("text", compression="none"), simple(3))
    scenario.facts(rules="fedcba987654")
    asked: list[str] = []

    def writing_of(revision: str) -> Writing | str:
        asked.append(revision)
        return scenario.writing

    seen = evidence(scenario.objects, scenario.committed, kafka=KafkaView(ID, 0, 3))
    assert DeepVerification(scenario, scenario.read_object, writing_of).compare(examine(seen)).findings == []
    assert asked == ["fedcba987654"]


def test_what_cannot_be_read() -> None:
    scenario = Scenario(PLAIN, simple(10))
    scenario.read_error = RangeReadError("corrupt", CLICKS, 0, "the batch is damaged")
    assert "the batch is damaged" in scenario.message(Kind.UNREADABLE)
    scenario.writing = "the snapshot of its revision is gone"
    assert scenario.message(Kind.UNREADABLE) == "the snapshot of its revision is gone"


def mixed(count: int = 40) -> list[Record]:
    """Every third record is no JSON, every seventh has a null value."""
    values: list[bytes | None] = [b"{%d" % n if n % 3 == 0 else None if n % 7 == 0 else b"%d" % n for n in range(count)]
    return simple(count, lambda number: values[number])


SIDES = {
    "text": PLAIN,
    "gzip": GZIP,
    "by-day": BY_DAY,
    "sequencefile": SEQUENCE,
    "parquet": ROWS,
    "jsonl": LINES,
    "avro": CONTAINER,
    "orc": COLUMNAR[-4],
}


@pytest.mark.parametrize("output", SIDES.values(), ids=list(SIDES))
class TestQuarantine:
    def test_each_record_is_where_its_value_says(self, output: OutputSpec) -> None:
        written = mixed()
        scenario = Scenario(output, written, parser=JSON)
        assert len(scenario.objects) == 2
        assert scenario.objects[0].name.path == QUARANTINE or scenario.objects[1].name.path == QUARANTINE
        assert scenario.compare() == DeepResult([], len(written))

    def test_a_quarantine_that_keeps_all_is_read_whatever_the_output_is(self, output: OutputSpec) -> None:
        parser = Parsing(type="json", quarantine=QuarantineSpec(format="parquet"))
        written = mixed()
        scenario = Scenario(output, written, parser=parser, headers=True)
        assert scenario.compare() == DeepResult([], len(written))
        scenario.writing = writing(output, JSON)
        assert Kind.WRONG_CONTENT in scenario.kinds()

    @pytest.mark.parametrize("good_in_quarantine", [True, False], ids=["good-inside", "bad-outside"])
    def test_a_record_on_the_wrong_side_is_noticed(self, output: OutputSpec, good_in_quarantine: bool) -> None:
        """The objects agree with themselves: only the records tell that one of them belongs to the other."""
        written = mixed()
        moved = next(
            n for n, one in enumerate(written) if one.value and one.value.startswith(b"{") != good_in_quarantine
        )
        value = b"{" if good_in_quarantine else b"1"
        disguised = [*written]
        disguised[moved] = written[moved]._replace(value=value)
        scenario = Scenario(output, disguised, parser=JSON)
        truth = Scenario(output, written, parser=JSON)
        scenario.kafka = truth.kafka

        result = scenario.compare()

        kinds = {(finding.kind, finding.key) for finding in result.findings}
        assert {(Kind.WRONG_CONTENT, one.key) for one in scenario.objects} <= kinds
        assert {(Kind.WRONG_FACTS, one.key) for one in scenario.objects} <= kinds

    def test_a_quarantine_that_is_gone_is_missed(self, output: OutputSpec) -> None:
        scenario = Scenario(output, mixed(), parser=JSON)
        scenario.objects = [one for one in scenario.objects if one.name.path != QUARANTINE]
        (finding,) = scenario.compare().findings
        assert finding.kind is Kind.MISSING
        assert "Kafka has 14 records for _quarantine, the first at offset 0" in finding.message


SCHEMA = RowSchema(
    fields=(
        FieldSpec(name="n", type="int32", required=True),
        FieldSpec(name="tags", type="list<struct<at: timestamp[ns], price: decimal(10,2)>>"),
        FieldSpec(name="times", type="map<string, struct<second: timestamp[s], day: date>>"),
    )
)


def events(count: int = 40) -> list[Record]:
    """Every fifth record is no row, every seventh has a null value."""

    def value(number: int) -> bytes | None:
        if number % 7 == 3:
            return None
        if number % 5 == 0:
            return b'{"n": "%d"}' % number
        tags = b'[{"at": "2026-11-21T05:00:00.123456789Z", "price": %d.5}]' % number
        times = b'{"x": {"second": "1969-12-31T23:59:%02dZ", "day": null}}' % (number % 60)
        fields = [b'"n": %d' % number, b'"tags": ' + tags, b'"times": ' + times, b'"x": 0']
        return b"{" + b", ".join(fields[:: -1 if number % 2 else 1]) + b"}"

    return simple(count, value)


@pytest.mark.parametrize("output", [PLAIN, *COLUMNAR], ids=name)
class TestRows:
    def test_rows_are_made_once_more(self, output: OutputSpec) -> None:
        written = events()
        world = Scenario(output, written, parser=JSON, schema=SCHEMA)
        assert sorted(one.name.path for one in world.objects) == ["", QUARANTINE]
        assert world.compare() == DeepResult([], len(written))

    def test_other_rows_are_noticed(self, output: OutputSpec) -> None:
        """Values that are no less rows than those in Kafka: only the content of the object tells."""
        written = events()
        disguised = [*written]
        disguised[12] = written[12]._replace(value=(written[12].value or b"").replace(b".5}", b".6}"))
        world = Scenario(output, disguised, parser=JSON, schema=SCHEMA)
        world.kafka = written
        kinds = {(finding.kind, finding.key) for finding in world.compare().findings}
        good = next(one.key for one in world.objects if one.name.path == "")
        assert kinds == {(Kind.WRONG_FACTS, good), (Kind.WRONG_CONTENT, good)}


@pytest.mark.parametrize("output", [PLAIN, *COLUMNAR], ids=name)
def test_columns_of_keys_are_made_once_more(output: OutputSpec) -> None:
    """Every fourth key is none, every ninth is bad; so are some of those with null values."""
    parser = Parsing(type="json", quarantine=QuarantineSpec(format="parquet"))
    key = {"json": {"fields": [{"name": "at", "type": "timestamp[s]", "required": True}]}}
    schema = replace(SCHEMA, key=KeySpec.model_validate(key).compiled)
    good = b'{"at": "2026-11-21T05:00:%02dZ"}'
    written = [
        one._replace(key=None if number % 4 == 0 else b"[" if number % 9 == 5 else good % (number % 60))
        for number, one in enumerate(events())
    ]
    scenario = Scenario(output, written, parser=parser, schema=schema, headers=True)
    assert sorted(one.name.path for one in scenario.objects) == ["", QUARANTINE]
    assert scenario.compare() == DeepResult([], len(written))
    if output is not PLAIN:  # which has no keys
        scenario.kafka = [one if one.offset != written[1].offset else one._replace(key=good % 59) for one in written]
        assert Kind.WRONG_CONTENT in scenario.kinds()


@pytest.mark.parametrize("schema", [AS_THEY_ARE, SCHEMA], ids=["values", "rows"])
def test_a_parquet_file_that_kafka_has_no_more_proves_itself(schema: RowSchema) -> None:
    def world() -> Scenario:
        made = Scenario(ROWS, [one for one in events() if one.offset % 5], parser=JSON, schema=schema)
        made.retain(made.end)
        made.log_start = made.end - 1
        return made

    whole = world()
    assert whole.kinds() in ([Kind.NOT_COMPARED], [])
    flipped = world()
    flipped.kafka = flipped.kafka[-1:]
    flipped.content(lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:])
    assert "it is no whole Parquet file" in flipped.message(Kind.WRONG_CONTENT)
    cut = world()
    cut.content(lambda content: content[:-9])
    assert "it is no whole Parquet file" in cut.message(Kind.WRONG_CONTENT)
    other = world()
    other.writing = writing(ROWS_ALONE, JSON, schema)
    assert "its columns are" in other.message(Kind.WRONG_CONTENT)


SORTED_BY: Final = [("value", True, False), ("kafka_timestamp", False, True)]


def sorted_as(
    places: Sequence[int], sorted_by: Sequence[tuple[str, bool, bool]] = SORTED_BY, some: Sequence[Record] = ()
) -> Scenario:
    """Return a sorted object whose rows stand at other places, in one row group; and what it says of their order."""
    found = Scenario(SORTED, some or simple(40))
    key = found.objects[0].key
    rows = pq.read_table(io.BytesIO(found.contents[key])).take([*places]).combine_chunks().to_batches()[0]
    found.contents[key] = written_rows([rows], [10] * rows.num_rows, rows.schema, sorted_by=sorted_by)
    return found


class TestSorted:
    def test_rows_in_another_order_show(self) -> None:
        assert sorted_as(range(40)).kinds() == []
        places = [0, 1, 2, 4, 3, *range(5, 40)]
        scenario = sorted_as(places)
        assert "in row 3 of its sorted row group 0 it holds" in scenario.message(Kind.WRONG_CONTENT)
        scenario.retain(30)
        assert "its row group 0 are not sorted" in scenario.message(Kind.WRONG_CONTENT)
        same = [one._replace(value=b"same", timestamp=7) for one in simple(40)]
        assert "in row 3 of its" in sorted_as(places, some=same).message(Kind.WRONG_CONTENT), "the order of equal ones"

    def test_a_row_that_is_lost_or_there_twice_shows(self) -> None:
        assert "of its sorted row group 0 it holds" in sorted_as(range(39)).message(Kind.WRONG_CONTENT)
        assert "in row 39 of its" in sorted_as([*range(39), 38]).message(Kind.WRONG_CONTENT)
        assert "it holds more than Kafka's records" in sorted_as([*range(40), 39]).message(Kind.WRONG_CONTENT)
        last = sorted_as([39], some=[one._replace(value=b"same", timestamp=7) for one in simple(40)])
        last.kafka = last.kafka[-1:] + [one._replace(offset=40 + one.offset) for one in last.kafka]
        assert Kind.WRONG_CONTENT in last.kinds()
