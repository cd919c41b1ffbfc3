"""Tables by pyiceberg, in a real catalog: created, given columns, appended to once, and never guessed about."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from logpersister.tables.catalog import IcebergTable
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import ACCEPTED, Held, Numbering, held_by
from tests.unit.tables.samples import GROUP, TOPIC_ID, catalog_in, columns, table_file, table_in

pytestmark = pytest.mark.slow
CLICKS = Numbering(1, TOPIC_ID)
NAME = ("lake", "clicks")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = catalog_in(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def table(catalog: Catalog) -> IcebergTable:
    """The table of clicks, as it was just made."""
    made = table_in(catalog)
    made.ensure(columns())
    return made


def reason(error: "pytest.ExceptionInfo[TableError]") -> str:
    return error.value.reason


def held(end: int) -> Held:
    return {CLICKS: {0: end}}


def append(table: IcebergTable, *ranges: tuple[int, int]) -> None:
    table.load().append([table_file(*one) for one in ranges], held(ranges[-1][1]))


def live(table: IcebergTable) -> Counter[str]:
    return Counter(one.file.key for one in table.load().files())


def test_it_is_created_once_with_the_columns_of_files_and_folders(catalog: Catalog) -> None:
    binding = table_in(catalog).ensure(columns())
    assert table_in(catalog).ensure(columns()) == binding
    made = catalog.load_table(NAME)
    assert binding.uuid == str(made.metadata.table_uuid)
    assert [str(field) for field in made.spec().fields] == ["1000: dt: identity(7)"]
    assert {path: made.schema().find_field(number).name for path, number in binding.field_ids.items()} == {
        path: path.rpartition(".")[2] for path in binding.field_ids
    }
    assert set(binding.field_ids) == {
        *("id", "at", "geo", "geo.country", "geo.lat", "tags", "tags.element", "counts", "counts.key"),
        *("counts.value", "kafka_offset"),
    }
    assert not any(field.required for field in made.schema().fields)
    assert made.properties["logpersister.group"] == GROUP
    assert made.properties["write.delete.isolation-level"] == "snapshot"


def test_columns_are_added_and_widened_and_nothing_else(catalog: Catalog) -> None:
    table = table_in(catalog)
    before = table.ensure(columns())
    wider = [
        {"name": "id", "type": "int64"},
        {"name": "geo", "type": "struct<country: string, lat: float64, city: string>"},
        {"name": "new", "type": "decimal(10,2)"},
    ]
    after = table.ensure(columns(wider))
    shared = before.field_ids.keys() & after.field_ids.keys()
    assert {path: before.field_ids[path] for path in shared} == {path: after.field_ids[path] for path in shared}
    schema = catalog.load_table(NAME).schema()
    assert str(schema.find_type("id")) == "long"
    assert str(schema.find_type("geo.lat")) == "double"
    assert {"at", "tags", "new"} <= set(schema.column_names), "columns that files have no more stay"
    assert table.ensure(columns()).field_ids == before.field_ids, "narrower files go into a wider table"
    with pytest.raises(TableError, match="Columns are added and widened, and nothing else") as error:
        table.ensure(columns([{"name": "id", "type": "string"}]))
    assert reason(error) == "schema"


def test_a_table_that_must_be_there_is_not_created(catalog: Catalog) -> None:
    with pytest.raises(TableError, match="is not in the catalog; create it") as error:
        table_in(catalog, create=False).ensure(columns())
    assert reason(error) == "no-table"
    assert not catalog.namespace_exists("lake")


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({}, {"topic": "orders"}),
        ({}, {"type_": "order"}),
        ({"type_": "order"}, {"type_": "refund"}),
    ],
)
def test_a_table_is_of_one_topic_or_type_of_one_group(
    catalog: Catalog, own: dict[str, str], other: dict[str, str]
) -> None:
    table_in(catalog, name="lake.clicks", **own).ensure(columns())
    with pytest.raises(TableError, match="names another one") as error:
        table_in(catalog, name="lake.clicks", **other).ensure(columns())
    assert reason(error) == "other-owner"


def test_a_table_of_somebody_else_is_taken_when_its_partitions_are_the_folders(catalog: Catalog) -> None:
    catalog.create_namespace("lake")
    schema = Schema(NestedField(5, "id", LongType()), NestedField(9, "dt", StringType()))
    with catalog.create_table_transaction(NAME, schema) as made:
        made.update_spec().add_identity("dt").commit()
    binding = table_in(catalog, create=False).ensure(columns())
    assert binding.partition == ("dt",)
    append(table_in(catalog), (0, 5))
    assert live(table_in(catalog)).total() == 1


def test_other_partitions_are_refused(catalog: Catalog) -> None:
    catalog.create_namespace("lake")
    schema = Schema(NestedField(1, "at", TimestamptzType()))
    with catalog.create_table_transaction(NAME, schema) as made:
        made.update_spec().add_field("at", DayTransform(), "day").commit()
    with pytest.raises(TableError, match="folders by") as error:
        table_in(catalog).ensure(columns())
    assert reason(error) == "partition-spec"


def test_a_required_column_that_files_do_not_have_is_refused(catalog: Catalog) -> None:
    catalog.create_namespace("lake")
    schema = Schema(NestedField(1, "must", LongType(), required=True), NestedField(2, "dt", StringType()))
    with catalog.create_table_transaction(NAME, schema) as made:
        made.update_spec().add_identity("dt").commit()
    with pytest.raises(TableError, match="requires column must") as error:
        table_in(catalog).ensure(columns())
    assert reason(error) == "schema"


def test_a_snapshot_says_what_the_table_holds(table: IcebergTable) -> None:
    assert held_by(table.load().view) == {}
    append(table, (0, 5), (5, 9))
    assert held_by(table.load().view) == held(9)
    assert live(table) == {f"s3://logs/{table_file(*one).key}": 1 for one in ((0, 5), (5, 9))}
    table.load().append([], held(12))
    assert held_by(table.load().view) == held(12), "ranges without rows move it, too"
    assert live(table).total() == 2


def test_who_comes_late_appends_nothing(table: IcebergTable) -> None:
    first, second = table.load(), table.load()
    first.append([table_file(0, 5)], held(5))
    with pytest.raises(TableError) as error:
        second.append([table_file(0, 5)], held(5))
    assert reason(error) == "conflict"
    assert live(table).total() == 1


def test_one_snapshot_takes_files_out_and_puts_others_in(table: IcebergTable) -> None:
    append(table, (0, 10), (10, 20))
    [first, second] = sorted((one.file for one in table.load().files()), key=lambda one: one.key)
    assert replace(first, key=first.key.removeprefix("s3://logs/")) == table_file(0, 10)
    new = replace(table_file(0, 10), key=table_file(0, 10).key.replace("/1_", "/2_"), partition=(None,))
    stale = table.load()
    table.load().append([new], held(20), [table_file(0, 10)], "segments")
    loaded = table.load()
    assert live(table) == {second.key: 1, f"s3://logs/{new.key}": 1}
    assert (loaded.view.shown, held_by(loaded.view), len(loaded.view.ancestors)) == ("segments", held(20), 2)
    with pytest.raises(TableError, match="others have changed it meanwhile"):
        stale.append([], held(20), [table_file(10, 20)], "")
    with pytest.raises(TableError, match="Missing required files to delete"):
        table.load().append([], held(20), [table_file(0, 10)], "")
    append(table, (20, 30))
    assert table.load().view.shown == "segments"


def test_a_lost_answer_is_not_sent_again(
    catalog: Catalog, table: IcebergTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, sent = catalog.commit_table, []

    def loses_the_answer(*arguments: Any) -> None:
        sent.append(commit(*arguments))
        raise OSError("the connection broke")

    monkeypatch.setattr(catalog, "commit_table", loses_the_answer)
    with pytest.raises(TableError, match="the connection broke") as error:
        append(table, (0, 5))
    assert (reason(error), len(sent)) == ("unavailable", 1)
    assert held_by(table.load().view) == held(5), "it had happened"


def test_a_rollback_is_seen_and_asked_about(catalog: Catalog, table: IcebergTable) -> None:
    append(table, (0, 5))
    append(table, (5, 9))
    real = catalog.load_table(NAME)
    first, _ = (snapshot.snapshot_id for snapshot in real.snapshots())
    real.manage_snapshots().rollback_to_snapshot(first).commit()
    with pytest.raises(TableError, match=rf"set its property {ACCEPTED} to {first}") as error:
        held_by(table.load().view)
    assert reason(error) == "rolled-back"
    real = catalog.load_table(NAME)
    with real.transaction() as change:
        change.set_properties({ACCEPTED: str(first)})
    assert held_by(table.load().view) == held(9), "the rows stay away, and nothing is appended twice"
    append(table, (9, 12))
    assert held_by(table.load().view) == held(12)
    assert live(table).total() == 2


def test_a_table_that_was_made_anew_is_another_one(catalog: Catalog) -> None:
    table = table_in(catalog)
    before = table.ensure(columns())
    catalog.drop_table(NAME)
    with pytest.raises(TableError, match=r"raise spec\.generation") as error:
        table.load()
    assert reason(error) == "no-table"
    assert table.ensure(columns()).uuid != before.uuid
