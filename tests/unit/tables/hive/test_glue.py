"""Glue's API as moto answers it. moto ignores the version of a table, so its compare-and-set is not tested here."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from logpersister.manifest.secrets import Secrets
from logpersister.member.hive_tables import topic_opener
from logpersister.tables.errors import TableError
from logpersister.tables.hive import glue_client
from logpersister.tables.hive.columns import columns_of
from logpersister.tables.hive.folders import Partition
from logpersister.tables.hive.glue_client import GlueMetastore
from logpersister.tables.hive.table import REGISTERED, HiveTable
from tests.unit.tables.hive.fakes import FIELDS, TOPIC, manifest

pytestmark = pytest.mark.slow  # moto takes seconds to load

GLUE = {"catalog": {"type": "glue", "region": "eu-west-1"}}
NAME = ("lake", "clicks")
WIDER = {"json": {"fields": [*FIELDS, {"name": "new", "type": "string"}]}}


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


def table_of(**spec: Any) -> HiveTable:
    resource = manifest(table=GLUE, **spec)
    assert resource.spec.table is not None
    return topic_opener(resource, resource.spec.table, Secrets({}))(TOPIC).table


def glue() -> Any:
    return boto3.client("glue", region_name="eu-west-1")


def test_a_table_gets_columns_and_partitions() -> None:
    table = table_of()
    for _ in range(2):
        table.ensure(columns_of(manifest()))
    stored = glue().get_table(DatabaseName="lake", Name="clicks")["Table"]
    assert stored["StorageDescriptor"]["Location"] == "s3://logs/raw/clicks"
    assert stored["TableType"] == "EXTERNAL_TABLE"
    table_of(value=WIDER).ensure(columns_of(manifest(value=WIDER)))
    loaded = table.load(None)
    assert loaded.columns == {"userid": "bigint", "at": "timestamp", "new": "string"}
    partitions = [Partition((f"2026-{number:04d}",), f"dt=2026-{number:04d}") for number in range(150)]
    for _ in range(2):
        assert table.add(loaded, partitions) == {}
    assert sorted(table.partitions()) == [one.values for one in partitions]
    found = glue().get_partition(DatabaseName="lake", TableName="clicks", PartitionValues=["2026-0007"])["Partition"]
    assert found["StorageDescriptor"]["Location"] == "s3://logs/raw/clicks/dt=2026-0007"
    assert "Columns" not in found["StorageDescriptor"], "those of the table are meant, also later ones"
    table.set_registered("onFirstObject")
    assert table.load(None).parameters[REGISTERED] == "onFirstObject"
    assert table.load(None).columns == loaded.columns


def test_the_version_that_was_read_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    metastore = GlueMetastore("eu-west-1", None, None)
    table = replace(table_of(), metastore=metastore)
    table.ensure(columns_of(manifest()))
    sent: list[Any] = []
    monkeypatch.setattr(metastore._client, "update_table", lambda **arguments: sent.append(arguments))
    version = glue().get_table(DatabaseName="lake", Name="clicks")["Table"]["VersionId"]
    metastore.change(*NAME, [("new", "string")], {})
    assert sent[0]["VersionId"] == version
    assert set(sent[0]["TableInput"]) <= set(glue_client._TAKEN)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ConcurrentModificationException", "conflict"),
        ("AccessDeniedException", "unauthorized"),
        ("InvalidInputException", "refused"),
        ("InternalServiceException", "unavailable"),
    ],
)
def test_what_glue_says_is_told_with_a_reason(code: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metastore = GlueMetastore("eu-west-1", None, None)

    def fail(**_: Any) -> None:
        raise metastore._client.exceptions.ClientError({"Error": {"Code": code, "Message": "why"}}, "GetTable")

    monkeypatch.setattr(metastore._client, "get_table", fail)
    with pytest.raises(TableError, match=r"Glue: .*why") as failed:
        metastore.table(*NAME)
    assert failed.value.reason == reason
    assert ("print-policy" in str(failed.value)) is (reason == "unauthorized")
