"""`logpersister schema infer` and `logpersister try`, on a real broker: what one prints the other one can use."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka.admin import KafkaAdminClient

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.stack import KafkaBroker
from tests.stack.topics import Record, produce
from tests.unit.manifest.documents import changed

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("logging_as_before")
AT = 1_795_000_000_000


@pytest.fixture
def manifest(kafka: KafkaBroker, unique: str, tmp_path: Path) -> Callable[..., Path]:
    """``manifest(topics, **spec)`` writes a manifest; its bucket is nowhere, because nothing may be written."""

    def write(topics: list[str], **spec: Any) -> Path:
        settings = {"bootstrapServers": kafka.bootstrap, "groupId": unique, "topics": topics}
        storage = {"bucket": "no-such-bucket", "endpoint": "http://127.0.0.1:1"}
        document = changed({"spec.kafka": settings, "spec.storage": storage})
        document["spec"] |= spec
        file = tmp_path / "clicks.yaml"
        file.write_text(json.dumps(document))
        return file

    return write


def test_an_inferred_schema_is_tried(
    kafka: KafkaBroker, topic: Callable[..., str], manifest: Callable[..., Path], unique: str, capsys: Capture
) -> None:
    name = topic(2)
    events = [
        {"id": n, "at": f"2026-11-2{n % 3}T05:00:00.5Z", "geo": {"country": "DE"}, "tags": ["a"] * (n % 3)}
        for n in range(200)
    ]
    values = [json.dumps(one).encode() for one in events]
    values[7], values[11], values[13] = b"{}}", b"[1]", b'{"id": 1, "geo": {"country": "a", "country": "b"}}'
    records = [Record(value, key=b"k", partition=n % 2, timestamp=AT + n) for n, value in enumerate(values)]
    produce(kafka.bootstrap, name, records)

    assert main(["schema", "infer", "-f", str(manifest([name]))]) == Exit.OK
    captured = capsys.readouterr()
    assert f"# Inferred from the last 200 records of 2 partitions, 16.2 KiB of values of topic {name}." in captured.out
    spec = yaml.safe_load(captured.out)["spec"]
    assert {one["name"]: one["type"] for one in spec["value"]["json"]["fields"]} == {
        "id": "int64",
        "at": "timestamp[ms]",
        "geo": "struct<country: string>",
        "tags": "list<string>",
    }
    assert "3 of 200 values do not fit" in captured.err

    for kind in ("json", "bytes"):
        assert main(["try", "-f", str(manifest([name], value={kind: {}})), "--rows", "1"]) == Exit.OK
        told = " ".join(capsys.readouterr().out.split())
        assert "inferred columns; without fields, which logpersister schema infer prints, there are none" in told
        assert "id int64 0 " in told
        assert "tags list<string> 0 []" in told

    file = manifest([name], **{**spec, "output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]}})
    assert main(["try", "-f", str(file), "--rows", "1"]) == Exit.OK
    out = capsys.readouterr().out
    assert f"topic {name}: the last 200 records of 2 partitions" in out
    assert "quarantine: 3 of 200 values" in out
    assert "duplicate      geo.country        1  1:6" in out
    assert "parquet, as in the manifest  zstd" in out
    assert "sequencefile" in out
    assert "orc                          zstd" in out
    assert "dt=2026-11-18      197" in out
    assert "ROW 1" in out

    fields = [
        {"name": "id", "type": "string"},
        {"name": "spent", "type": "time[ms]"},
        {"name": "geo", "type": "struct<country: string>"},
    ]
    lenient = {"fields": fields, "unknownFields": "keep", "faults": {"duplicates": "last", "wrongType": "convert"}}
    value = {"json": lenient, "rename": [{"field": "geo.country", "to": "code"}]}
    file = manifest([name], value=value, output={"parquet": {}})
    assert main(["try", "-f", str(file), "--rows", "1"]) == Exit.OK
    out = capsys.readouterr().out
    assert "quarantine: 2 of 200 values" in out
    assert "adjusted: 199 values" in out
    told = " ".join(out.split())
    assert "orc cannot hold the columns - -" in told
    assert "wrong_type id 198 duplicate geo.country 1 " in told
    assert '_rest json 1 {"at":"2026' in told

    assert main(["try", "-f", str(file), "--last", "10", "--rows", "0"]) == Exit.OK
    assert "the last 10 records" in capsys.readouterr().out
    with KafkaAdminClient(bootstrap_servers=kafka.bootstrap) as admin:
        assert unique not in {group["group_id"] for group in admin.list_groups()}, "nobody joins or commits"


def test_values_that_are_no_objects_and_other_topics(
    kafka: KafkaBroker, topic: Callable[..., str], manifest: Callable[..., Path], capsys: Capture
) -> None:
    name, empty = topic(), topic()
    produce(kafka.bootstrap, name, [b"\x1b[31mred", Record(None, key=b"k"), b"two\nlines"])
    assert main(["try", "-f", str(manifest([name]))]) == Exit.OK
    out = capsys.readouterr().out
    assert "the last 3 records of 1 partition" in out
    assert "\x1b" not in out
    assert "text, as in the manifest" in out
    assert "without a value, in no file: 1 record (tombstones: skip)" in out
    assert "delimiter '\\n' in 1 value: readers see 3 lines for 2 records; set spec.output.text.delimiterInValue" in out

    for command, topics, options, code, words in (
        (["schema", "infer"], [name], [], Exit.FAILED, "2 of 3 values are no JSON objects (2 not_json)"),
        (["try"], [empty], [], Exit.UNREACHABLE, "has no records"),
        (["try"], [name, empty], [], Exit.INVALID, "is about 2 topics; name one with --topic"),
        (["try"], [name], ["--topic", "other"], Exit.UNREACHABLE, "--topic other"),
        (["try"], ["no-such-topic"], [], Exit.UNREACHABLE, "does not have the topics of the manifest"),
    ):
        assert main([*command, "-f", str(manifest(topics)), *options]) == code, words
        captured = capsys.readouterr()
        assert words in captured.err
        assert captured.out == ""
