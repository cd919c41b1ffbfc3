"""What ``logpersister check`` says of values and keys whose schema stands in the manifest."""

import json
import re
from typing import Any

import pytest

from logpersister.cli.check.command import findings_of
from logpersister.cli.check.finding import Finding
from logpersister.cli.check.spec import columns_findings, left_out_findings, messages_findings, quarantine_findings
from logpersister.cli.exits import CommandError, Exit
from logpersister.manifest.secrets import Secrets
from tests.unit.manifest.documents import accepted


@pytest.mark.parametrize(("type_", "is_row"), [("int64", True), ("string", False)])
def test_it_says_which_field_no_message_fits(type_: str, is_row: bool) -> None:
    message = {"schema": "message Order { optional int64 id = 1; }", "fields": [{"name": "id", "type": type_}]}
    changes = {"spec.value": {"protobuf": message}}
    told = (
        "the fields of spec.value: id: the writer's message has int64, which cannot become string; "
        "all records would go into quarantine; correct the field or the schema of the values"
    )
    assert list(messages_findings(accepted(changes).spec)) == ([] if is_row else [Finding("schema", "warning", told)])


def test_it_says_what_becomes_of_times_that_columns_do_not_hold() -> None:
    types = {"s": "timestamp[s]", "ms": "list<timestamp[ms]>", "of_day": "time[ms]", "ns": "timestamp[ns]"}
    fields: list[dict[str, Any]] = [{"name": name, "type": type_} for name, type_ in types.items()]
    fields += [{"name": f"in_{unit}", "type": "timestamp[ms]", "format": f"epoch[{unit}]"} for unit in ("ms", "us")]
    found = [one.message for one in columns_findings(accepted({"spec.value": {"json": {"fields": fields}}}).spec)]
    cut = "digits of a second finer than"
    assert found == [f"s: {cut} s are cut off", f"ms, of_day, in_us: {cut} ms are cut off"]

    local = {"type": "long", "logicalType": "local-timestamp-nanos"}
    avro = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "at", "type": local}]})
    (zone,) = columns_findings(accepted({"spec.value": {"avro": {"schema": avro}}}).spec)
    assert zone.message == "at: a local-timestamp-nanos has no zone, and is taken as UTC"


DOCUMENTS: dict[str, Any] = {"spec.value": {"json": {}}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, []),
        (DOCUMENTS, ["spec"]),
        (DOCUMENTS | {"spec.quarantine": {"format": "parquet"}}, []),
        (DOCUMENTS | {"spec.output": {"avro": {}}}, []),
        (
            DOCUMENTS
            | {
                "spec.overrides": [
                    {"topics": ["clicks"], "quarantine": {"holdAbove": "5%"}},
                    {"topics": ["orders"], "output": {"jsonl": {}}},
                ],
                "spec.kafka.topics": ["clicks", "orders"],
            },
            ["spec", "spec.overrides[0]"],
        ),
    ],
)
def test_it_says_whose_refused_records_are_not_kept_whole(spec: dict[str, Any], told: list[str]) -> None:
    found = list(quarantine_findings(accepted(spec).spec))
    assert [one.message.partition(".quarantine.format: format ")[0] for one in found] == told
    assert all(one.verdict == "warning" and one.message.endswith("set it to parquet") for one in found)


ENV: dict[str, Any] = {"header": "env", "in": ["prod"]}
ORDERS: dict[str, Any] = {"topics": ["orders"], "output": {"avro": {}}}
BY_HEADER: dict[str, Any] = {
    "header": "event-type",
    "entries": [{"names": ["signup"], "value": {"json": {}}, "keep": [ENV]}],
}
IN_ORC: dict[str, Any] = {"spec.output": {"orc": {"tombstones": "null"}}}


