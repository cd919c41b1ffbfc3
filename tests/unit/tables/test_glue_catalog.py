"""Iceberg's tables in Glue, as moto answers. It ignores the version of a table: what is tested is that it is sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.tables.catalog import IcebergTable, open_catalog
from logpersister.tables.offsets import Numbering, held_by
from tests.unit.tables.samples import GROUP, TOPIC_ID, columns, manifest, table_file

pytestmark = pytest.mark.slow  # moto takes seconds to load


@pytest.fixture
def secrets() -> Iterator[Secrets]:
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    with mock_aws():
        yield Secrets({f"LOGPERSISTER_SECRET_GLUE_{name}": value for name, value in keys.items()})


def test_rows_are_appended_by_the_version_that_was_read(secrets: Secrets, tmp_path: Path) -> None:
    glue = {"type": "glue", "region": "eu-west-1", "warehouse": f"file://{tmp_path}", "secretName": "glue"}
    spec = manifest(table={"catalog": glue, "name": "Lake.{topic}"}).spec.table
    assert spec is not None
    catalog: Any = open_catalog(spec.catalog, StorageSpec(bucket="logs"), secrets)
    table = IcebergTable(catalog, spec, "clicks", 1, GROUP, "logs")
    binding = table.ensure(columns())
    assert (table.name, binding.partition) == ("lake.clicks", ("dt",))
    sent: list[str] = []
    catalog.glue.meta.events.register(
        "before-call.glue.UpdateTable", lambda params, **_: sent.append(str(params["body"]))
    )
    file, clicks = table_file(0, 5), Numbering(1, TOPIC_ID)
    before = catalog.glue.get_table(DatabaseName="lake", Name="clicks")["Table"]["VersionId"]
    table.load().append([file], {clicks: {0: 5}})
    assert [(one.file.key, one.file.records) for one in table.load().files()] == [(f"s3://logs/{file.key}", 5)]
    assert held_by(table.load().view) == {clicks: {0: 5}}
    assert [f'"VersionId": "{before}"' in one for one in sent] == [True]
    assert list(tmp_path.glob("lake.db/clicks/metadata/*.metadata.json")), "where the warehouse says"
