"""What ``logpersister check`` says of columns that a registry declares."""

import pytest

from logpersister.cli.check.finding import Finding
from logpersister.cli.check.registry import all_columns_findings, columns_findings
from logpersister.registry import RegistryError, TopicSchemas
from tests.unit.manifest.documents import accepted
from tests.unit.registry.test_schemas import BY_REGISTRY, V1, FakeClient, record, schemas, versions

TEXT = record(id="string")


def found_of(*texts: str, compares: bool = True) -> list[Finding]:
    client = FakeClient({"clicks-value": versions(*texts)} if texts else {})
    return list(columns_findings(TopicSchemas(accepted(BY_REGISTRY), [schemas(client)]), "clicks", compares=compares))


@pytest.mark.parametrize("texts", [(V1,), (V1, V1)])
def test_it_says_which_version_declares_the_columns(texts: tuple[str, ...]) -> None:
    assert found_of(*texts) == [Finding("registry", "ok", f"clicks: 1 column of version {len(texts)}")]


def test_it_says_which_earlier_versions_go_into_quarantine_and_why() -> None:
    _, found = found_of(TEXT, V1, record(other="long"), TEXT, V1)
    told = (
        "clicks: version 5 cannot read all versions before it: "
        "id: the writer's schema has string, which cannot become int64 (version 1, 4), "
        "id: it is required, has no default, and is not in the writer's schema (version 3); "
        "records of those go into quarantine; set spec.schema.registry.version to a version that reads them, or name "
        "the columns in spec.schema.fields, or replay these records out of quarantine later "
        "(docs/schemas.md#columns-from-the-registry)"
    )
    assert found == Finding("registry", "warning", told)


def test_the_start_of_a_member_asks_for_no_earlier_version() -> None:
    assert [one.verdict for one in found_of(TEXT, V1, compares=False)] == ["ok"]


def test_a_subject_that_is_not_there_is_a_warning() -> None:
    (found,) = found_of()
    assert (found.verdict, found.message.startswith("clicks: schema registry")) == ("warning", True)


def test_it_says_what_columns_do_not_hold_and_which_fields_are_left_out() -> None:
    infinite = {"type": "long", "logicalType": "timestamp-micros"}
    both = ["long", "double"]
    found = found_of(record(id="long", v=both, w=both, at={"type": infinite}, odd=["string", "int"]), compares=False)
    refused = "refuses the record (overflow), unless spec.parser.faults sets it to null"
    assert found[1:] == [
        Finding(
            "registry", "ok", f"clicks: v, w: a long that no float64 is exactly (from 9007199254740993 on) {refused}"
        ),
        Finding(
            "registry",
            "ok",
            f"clicks: at: a timestamp-micros before the year 1 or after 9999, such as infinity, {refused}",
        ),
        Finding("registry", "warning", "clicks: odd: left out, because it is one of several types"),
    ]


def test_a_topic_whose_schema_cannot_be_columns_keeps_no_other_from_starting() -> None:
    client = FakeClient({"clicks-value": versions(V1), "orders-value": versions('"string"')})
    known = TopicSchemas(accepted(BY_REGISTRY), [schemas(client)])
    good, bad = all_columns_findings(known, ["orders", "clicks"], compares=False)
    assert (good.verdict, bad.verdict) == ("ok", "warning")
    assert bad.message.startswith("orders: ")
    assert bad.message.endswith("; this topic waits, and all others do not")
    for topics, compares in ((["orders"], False), (["clicks", "orders"], True)):
        with pytest.raises(RegistryError):
            list(all_columns_findings(known, topics, compares=compares))
