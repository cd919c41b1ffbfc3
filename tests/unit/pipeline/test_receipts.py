"""Receipts: what the table is told of the objects of a range is the same whoever executes it."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logpersister.formats.base import ObjectIdentity
from logpersister.formats.parquet.field_ids import with_field_ids
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.revisions.table_binding import TableBinding
from logpersister.pipeline.receipts import Receipts
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import Range, TopicPartition
from logpersister.records.type_names import TypeNames
from logpersister.storage.object_requests import StoredObject
from logpersister.storage.receipts import NO_TYPE, Receipt, ReceiptName, TableFiles, list_receipts, read_receipts
from tests.unit.formats.samples import Record, batch
from tests.unit.replay.bucket import Bucket

IDS = {"value": 7, "kafka_offset": 9}
BINDING = TableBinding("lake.clicks", "uuid", 2, 1, ("dt", "country"), IDS)
RANGE = Range(TopicPartition("clicks", 3), 100, 200)


class Writer:
    """A range that is written."""

    def __init__(self, *files: tuple[str, StoredObject, Mapping[str, Any]], read_from: int = 100) -> None:
        self.work = RangeWork(RANGE, "id", 4, 0, read_from)
        self.files = files
        self.others: list[str] = []

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.files] + self.others

    def table_files(self) -> Iterator[tuple[str, StoredObject, Mapping[str, Any]]]:
        yield from self.files


def written(path: str, records: int) -> tuple[bytes, Mapping[str, Any] | None]:
    """Return a file of the format, and what a table is told of it."""
    output = OutputSpec.model_validate({"parquet": {"kafkaColumns": ["offset"]}})
    encoder: Any = make_format(output, field_ids=IDS).encoder(ObjectIdentity(RANGE, path))
    values = batch([Record(n, n, b"k", b"value-%02d" % n) for n in range(records)])
    content = b"".join(map(bytes, [*encoder.encode(values), *encoder.finish()]))
    return content, encoder.table_facts()


def receipt_of(bucket: Bucket, writer: Writer, **of: Any) -> Receipt:
    store, anything = bucket.store, cast("Any", writer)
    Receipts(store, "group", "revision", **({"bindings": {NO_TYPE: BINDING}} | of)).leave(anything)
    [(name, _)] = list_receipts(store, "group", "clicks")
    assert name == ReceiptName(4, 3, 100)
    [receipt] = read_receipts(store, "group", "clicks", [name])
    return receipt


def left(bucket: Bucket, writer: Writer) -> TableFiles:
    """Return what is left for the table of a topic without types."""
    receipt = receipt_of(bucket, writer)
    assert (receipt.range, receipt.generation, receipt.without) == (RANGE, 4, ())
    return receipt.tables[NO_TYPE]


def test_a_file_has_ids_and_its_receipt_has_them_too() -> None:
    content, facts = written("dt=2026-11-21", 3)
    assert facts is not None
    schema = pq.ParquetFile(io.BytesIO(content)).schema_arrow
    assert {field.name: (field.metadata or {})[b"PARQUET:field_id"] for field in schema} == {
        "value": b"7",
        "kafka_offset": b"9",
    }
    stored = StoredObject("raw/clicks/x.parquet", len(content))
    of_table = left(Bucket(), Writer(("dt=2026-11-21/country=a%2Fb", stored, facts)))
    [file] = of_table.files
    assert (of_table.table, of_table.spec_id) == ("uuid", 1)
    assert (file.key, file.bytes, file.records, file.partition) == (stored.key, len(content), 3, ("2026-11-21", "a/b"))
    assert set(file.columns) == {"7", "9"}


def test_ranges_without_rows_have_a_receipt_and_no_file() -> None:
    _, empty = written("", 0)
    assert left(Bucket(), Writer()).files == ()
    assert empty is not None
    assert left(Bucket(), Writer(("", StoredObject("raw/clicks/x.parquet", 500), empty))).files == ()


def test_each_type_has_its_files_and_all_others_are_named() -> None:
    """Of `c` there is nothing, `b` has an object without rows, and `outside` has one, but no table for now."""
    (_, facts), (_, empty) = written("type=a/dt=2026-11-21", 3), written("type=b", 0)
    assert facts is not None
    assert empty is not None
    keys = {name: StoredObject(f"raw/clicks/{name}.parquet", 100) for name in ("1", "2", "3")}
    late = "_late/type=a/dt=2"
    writer = Writer(("type=a/dt=1", keys["1"], facts), (late, keys["2"], facts), ("type=b", keys["3"], empty))
    writer.others = ["_late/type=outside/dt=1", "_quarantine"]
    types = TypesSpec.model_validate({"header": "h", "entries": [{"names": ["a", "b", "c", "outside"]}]})
    bindings = {name: replace(BINDING, uuid=name, field_ids=IDS) for name in ("a", "b", "c")}
    names = TypeNames(types)
    bucket = Bucket()
    receipt = receipt_of(bucket, writer, bindings=bindings, names=names, types=["a", "b", "c", "outside"])
    assert {name: one.table for name, one in receipt.tables.items()} == {"a": "a"}
    assert [(file.key, file.partition) for file in receipt.tables["a"].files] == [
        (keys["2"].key, ("2",)),
        (keys["1"].key, ("1",)),
    ]
    assert receipt.without == ("b", "c")
    assert [receipt.document()] == [bucket.get_json(key) for key in bucket.objects]


def test_late_rows_are_rows_of_the_partition_of_their_own_folder() -> None:
    content, facts = written("_late/dt=2026-11-21/country=a%2Fb", 3)
    assert facts is not None
    stored = StoredObject("raw/clicks/_late/dt=2026-11-21/country=a%2Fb/x.parquet", len(content))
    [file] = left(Bucket(), Writer(("_late/dt=2026-11-21/country=a%2Fb", stored, facts))).files
    assert (file.key, file.partition, file.records) == (stored.key, ("2026-11-21", "a/b"), 3)


@pytest.mark.parametrize("size", [10, 20_000], ids=["a small file", "a footer in two pieces"])
def test_what_an_earlier_execution_has_stored_is_what_the_table_is_told_of(size: int) -> None:
    bucket, sink = Bucket(), io.BytesIO()
    stored = StoredObject("raw/clicks/x.parquet", 5, existing=True)
    columns: dict[str, pa.DataType] = {"value": pa.binary(), "kafka_offset": pa.int64()}
    schema = with_field_ids(pa.schema(columns), IDS)
    rows = pa.Table.from_arrays([pa.array([b"x"] * size), pa.array(range(size))], schema=schema)
    pq.write_table(rows, sink, row_group_size=10, store_schema=False)
    bucket.objects[stored.key] = sink.getvalue(), {}
    _, less = written("", 2)
    assert less is not None
    [file] = left(bucket, Writer(("", stored, less), read_from=150)).files
    assert (file.records, file.bytes, len(file.splits)) == (size, len(sink.getvalue()), size // 10)
    [again] = left(bucket, Writer(("", stored, less))).files
    assert again.records == 2, "without a loss it is what this execution has written"
