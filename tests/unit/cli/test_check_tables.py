"""What ``logpersister check`` says of tables that cannot promise everything."""

from typing import Any

import pytest

from logpersister.cli.check.tables import metastore_findings, table_findings, table_names_findings
from logpersister.cli.exits import UnreachableError
from logpersister.manifest.secrets import Secrets
from tests.unit.tables.hive.fakes import manifest

NOWHERE = {"type": "hive", "uri": "thrift://127.0.0.1:1"}
HIVE = {"type": "hive", "uri": "thrift://metastore:9083"}
SQL = {"type": "sql", "name": "prod", "uri": "sqlite:///c.db"}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"format": "iceberg", "catalog": HIVE}, "warning a lock there is no compare-and-set"),
        ({"format": "iceberg", "catalog": {"type": "glue"}}, "ok in the glue catalog glue"),
        ({"format": "iceberg", "catalog": SQL}, "ok sqlite:///c.db under the name prod"),
        ({"format": "hive", "catalog": HIVE}, ""),
    ],
)
def test_catalogs_of_iceberg_tables_are_told(table: dict[str, Any], told: str) -> None:
    findings = list(table_findings(manifest(table=table).spec))
    verdict, _, words = told.partition(" ")
    assert [one.verdict for one in findings] == [verdict] * bool(told)
    assert all(words in one.message for one in findings)


def test_topics_that_would_have_one_table_are_named() -> None:
    spec = manifest(table={"name": "lake.{topic}"}).spec
    (found,) = table_names_findings(spec, ["orders.eu", "clicks", "orders-eu"])
    assert found.message.startswith("spec.table.name: orders-eu, orders.eu would all have table lake.orders_eu;")
    assert found.message.endswith("give them other names by the table of an entry of spec.overrides")
    assert list(table_names_findings(spec, ["orders.eu", "clicks"])) == []
    topics = ["orders-eu", "orders.eu"]
    renamed = [{"topics": ["orders.eu"], "table": {"name": "lake.orders_of_eu"}}]
    kafka = {"bootstrapServers": "a:9092", "topics": topics}
    assert list(table_names_findings(manifest(overrides=renamed, kafka=kafka).spec, topics)) == []


def test_a_metastore_that_does_not_answer_is_told() -> None:
    told = r"spec\.table: table lake\.clicks: thrift://127\.0\.0\.1:1 does not answer .*check spec\.table\.catalog\.uri"
    with pytest.raises(UnreachableError, match=told):
        list(metastore_findings(manifest(table={"catalog": NOWHERE}), Secrets({}), 1))
    iceberg = manifest(table={"format": "iceberg", "catalog": HIVE})
    assert list(metastore_findings(iceberg, Secrets({}), 1)) == []
