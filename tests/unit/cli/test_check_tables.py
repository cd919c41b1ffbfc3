"""What ``logpersister check`` says of tables that cannot promise everything."""

from typing import Any

import pytest

from logpersister.cli.check import _metastore, _table
from logpersister.cli.exits import UnreachableError
from logpersister.manifest.secrets import Secrets
from tests.unit.tables.hive.fakes import manifest

NOWHERE = {"type": "hive", "uri": "thrift://127.0.0.1:1"}
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


def test_a_metastore_that_does_not_answer_is_told() -> None:
    told = r"spec\.table: table lake\.clicks: thrift://127\.0\.0\.1:1 does not answer .*check spec\.table\.catalog\.uri"
    with pytest.raises(UnreachableError, match=told):
        list(_metastore(manifest(table={"catalog": NOWHERE}), Secrets({}), 1))
    iceberg = manifest(table={"format": "iceberg", "catalog": HIVE})
    assert list(_metastore(iceberg, Secrets({}), 1)) == []
