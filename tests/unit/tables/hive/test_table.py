"""The table of a topic: made once, given columns, and never anything else without a person."""

from dataclasses import replace
from typing import Any

import pytest

from logpersister.tables.errors import TableError
from logpersister.tables.hive.columns import HiveColumns, columns_of
from logpersister.tables.hive.folders import Partition
from logpersister.tables.hive.metastore import StoredTable
from tests.unit.tables.hive.fakes import BY_DAY, FIELDS, FakeMetastore, manifest, topic_of

NAME = ("lake", "clicks")
WIDE = [*FIELDS, {"name": "new", "type": "string"}]
WIDER = {"json": {"fields": WIDE}}


def made(metastore: FakeMetastore, **spec: Any) -> HiveColumns:
    resource = manifest(**spec)
    columns = columns_of(resource)
    topic_of(resource, metastore).table.ensure(columns)
    return columns


def test_a_table_is_made_over_the_folder_of_its_topic_and_gets_new_columns() -> None:
    metastore = FakeMetastore()
    made(metastore, table={"properties": {"comment": "clicks"}})
    assert metastore.tables == {
        NAME: StoredTable(
            {"userid": "bigint", "at": "timestamp"},
            (("dt", "string"),),
            "s3a://logs/raw/clicks",
            columns_of(manifest()).classes.input,
            {"comment": "clicks"},
            None,
        )
    }
    made(metastore, value=WIDER)
    assert metastore.tables[NAME].columns == {"userid": "bigint", "at": "timestamp", "new": "string"}
    metastore.calls.clear()
    made(metastore)
    assert metastore.calls == ["table"], "columns that files no longer have stay"


@pytest.mark.parametrize(
    ("other", "reason", "message"),
    [
        (
            {"location": "s3a://logs/raw/other"},
            "location",
            "is over s3a://logs/raw/other, and the topic is stored below",
        ),
        ({"input_format": "Text"}, "file-format", "has the input format Text, and files are read by .*drop the table"),
        ({"partition_columns": ()}, "partition-spec", r"is partitioned by \(\), and folders by \(dt\)"),
        ({"partition_columns": (("dt", "date"),)}, "partition-spec", r"is partitioned by \(dt date\)"),
        ({"columns": {"userid": "int"}}, "schema", "ALTER TABLE lake.clicks CHANGE COLUMN userid userid bigint"),
    ],
)
def test_what_only_a_person_can_change(other: dict[str, Any], reason: str, message: str) -> None:
    metastore = FakeMetastore()
    columns = made(metastore)
    metastore.tables[NAME] = replace(metastore.tables[NAME], **other)
    with pytest.raises(TableError, match=message) as failed:
        topic_of(manifest(), metastore).table.ensure(columns)
    assert (failed.value.reason, failed.value.retriable) == (reason, False)
    assert "change" not in metastore.calls


@pytest.mark.parametrize("location", ["s3://logs/raw/clicks", "s3n://logs/raw/clicks/"])
def test_a_table_of_somebody_else_may_name_the_folder_and_types_in_other_ways(location: str) -> None:
    metastore = FakeMetastore()
    columns = made(metastore)
    types = {"userid": "BIGINT", "at": "timestamp", "more": "int"}
    metastore.tables[NAME] = replace(metastore.tables[NAME], location=location, columns=types)
    topic_of(manifest(table={"create": False}), metastore).table.ensure(columns)


def test_without_create_a_table_is_asked_for() -> None:
    metastore = FakeMetastore()
    table = topic_of(manifest(table={"create": False}), metastore).table
    with pytest.raises(TableError, match="is not in the metastore; create it over the folder of the topic"):
        table.ensure(columns_of(manifest()))
    assert metastore.calls == ["table"]


def test_columns_that_others_have_taken_away_at_the_same_moment_are_added_again() -> None:
    metastore = FakeMetastore()
    made(metastore)
    lost = 2

    def forget(call: str) -> None:
        nonlocal lost
        if call == "change" and lost:
            lost -= 1
            metastore.tables[NAME] = replace(metastore.tables[NAME], columns={"userid": "bigint", "at": "timestamp"})

    metastore.after = forget
    made(metastore, value=WIDER)
    assert "new" in metastore.tables[NAME].columns
    lost = 100
    with pytest.raises(TableError, match="others change it again and again"):
        made(metastore, value={"json": {"fields": [*WIDE, {"name": "newer", "type": "bool"}]}})


def test_a_partition_that_is_refused_keeps_no_other_away() -> None:
    metastore = FakeMetastore()
    resource = manifest(output={"parquet": {}, "partitionBy": [*BY_DAY, {"offset": {"every": 10}}]})
    table = topic_of(resource, metastore).table
    table.ensure(columns_of(resource))
    partitions = [Partition(("2026-11-21", str(number)), f"dt=2026-11-21/offset={number}") for number in range(250)]
    metastore.refused = {partitions[3].values, partitions[240].values}
    refused = table.add(table.load(None), partitions)
    assert set(refused) == {partitions[3], partitions[240]}
    assert len(metastore.registered) == 248
    assert metastore.registered["2026-11-21", "7"] == "s3a://logs/raw/clicks/dt=2026-11-21/offset=7"
    metastore.refused = set()
    assert table.add(table.load(None), partitions) == {}, "those that are there are fine"