def of_rows(*, required: bool) -> dict[str, Any]:
    return {"spec.value": {"json": {"fields": [{"name": "a", "type": "int8", "required": required}]}}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, ["are in no file (tombstones: skip)"]),
        ({"spec.output": {"sequencefile": {}}}, ["are stored as empty values (tombstones: empty)"]),
        (IN_ORC, []),
        (
            IN_ORC | of_rows(required=False),
            ["are rows like those of values whose fields are all null, because no field is required (tombstones"],
        ),
        (
            {"spec.types": {**BY_HEADER, "entries": [{"names": ["a"], "output": {"avro": {}}}, {"names": ["b"]}]}},
            ["are in no file (tombstones: skip)"],
        ),
    ],
)
def test_it_says_what_becomes_of_records_without_a_value(spec: dict[str, Any], told: list[str]) -> None:
    found = [one.message for one in left_out_findings(accepted(spec).spec) if "tombstones" in one.message]
    assert [
        one.removeprefix("records without a value ")[: len(start)] for one, start in zip(found, told, strict=True)
    ] == told


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"spec.output": {"avro": {}}}, ["spec avro spec header env"]),
        (
            {"spec.output": {"orc": {}}, "spec.keep": [{"header": "b", "in": ["x"]}, ENV]},
            ["spec orc spec header b, header env"],
        ),
        ({"spec.output": {"avro": {"kafkaColumns": ["headers"]}}}, []),
        ({"spec.output": {"avro": {}}, "spec.quarantine": {"format": "parquet"}}, []),
        ({"spec.output": {"jsonl": {}}}, []),  # without a schema lines have headers
        (
            {"spec.output": {"jsonl": {}}, "spec.keep": [], "spec.overrides": [ORDERS | {"keep": [ENV]}]},
            ["spec avro spec.overrides[0] header env"],
        ),
    ],
)
def test_it_says_whose_refused_records_lack_the_headers_of_conditions(spec: dict[str, Any], told: list[str]) -> None:
    common = DOCUMENTS | {"spec.keep": [ENV], "spec.kafka.topics": ["clicks", "orders"]}
    found = list(quarantine_findings(accepted(common | spec).spec))
    assert all(one.verdict == "warning" and one.message.endswith("set it to parquet") for one in found)
    form = re.compile(
        r"(.*)[.]quarantine[.]format: format (\w+) does not keep headers of a record that the parser refuses, "
        r"and (.*)[.]keep has conditions on (.*), so logpersister quarantine replay cannot store it again; set it .*"
    )
    assert [form.sub(r"\1 \2 \3 \4", one.message) for one in found] == told


def test_a_secret_that_cannot_be_used_ends_no_look_at_anything_else() -> None:
    changes: dict[str, Any] = {
        "spec.kafka.bootstrapServers": "127.0.0.1:9",
        "spec.kafka.security": {"protocol": "SSL", "caSecretName": "absent"},
        "spec.storage.secretName": "absent",
        "spec.output": {"parquet": {}},
        "spec.quarantine": {"keepValue": False},
        "spec.value": {
            "json": {"fields": [{"name": "id", "type": "int64"}]},
            "hash": {"secretName": "absent", "fields": ["id"]},
        },
    }
    failures: list[CommandError] = []
    found = list(findings_of(accepted(changes), Secrets({}), 2.0, failures.append, told=True))
    failed = {one.subject: one.message for one in found if one.verdict == "failed"}
    assert list(failed) == ["schema", "kafka", "bucket"]
    assert all("names the Secret absent, whose key" in told for told in failed.values())
    assert [error.code for error in failures] == [Exit.INVALID] * 3


@pytest.mark.slow
def test_each_copy_is_looked_at_and_no_member_waits_for_one() -> None:
    changes = {
        "spec.kafka.bootstrapServers": "127.0.0.1:9",
        "spec.storage.endpoint": "http://127.0.0.1:9",
        "spec.storage.copies": [
            {"bucket": "near", "endpoint": "http://127.0.0.1:9"},
            {"bucket": "far", "endpoint": "http://127.0.0.1:9", "secretName": "absent"},
        ],
        "spec.output": {"archive": {}, "partitionBy": [{"date": {"granularity": "hour"}}]},
        "spec.finish": {"policy": ["archive"]},
    }
    failed: dict[str, str] = {}
    for told, expected in ((False, []), (True, ["copy 1", "copy 2"])):
        found = list(findings_of(accepted(changes), Secrets({}), 3.0, lambda _: None, told=told))
        failed = {one.subject: one.message for one in found if one.verdict == "failed"}
        assert [one for one in failed if one not in ("kafka", "bucket")] == expected
    assert "spec.storage.copies[0]: copy 1 (s3://near/)" in failed["copy 1"]
    assert "check the keys of spec.storage.copies[0].secretName" in failed["copy 1"]
    assert "spec.storage.copies[1].secretName: names the Secret absent" in failed["copy 2"]
