"""Format ``kafka``: Kafka's own tool reads what was stored, and finds what another format has of the same topics."""

import gzip
import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from random import choices
from string import ascii_uppercase
from typing import Any, Final

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.bucket import Bucket
from tests.integration.harness.examples import example
from tests.integration.harness.logs import write_compacted, write_transactions
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds
from tests.stack import KafkaBroker
from tests.stack.topics import Record, alter_topic, delete_records, produce, produce_many
from tests.unit.reader import record_batches as made

Dumped = tuple[int, str, str, str]
"""Timestamp, names of headers, key, value."""

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
LARGE: Final = 10 << 20
_RECORD: Final = re.compile(
    r"^\| offset: (\d+) \w+: (-?\d+) keySize: -?\d+ valueSize: -?\d+"
    r"(?:.*? headerKeys: \[(.*?)\])?.*?(?: key: (.*?))?(?: payload: (.*))?$",
    re.MULTILINE,
)


def dumped(kafka: KafkaBroker, files: Mapping[str, bytes], directory: Path) -> dict[str, dict[int, Dumped]]:
    """Return what `kafka-dump-log` finds in files, by offset."""
    named: dict[str, str] = {}
    for name, content in files.items():
        path = directory / f"{len(named)}" / f"{len(named):020}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        named[str(path)] = name
    text = kafka.run_tool(
        "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", ",".join(named)
    )
    assert "isvalid: false" not in text
    found = dict(zip(named.values(), map(_records, text.split("Dumping ")[1:]), strict=True))
    assert all(found.values())
    return found


def _records(log: str) -> dict[int, Dumped]:
    assert "nvalid" not in log.replace("isvalid: true", ""), log[:2000]
    return {int(offset): (int(time), headers, key, value) for offset, time, headers, key, value in _RECORD.findall(log)}


def stored_as_json(bucket: Bucket) -> dict[tuple[str, int], Dumped]:
    """Return the same of objects in JSON."""
    found = {}
    for one in bucket.objects():
        for line in gzip.decompress(bucket.content(one.key)).splitlines():
            row = json.loads(line)
            time = round(datetime.fromisoformat(row["kafka_timestamp"]).timestamp() * 1000)
            headers = ",".join(header["key"] for header in row["kafka_headers"])
            place = row["kafka_topic"], row["kafka_offset"]
            assert place not in found
            found[place] = time, headers, row["kafka_key"] or "", row["value"] or ""
    return found


def test_record_batches_as_brokers_have_them(
    scene: Scene,
    topic: CreateTopic,
    kafka: KafkaBroker,
    unique: str,
    tmp_path: Path,
    verify: Verify,
    capsys: pytest.CaptureFixture[str],
) -> None:
    coded, transactional, compacted = topic(), topic(), topic(cleanup_policy="compact")
    large = topic(max_message_bytes=12 << 20)
    for codec in CODECS:
        if codec in ("snappy", "lz4"):  # for which kafka-python has no package here
            produce_many(kafka, coded, records=600, record_bytes=300, compression=codec)
        else:
            letters = ("".join(choices(ascii_uppercase, k=300)).encode() for _ in range(600))
            produce(kafka.bootstrap, coded, letters, compression=codec)
    write_transactions(kafka.bootstrap, transactional, rounds=2)
    produce(kafka.bootstrap, large, [b"small", b"l" * LARGE, b"small"], max_request_size=12 << 20)
    write_compacted(kafka.bootstrap, compacted, padding=b"x" * 400)
    alter_topic(kafka.bootstrap, compacted, {"cleanup.policy": "delete"})  # both groups see the same
    produce(kafka.bootstrap, compacted, [Record(None, b"deleted")])
    topics = {"topics": [coded, transactional, compacted, large]}
    upload = {"maxBytes": "64Ki"}
    manifest = scene.manifest(kafka=topics, upload=upload, **example("backup"))
    as_json = scene.manifest(
        kafka=topics | {"groupId": f"{unique}-json"},
        storage={"prefix": "json"},
        upload=upload,
        output={"jsonl": {"tombstones": "null"}},
    )
    scene.run_until_current(manifest)
    scene.run_until_current(as_json)

    objects = {one.key: one for one in scene.bucket.objects()}
    files = {key: scene.bucket.content(key) for key, one in objects.items()}
    old = made.legacy(1, made.GZIP, 0, [(7, b"k", b"old"), (8, None, None)])
    found = dumped(kafka, {**files, "old": old}, tmp_path)
    assert found.pop("old") == {0: (7, "", "k", "old"), 1: (8, "", "", "")}, (
        "what brokers before 0.11 wrote is kept, too"
    )
    records: dict[tuple[str, int], Dumped] = {}
    for key, of_object in found.items():
        one = objects[key]
        inside = {offset: record for offset, record in of_object.items() if one.start <= offset < one.end}
        said = {name: int(one.metadata[name]) for name in ("first", "last", "records")}
        assert said == {"first": min(inside), "last": max(inside), "records": len(inside)}
        assert one.metadata["checksum"].startswith("batches:")
        places = {(one.topic, offset): record for offset, record in inside.items()}
        assert not records.keys() & places.keys()
        records |= places
    assert records == stored_as_json(scene.bucket_at("json"))
    assert {one.extension for one in objects.values()} == {".kafka"}
    assert len({one.start for one in objects.values() if one.topic == coded}) > len(CODECS)
    crossing = [key for key, of_object in found.items() if min(of_object) < objects[key].start]
    assert crossing, "some range begins within a batch"

    document = verify(manifest, "--deep")
    assert (document["ok"], document["complete"]) == (True, True)
    assert kinds(document).keys() <= {("no-record", 0)}
    assert sum(one["compared"] for one in document["topics"]) == len(records)
    assert main(["head", "-f", str(manifest), transactional, "0", "45", "-n", "2", "--json"]) == Exit.OK
    shown: Any = json.loads(capsys.readouterr().out)
    assert shown["format"] == "kafka"
    assert [(one["offset"], one["key"]) for one in shown["records"]] == [(45, "45"), (46, "46")]

    delete_records(kafka.bootstrap, coded, {0: 1_000})
    assert verify(manifest, "--deep")["ok"], "what Kafka has no longer agrees with its own facts"
    key = next(key for key, one in objects.items() if one.topic == coded)
    spoilt = bytearray(files[key])
    spoilt[15] ^= 1  # the leader's epoch, which the checksum of a batch leaves out
    store = scene.bucket.client
    store.put_object(Bucket=scene.bucket.name, Key=key, Body=bytes(spoilt), Metadata=objects[key].metadata)
    assert kinds(verify(manifest, "--deep", code=Exit.BROKEN))["wrong-content", 0] == 1
