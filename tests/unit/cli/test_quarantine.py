"""What ``quarantine ls`` and ``show`` make of the objects of every format, and of damaged ones."""

import argparse
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from typing import Any

import pytest

from logpersister.cli import quarantine
from logpersister.cli.exits import CommandError, Exit
from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.base import ObjectIdentity
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import revision_of
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Range, TopicPartition
from logpersister.storage import names
from logpersister.storage.names import ObjectName
from logpersister.storage.peek import Peeked
from logpersister.storage.store import ListedObject
from tests.unit.formats.samples import Record, batch, encode, with_headers
from tests.unit.manifest.documents import accepted

CLICKS = TopicPartition("clicks", 0)
VALUES: list[bytes | None] = [
    b'{"id": 1}',
    b'{"id": "1"}',
    b"\xff",
    b"{",
    b'{"id": 2}',
    b'{"id": "x"}',
    None,
    b'{"n": 1}',
]
SCHEMA = {"fields": [{"name": "id", "type": "int64", "required": True}]}
OUTPUTS: dict[str, dict[str, Any]] = {
    "text": {"text": {}},
    "sequencefile": {"sequencefile": {"key": "messagepack"}},
    "parquet": {"parquet": {}},
    "jsonl": {"jsonl": {"compression": "zstd"}},
    "avro": {"avro": {}},
    "orc": {"orc": {}},
}


class Bucket:
    """The objects of one range, as a member has stored them."""

    prefix = "raw"
    metadata: Mapping[str, str] = {}

    def __init__(self, resource: LogPersister, horizon: int | None = None) -> None:
        spec, self.finished_to = resource.spec, horizon
        topic = CompiledTopic(spec, lambda _: None)
        records = with_headers(batch([Record(100 + number, 5, b"k", value) for number, value in enumerate(VALUES)]))
        self.contents: dict[str, bytes] = {}
        for path, rows in by_path(records, topic.layout_at(horizon)):
            key = names.object_key("raw", "clicks", path, 1, 0, 100, topic.formats.at(path).extension)
            self.contents[key] = encode(topic.formats, [rows], ObjectIdentity(Range(CLICKS, 100, 200), path))
        self._document = revision_of(resource, "1").document

    def inventory(self, topic: str) -> Iterator[tuple[ObjectName, ListedObject]]:
        for key, content in sorted(self.contents.items()):
            name = names.parse_object_key("raw", key)
            assert name is not None
            if name.topic == topic:
                yield name, ListedObject(key, len(content), datetime(2026, 11, 21, tzinfo=UTC))

    def peek(self, key: str) -> Peeked | None:
        content = self.contents[key]
        metadata = {"topic": "clicks", "group": "clicks-backup", "revision": "0123456789ab", **self.metadata}
        return Peeked(len(content), metadata, iter([content]), lambda begin, end: content[begin:end])

    def get_json(self, _: str) -> Mapping[str, Any]:
        return self._document

    def get_tagged(self, key: str) -> tuple[Mapping[str, Any], str] | None:
        assert key == names.finished_key("raw", "clicks-backup", "clicks")
        note = {"topic": "clicks", "finishedTo": self.finished_to, "generation": 1}
        return None if self.finished_to is None else (note, "tag")


def resource_of(output: dict[str, Any], **spec: Any) -> LogPersister:
    changes = {"spec.output": output, "spec.kafka.topics": ["clicks"], "spec.value": {"json": SCHEMA}}
    return accepted(changes | spec)


def run(
    monkeypatch: pytest.MonkeyPatch, bucket: Any, resource: LogPersister, action: str, **options: Any
) -> tuple[int, str, str]:
    monkeypatch.setattr("logpersister.cli.bucket.opened", lambda *_: nullcontext(bucket))
    monkeypatch.setattr("logpersister.cli.context.manifest", lambda _: resource)
    monkeypatch.setattr("logpersister.cli.context.secrets", lambda *_: None)
    given = {"file": "-", "topic": None, "json": False, "reason": None, "records": 10, "whole": False} | options
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = quarantine.run(argparse.Namespace(action=action, **given))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(params=OUTPUTS.values(), ids=list(OUTPUTS))
def output(request: pytest.FixtureRequest) -> dict[str, Any]:
    chosen: dict[str, Any] = request.param
    return chosen


