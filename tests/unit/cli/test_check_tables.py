"""What ``logpersister check`` says of tables that cannot promise everything."""

from typing import Any

import pytest

from logpersister.cli.check import _table
from tests.unit.tables.hive.fakes import manifest

HIVE = {"type": "hive", "uri": "thrift://metastore:9083"}


@pytest.mark.parametrize(
    ("table", "warns"),
    [
        ({"format": "iceberg", "catalog": HIVE}, True),
        ({"format": "iceberg", "catalog": {"type": "glue"}}, False),
        ({"format": "iceberg", "catalog": {"type": "rest", "uri": "https://c"}}, False),
        ({"format": "hive", "catalog": HIVE}, False),
    ],
)
def test_an_iceberg_table_in_a_metastore_is_warned_of(table: dict[str, Any], warns: bool) -> None:
    findings = list(_table(manifest(table=table).spec))
    assert [one.verdict for one in findings] == ["warning"] * warns
    assert all("a lock there is no compare-and-set" in one.message for one in findings)