def test_records_are_counted_by_reason_and_field(monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]) -> None:
    resource = resource_of(output)
    code, out, _ = run(monkeypatch, Bucket(resource), resource, "ls", json=True)
    document = json.loads(out)
    told = [(one["reason"], one["field"], one["records"], one["offset"]) for one in document["reasons"]]
    offsets = (101, 103, 102, 107) if "text" not in output else (None,) * 4
    assert code == Exit.OK
    assert sorted(told, key=str) == sorted(
        [
            ("wrong_type", "id", 2, offsets[0]),
            ("not_json", None, 1, offsets[1]),
            ("not_utf8", None, 1, offsets[2]),
            ("missing", "id", 1, offsets[3]),
        ],
        key=str,
    )
    assert (document["totals"]["records"], document["totals"]["objects"]) == (5, 1)


def test_what_another_schema_would_accept_is_told(monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]) -> None:
    changed = resource_of(output, **{"spec.value": {"json": {"fields": [{"name": "id", "type": "json"}]}}})
    code, out, _ = run(monkeypatch, Bucket(resource_of(output)), changed, "ls")
    lines = out.splitlines()
    assert code == Exit.OK
    assert lines[0].split() == ["TOPIC", "RECORDS", "REASON", "FIELD", "FIRST"]
    first = "0:100+" if "text" in output else "0:101"
    assert lines[1].split() == ["clicks", "3", "accepted", "-", first]
    assert lines[-2].startswith("5 records in 1 object, ")
    assert lines[-1].startswith("the parser of clicks-backup accepts 3 of them now")


def test_keys_are_judged_with_values(monkeypatch: pytest.MonkeyPatch) -> None:
    key = {"json": {"fields": [{"name": "a", "type": "int64"}]}}
    changed = {"spec.value": {"json": {"fields": [{"name": "id", "type": "json"}]}}, "spec.key": key}
    for output in (one for name, one in OUTPUTS.items() if name != "text"):
        _, out, _ = run(monkeypatch, Bucket(resource_of(output)), resource_of(output, **changed), "ls", json=True)
        told = {(one["reason"], one["field"]): one["records"] for one in json.loads(out)["reasons"]}
        assert told == {("not_json", "key"): 3, ("not_json", None): 1, ("not_utf8", None): 1}, output


def test_what_conditions_leave_out_now_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those on headers count only where an object has headers: here they are of no record."""
    value = {"json": {"fields": [{"name": "id", "type": "json"}]}}
    keep = {"spec.keep": [{"header": "env", "in": ["prod"]}]}
    text = {"json": {"fields": [{"name": "id", "type": "string"}]}}
    without_1 = {"spec.keep": [{"field": "id", "notIn": ["1"], "orAbsent": True}]}
    with_all = {"spec.quarantine": {"format": "parquet"}}
    for stored, changes, expected in (
        ({}, {"spec.value": text, **without_1}, {"accepted": 2, "left_out": 1, "not_json": 1, "not_utf8": 1}),
        ({}, {"spec.value": value, **keep}, {"accepted": 3, "not_json": 1, "not_utf8": 1}),
        (with_all, {"spec.value": value, **keep}, {"left_out": 5}),
    ):
        bucket, manifest = Bucket(resource_of(OUTPUTS["jsonl"], **stored)), resource_of(OUTPUTS["jsonl"], **changes)
        document = json.loads(run(monkeypatch, bucket, manifest, "ls", json=True)[1])
        assert {one["reason"]: one["records"] for one in document["reasons"]} == expected


def test_what_came_late_is_told_while_its_folder_is_finished(
    monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]
) -> None:
    resource = resource_of(
        output | {"partitionBy": [{"date": {"granularity": "day"}}]}, **{"spec.finish": {"late": "quarantine"}}
    )
    bucket = Bucket(resource, horizon=86_400_000)
    assert [path for path in bucket.contents if "_quarantine" not in path] == []

    def told() -> set[tuple[str, int, int]]:
        _, out, _ = run(monkeypatch, bucket, resource, "ls", json=True)
        return {(one["reason"], one["records"], one["offset"]) for one in json.loads(out)["reasons"]}

    refused = {("wrong_type", 2, 101), ("not_utf8", 1, 102), ("not_json", 1, 103), ("missing", 1, 107)}
    assert told() == refused | {("late", 3, 100)}
    bucket.finished_to = None
    assert told() == refused | {("accepted", 3, 100)}


def test_records_are_shown_with_their_reasons(monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]) -> None:
    resource = resource_of(output)
    _, out, _ = run(monkeypatch, Bucket(resource), resource, "show", records=3)
    where = ["0:100+"] * 3 if "text" in output else ["0:101", "0:102", "0:103"]
    assert out.splitlines() == [
        f'clicks\t{where[0]}\twrong_type\tid\t{{"id": "1"}}',
        f"clicks\t{where[1]}\tnot_utf8\t-\t\\xff",
        f"clicks\t{where[2]}\tnot_json\t-\t{{",
    ]
    _, out, _ = run(monkeypatch, Bucket(resource), resource, "show", reason="not_utf8", json=True)
    (document,) = json.loads(out)["records"]
    assert (document["reason"], document["value"], document["valueBase64"]) == ("not_utf8", None, "/w==")


def test_a_damaged_object_is_named_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]
) -> None:
    resource = resource_of(output)
    bucket = Bucket(resource)
    (key,) = (key for key in bucket.contents if "_quarantine" in key)
    damaged = key.replace("1_0_", "1_1_")
    bucket.contents[damaged] = bucket.contents[key][:-9]
    code, out, err = run(monkeypatch, bucket, resource, "ls", json=True)
    document = json.loads(out)
    assert code == Exit.FAILED
    assert [one["object"] for one in document["unreadable"]] == [damaged]
    assert err.startswith(f"{damaged}: cannot be read: ")
    assert sum(one["records"] for one in document["reasons"] if one["partition"] == 0) >= 5


@pytest.mark.parametrize(
    ("metadata", "message"),
    [({"group": "another"}, "group another has written it"), ({"group": None}, "logpersister has not written it")],
)
def test_what_others_have_put_there_is_named_and_not_counted(
    monkeypatch: pytest.MonkeyPatch, metadata: dict[str, Any], message: str
) -> None:
    resource = resource_of(OUTPUTS["parquet"])
    bucket = Bucket(resource)
    bucket.metadata = metadata
    code, out, err = run(monkeypatch, bucket, resource, "ls", json=True)
    document = json.loads(out)
    assert (code, document["reasons"], document["totals"]["records"]) == (Exit.FAILED, [], 0)
    assert err.endswith(f"cannot be read: {message}\n")


def test_records_without_values_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = resource_of(OUTPUTS["text"], **{"spec.quarantine": {"keepValue": False}})
    bucket = Bucket(resource)
    bucket.metadata = {"values": "left-out"}
    code, out, _ = run(monkeypatch, bucket, resource, "ls", json=True)
    told = [(one["reason"], one["field"], one["records"], one["offset"]) for one in json.loads(out)["reasons"]]
    assert (code, told) == (Exit.OK, [("values_left_out", None, 5, 101)])


@pytest.mark.parametrize("action", ["ls", "show", "replay"])
def test_a_topic_that_the_manifest_does_not_select_is_refused(monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    resource = resource_of(OUTPUTS["parquet"])
    with pytest.raises(CommandError, match="--topic: click is no topic") as refused:
        run(monkeypatch, Bucket(resource), resource, action, topic="click")
    assert refused.value.code == Exit.INVALID
